"""Training with Hugging Face's Trainer: deterministic given the seed, resumable after a kill.

rows ──► shuffle by seed ──► collate ──► loss ──► step ──► checkpoint ──► …

from unmask.training import TrainSettings, train
from unmask.training.collators import MaskedLMCollator, encode_rows
train(model, encode_rows(texts, tokenizer), MaskedLMCollator(tokenizer), TrainSettings(epochs=1), "work")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmask.core.lazy_imports import lazy_names

if TYPE_CHECKING:
    from unmask.training.run import train
    from unmask.training.spec import EvalCallback, TrainResult, TrainSettings

__getattr__ = lazy_names(
    __name__, {"EvalCallback": "spec", "TrainResult": "spec", "TrainSettings": "spec", "train": "run"}
)

__all__ = ["EvalCallback", "TrainResult", "TrainSettings", "train"]
