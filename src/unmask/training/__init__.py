"""Training with Hugging Face's Trainer: deterministic given the seed, resumable after a kill.

rows ──► shuffle by seed ──► collate ──► loss ──► step ──► checkpoint ──► …

from unmask.training import TrainSettings, train
from unmask.training.collators import MaskedLMCollator, encode_rows
train(model, encode_rows(texts, tokenizer), MaskedLMCollator(tokenizer), TrainSettings(epochs=1), "work")
"""

from __future__ import annotations

from unmask.training.spec import EvalCallback, TrainResult, TrainSettings, train

__all__ = ["EvalCallback", "TrainResult", "TrainSettings", "train"]
