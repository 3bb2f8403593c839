"""Attribute vectors: the mean hidden state of a word (or gender) over its sentences, for every layer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unmask.core.files import partial_file
from unmask.mitigate.at.sentences import WordOccurrence
from unmask.models.states import all_layers
from unmask.training.collators import pad_rows
from unmask.training.distributed import on_main_process

MAX_SENTENCES = 100  # averaged for the vector of one word
_BATCH = 64


def token_weights(rows: Sequence[WordOccurrence], width: int) -> Tensor:
    """Weights that average each row over the positions of its word."""
    weights = torch.zeros(len(rows), width)
    for number, row in enumerate(rows):
        weights[number, list(row.positions)] = 1 / len(row.positions)
    return weights


def attribute_vectors(model: Any, rows: Sequence[WordOccurrence], pad: int, *, by_word: bool) -> Tensor:
    """Means over sentences of the mean over a word's tokens: (layers, words or groups, dimensions)."""
    chosen = sorted(_first_sentences(rows), key=lambda row: len(row.ids))
    owners = [row.word if by_word else row.group for row in chosen]
    index = {name: number for number, name in enumerate(sorted(set(owners)))}
    device = next(model.parameters()).device
    sums: Tensor | None = None
    counts = torch.zeros(len(index), device=device)
    for begin in range(0, len(chosen), _BATCH):
        batch = chosen[begin : begin + _BATCH]
        ids, mask = (tensor.to(device) for tensor in pad_rows([row.ids for row in batch], pad))
        layers = torch.stack(all_layers(model, ids, mask))
        weights = token_weights(batch, ids.shape[1]).to(device)
        mean = torch.einsum("bt,lbtd->lbd", weights, layers.float())
        owner = torch.tensor([index[name] for name in owners[begin : begin + _BATCH]], device=device)
        if sums is None:
            sums = torch.zeros(len(layers), len(index), mean.shape[-1], device=device)
        sums.index_add_(1, owner, mean)
        counts.index_add_(0, owner, torch.ones(len(batch), device=device))
    assert sums is not None
    return sums / counts[None, :, None]


class AttributeVectors:
    """The vectors of the current epoch; each epoch's are stored in a file until training ends."""

    def __init__(
        self, rows: Sequence[WordOccurrence], pad: int, folder: Path, *, by_word: bool, unit: bool
    ) -> None:
        self._rows, self._pad, self._folder = rows, pad, folder
        self._by_word, self._unit = by_word, unit
        self.current: Tensor = torch.empty(0)

    def update(self, epoch: int, model: Any) -> None:
        """Compute the vectors at the start of an epoch, or load them when a training is resumed."""
        path = self._folder / f"vectors-{epoch}.safetensors"
        vectors = on_main_process(lambda: self._load_or_compute(model, path))
        self.current = vectors.to(next(model.parameters()).device)

    def _load_or_compute(self, model: Any, path: Path) -> Tensor:
        from safetensors.torch import load_file, save_file

        if path.exists():
            return load_file(path)["vectors"]
        vectors = attribute_vectors(model, self._rows, self._pad, by_word=self._by_word)
        vectors = torch.nn.functional.normalize(vectors, dim=-1) if self._unit else vectors
        vectors = vectors.contiguous().cpu()
        with partial_file(path) as partial:
            save_file({"vectors": vectors}, partial)
        return vectors

    def delete_files(self) -> None:
        """Delete the stored vectors."""
        for path in self._folder.glob("vectors-*"):
            path.unlink()
        if self._folder.is_dir() and not any(self._folder.iterdir()):
            self._folder.rmdir()


def _first_sentences(rows: Sequence[WordOccurrence]) -> list[WordOccurrence]:
    """The first `MAX_SENTENCES` occurrences of every word."""
    by_word: defaultdict[str, list[WordOccurrence]] = defaultdict(list)
    for row in rows:
        if len(by_word[row.word]) < MAX_SENTENCES:
            by_word[row.word].append(row)
    return [row for occurrences in by_word.values() for row in occurrences]
