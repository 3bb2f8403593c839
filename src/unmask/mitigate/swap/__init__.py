"""Counterfactual text: gender by pairs and names (`Swapper`), race and religion by sets (`GroupSwapper`).

from unmask.mitigate.swap import Swapper, ours
Swapper(ours())("He gave her his coat.")    # "She gave him her coat."
"""

from __future__ import annotations

from unmask.mitigate.swap.groups import AXES, GroupSwapper
from unmask.mitigate.swap.lexicon import Lexicon, of_file, ours, words
from unmask.mitigate.swap.pronoun_choice import LikelierForm
from unmask.mitigate.swap.swapper import Chooser, Slot, Swapper

__all__ = [
    "AXES",
    "Chooser",
    "GroupSwapper",
    "Lexicon",
    "LikelierForm",
    "Slot",
    "Swapper",
    "of_file",
    "ours",
    "words",
]
