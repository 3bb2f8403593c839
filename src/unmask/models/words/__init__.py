"""The likeliest whole words for an open place in a text, by masked and by causal models."""

from __future__ import annotations

from unmask.models.words.guessing import ROWS, SLOT, Guesses, Word, likeliest, masked_slot
from unmask.models.words.network import distributions

__all__ = ["ROWS", "SLOT", "Guesses", "Word", "distributions", "likeliest", "masked_slot"]
