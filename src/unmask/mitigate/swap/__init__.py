"""Counterfactual text: gender by pairs and names (`Swapper`), race and religion by sets (`GroupSwapper`).

from unmask.mitigate.swap import Swapper, default_lexicon
Swapper(default_lexicon())("He gave her his coat.")    # "She gave him her coat."
"""

from __future__ import annotations

from unmask.mitigate.swap.groups import GroupSwapper
from unmask.mitigate.swap.lexicon import (
    build_lexicon,
    default_lexicon,
    mark_words,
    package_words,
    read_names,
    read_pairs,
    read_word_pairs,
    swappable_pairs,
)
from unmask.mitigate.swap.swapper import ModelPronounChooser, PronounSlot, Swapper

__all__ = [
    "GroupSwapper",
    "ModelPronounChooser",
    "PronounSlot",
    "Swapper",
    "build_lexicon",
    "default_lexicon",
    "mark_words",
    "package_words",
    "read_names",
    "read_pairs",
    "read_word_pairs",
    "swappable_pairs",
]
