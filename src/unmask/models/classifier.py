"""A sequence classifier as tasks use it: texts, or pairs of texts, in; logits out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unmask.core.errors import ModelError
from unmask.core.types import Floats
from unmask.models.batches import chunks_by_length
from unmask.models.lm import ModelFacts, max_length

Texts = Sequence[tuple[str, str | None]]
CPU_TOKENS, GPU_TOKENS = 2_048, 131_072  # tokens per forward pass

MAX_LENGTH = 128  # tokens of an input, as published


class Classifier:
    """A classifier and its tokenizer; inputs longer than `length` tokens are truncated, and counted."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        length: int = MAX_LENGTH,
        new_weights: Sequence[str] = (),
        facts: ModelFacts | None = None,
    ) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.facts = facts  # of the checkpoint it was opened from; None for a model in memory
        self.new_weights = tuple(new_weights)  # not in the checkpoint: initialised at random
        self.length = min(length, max_length(model, tokenizer))
        self.truncated = 0  # inputs truncated so far

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes, in the order of the logits."""
        names = self.model.config.id2label
        return tuple(str(names[index]) for index in sorted(names))

    def logits(self, texts: Texts, progress: Callable[[float], None] | None = None) -> Floats:
        """One row of logits per input, in order; a batch holds inputs of one length, so nothing is padded."""
        import torch

        encoded = self._encode(texts)
        device = next(self.model.parameters()).device
        budget = CPU_TOKENS if device.type == "cpu" else GPU_TOKENS
        logits = np.full((len(encoded), self.model.config.num_labels), np.nan)
        self.model.eval()
        done = 0
        with torch.inference_mode():
            for chunk in chunks_by_length([len(row["input_ids"]) for row in encoded], budget):
                rows = [encoded[index] for index in chunk]
                batch = {key: torch.tensor([row[key] for row in rows], device=device) for key in rows[0]}
                logits[chunk] = self.model(**batch).logits.double().cpu().numpy()
                done += len(chunk)
                if progress is not None:
                    progress(done / len(encoded))
        return logits

    def probabilities(self, texts: Texts, progress: Callable[[float], None] | None = None) -> Floats:
        """Logits as probabilities: softmax, or a sigmoid per label for multi-label models."""
        from scipy.special import expit, softmax

        logits = self.logits(texts, progress)
        multi_label = self.model.config.problem_type == "multi_label_classification" or logits.shape[1] == 1
        return np.asarray(expit(logits) if multi_label else softmax(logits, axis=1))

    def batch(self, texts: Texts) -> Any:
        """Inputs padded to one length, for training."""
        return self.tokenizer(
            [text for text, _ in texts],
            None if texts[0][1] is None else [second for _, second in texts],
            truncation=True,
            max_length=self.length,
            padding=True,
            return_tensors="pt",
        )

    def _encode(self, texts: Texts) -> list[dict[str, list[int]]]:
        """Token ids of every input, and token type ids where the model uses them."""
        rows: list[dict[str, list[int]]] = [{} for _ in texts]
        for paired in (False, True):
            indices = [index for index, (_, second) in enumerate(texts) if (second is not None) == paired]
            if not indices:
                continue
            inputs = [[texts[index][side] for index in indices] for side in range(1 + paired)]
            untruncated = self.tokenizer(*inputs, verbose=False)["input_ids"]
            self.truncated += sum(len(ids) > self.length for ids in untruncated)
            encoded = self.tokenizer(*inputs, truncation=True, max_length=self.length, verbose=False)
            for key in ("input_ids", "token_type_ids"):
                for index, values in zip(indices, encoded.get(key, ()), strict=False):
                    rows[index][key] = list(values)
        empty = next((index for index, row in enumerate(rows) if not row["input_ids"]), None)
        if empty is not None:
            raise ModelError(f"the tokenizer finds no token in {texts[empty][0]!r}: leave that text out")
        return rows
