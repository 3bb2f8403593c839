"""Count the words of two groups in a corpus, flag its sentences, train vectors on it, measure its effect on a model.

unmask.corpus.count(["text.txt"])
unmask.corpus.flag(["text.txt"], out="flagged")
unmask.corpus.vectors(["text.txt"], measures=["weat", "rnd"], out="trained")
unmask.corpus.bias(["text.txt"], model="bert-base-uncased", out="effect")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmask.core.lazy_imports import lazy_names

if TYPE_CHECKING:
    from unmask.corpus.run import bias, count, flag, vectors

__getattr__ = lazy_names(__name__, {"bias": "run", "count": "run", "flag": "run", "vectors": "run"})

__all__ = ["bias", "count", "flag", "vectors"]
