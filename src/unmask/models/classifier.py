"""A sequence classifier as tasks see it: texts, or pairs of texts, in; logits out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from unmask.core.errors import ModelError
from unmask.core.types import Floats

Texts = Sequence[tuple[str, str | None]]
CPU_TOKENS, GPU_TOKENS = 2_048, 131_072  # put through the network together

MAX_LENGTH = 128  # tokens of an input, as published


class Classifier:
    """A classifier and its tokenizer; inputs longer than `length` tokens are cut, and counted."""

    def __init__(
        self, model: Any, tokenizer: Any, *, length: int = MAX_LENGTH, new_weights: Sequence[str] = ()
    ) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.new_weights = tuple(new_weights)  # weights that were not the model's, but drawn at random
        self.length = min(length, _most(model, tokenizer))
        self.truncated = 0  # inputs cut so far

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes, in the order of the logits."""
        names = self.model.config.id2label
        return tuple(str(names[place]) for place in sorted(names))

    def logits(self, texts: Texts, progress: Callable[[float], None] | None = None) -> Floats:
        """A row of logits for every input, in order; inputs of one length go together: nothing is padded."""
        import torch

        rows = self._encoded(texts)
        device = next(self.model.parameters()).device
        budget = CPU_TOKENS if device.type == "cpu" else GPU_TOKENS
        found = np.full((len(rows), self.model.config.num_labels), np.nan)
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]["input_ids"]))
        self.model.eval()
        done = 0
        with torch.inference_mode():
            for size, alike in groupby(order, key=lambda place: len(rows[place]["input_ids"])):
                places, step = list(alike), max(1, budget // max(1, size))
                for begin in range(0, len(places), step):
                    some = places[begin : begin + step]
                    batch = {
                        key: torch.tensor([rows[place][key] for place in some], device=device)
                        for key in rows[some[0]]
                    }
                    found[some] = self.model(**batch).logits.double().cpu().numpy()
                    done += len(some)
                    if progress is not None:
                        progress(done / len(rows))
        return found

    def probabilities(self, texts: Texts, progress: Callable[[float], None] | None = None) -> Floats:
        """Logits as probabilities: softmax, or a sigmoid each where labels do not exclude each other."""
        from scipy.special import expit, softmax

        logits = self.logits(texts, progress)
        several = self.model.config.problem_type == "multi_label_classification" or logits.shape[1] == 1
        return np.asarray(expit(logits) if several else softmax(logits, axis=1))

    def batch(self, texts: Texts) -> Any:
        """Inputs padded to one length, as they are trained on."""
        return self.tokenizer(
            [text for text, _ in texts],
            None if texts[0][1] is None else [second for _, second in texts],
            truncation=True,
            max_length=self.length,
            padding=True,
            return_tensors="pt",
        )

    def _encoded(self, texts: Texts) -> list[dict[str, list[int]]]:
        """Token ids of every input, and segments where the model tells them apart."""
        rows: list[dict[str, list[int]]] = [{} for _ in texts]
        for paired in (False, True):
            mine = [at for at, (_, second) in enumerate(texts) if (second is not None) == paired]
            if not mine:
                continue
            words = [[texts[at][0] for at in mine], *([[texts[at][1] for at in mine]] if paired else [])]
            whole = self.tokenizer(*words, verbose=False)["input_ids"]
            self.truncated += sum(len(ids) > self.length for ids in whole)
            encoded = self.tokenizer(*words, truncation=True, max_length=self.length, verbose=False)
            for key in ("input_ids", "token_type_ids"):
                for at, values in zip(mine, encoded.get(key, ()), strict=False):
                    rows[at][key] = list(values)
        empty = next((at for at, row in enumerate(rows) if not row["input_ids"]), None)
        if empty is not None:
            raise ModelError(f"the tokenizer finds no token in {texts[empty][0]!r}: leave that text out")
        return rows


def _most(model: Any, tokenizer: Any) -> int:
    """The longest input the model takes."""
    rows = getattr(model.config, "max_position_embeddings", None) or getattr(
        model.config, "n_positions", None
    )
    if (rows and "roberta" in model.config.model_type) or model.config.model_type in ("camembert", "mpnet"):
        rows = (rows or 10**6) - 2
    return int(min(rows or 10**6, tokenizer.model_max_length or 10**6))
