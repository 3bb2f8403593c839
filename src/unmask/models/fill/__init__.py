"""The likeliest whole words for an open place in a text, by masked and by causal models."""

from __future__ import annotations

from unmask.models.fill.distribution import distributions
from unmask.models.fill.words import MAX_ROWS, SLOT, SlotPrediction, SlotWord, mask_slot, top_words

__all__ = ["MAX_ROWS", "SLOT", "SlotPrediction", "SlotWord", "distributions", "mask_slot", "top_words"]
