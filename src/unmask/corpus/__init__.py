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
    from unmask.corpus.counts import count
    from unmask.corpus.effect import bias
    from unmask.corpus.embedding_measures import vectors
    from unmask.corpus.flags import flag

HOMES = {"bias": "effect", "count": "counts", "flag": "flags", "vectors": "embedding_measures"}
__getattr__ = lazy_names(__name__, HOMES)

__all__ = ["bias", "count", "flag", "vectors"]
