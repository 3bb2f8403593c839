"""The most probable whole words for a slot in a text, for masked and causal models."""

from __future__ import annotations

from unmask.models.fill.words import MAX_ROWS, SLOT, SlotPrediction, SlotWord, mask_slot, top_words

__all__ = ["MAX_ROWS", "SLOT", "SlotPrediction", "SlotWord", "mask_slot", "top_words"]
