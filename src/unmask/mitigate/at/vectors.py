"""Attribute vectors: the mean hidden state of a word (or gender) over its sentences, for every layer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
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
    chosen = _first_sentences(rows)
    names = sorted({_name(row, by_word) for row in chosen})
    index = {name: number for number, name in enumerate(names)}
    sums: Tensor | None = None
    counts = torch.zeros(len(names), device=next(model.parameters()).device)
    for batch in _batches(chosen):
        ids, mask = (tensor.to(counts.device) for tensor in pad_rows([row.ids for row in batch], pad))
        layers = torch.stack(all_layers(model, ids, mask))
        mean = torch.einsum(
            "bt,lbtd->lbd", token_weights(batch, ids.shape[1]).to(counts.device), layers.float()
        )
        owner = torch.tensor([index[_name(row, by_word)] for row in batch], device=counts.device)
        sums = (
            torch.zeros(len(layers), len(names), mean.shape[-1], device=counts.device)
            if sums is None
            else sums
        )
        sums.index_add_(1, owner, mean)
        counts.index_add_(0, owner, torch.ones(len(batch), device=counts.device))
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
        self.current = on_main_process(lambda: self._load_or_compute(model, path)).to(
            next(model.parameters()).device
        )

    def _load_or_compute(self, model: Any, path: Path) -> Tensor:
        from safetensors.torch import load_file, save_file

        if path.exists():
            return load_file(path)["vectors"]
        vectors = attribute_vectors(model, self._rows, self._pad, by_word=self._by_word)
        vectors = (
            (torch.nn.functional.normalize(vectors, dim=-1) if self._unit else vectors).contiguous().cpu()
        )
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


def _name(row: WordOccurrence, by_word: bool) -> str:
    return row.word if by_word else row.group


def _batches(rows: Sequence[WordOccurrence]) -> Iterator[Sequence[WordOccurrence]]:
    ordered = sorted(rows, key=lambda row: len(row.ids))
    for begin in range(0, len(ordered), _BATCH):
        yield ordered[begin : begin + _BATCH]
