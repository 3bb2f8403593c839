"""Count the words of two groups in a corpus, and measure its effect on a model.

unmask.corpus.count(["text.txt"])
unmask.corpus.bias(["text.txt"], model="bert-base-uncased", out="effect")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unmask.corpus.run import bias, count

__all__ = ["bias", "count"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'unmask.corpus' has no attribute {name!r}")
    from unmask.corpus import run

    return getattr(run, name)
