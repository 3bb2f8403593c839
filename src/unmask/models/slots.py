"""The slot of a text, and the words a model predicts for it: what is shared with code that opens no model.

`models.fill` finds the words; answers to prompts are read, annotated and shown without torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from unmask.core.errors import DataError

SLOT = "{slot}"
MAX_ROWS = 256  # forward passes of a causal model for one slot


@dataclass(frozen=True, slots=True)
class SlotWord:
    """A word and its probability in the slot."""

    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class SlotPrediction:
    """The top words of one slot, most probable first."""

    words: tuple[SlotWord, ...]
    left: float = 0.0  # probability not explored: no word can gain more than this
    sure: bool = True  # no unexplored spelling is more probable than the last word
    rows: int = 0  # forward passes
    reason: str = ""  # why there are no words


def split_at_slot(text: str) -> tuple[str, str]:
    """The text before and after the slot; DataError unless there is exactly one slot."""
    if text.count(SLOT) != 1:
        raise DataError(f"{text!r} has {SLOT} {text.count(SLOT)} times, expected once: mark the open word")
    before, _, after = text.partition(SLOT)
    return before, after
