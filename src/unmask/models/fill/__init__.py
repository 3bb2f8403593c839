"""The likeliest whole words for an open place in a text, by masked and by causal models."""

from __future__ import annotations

from unmask.models.fill.distribution import distributions
from unmask.models.fill.words import ROWS, SLOT, Guesses, Word, likeliest, masked_slot

__all__ = ["ROWS", "SLOT", "Guesses", "Word", "distributions", "likeliest", "masked_slot"]
