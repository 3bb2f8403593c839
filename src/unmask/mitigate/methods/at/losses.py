"""Collator, attribute vectors and loss of AT.

The loss projects target words onto attribute vectors (for every layer, the mean hidden state of a word, or
gender, over its sentences) and preserves attribute sentences.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unmask.core.files import partial_file
from unmask.mitigate.methods.at import AtOptions
from unmask.mitigate.methods.at.sentences import WordOccurrence
from unmask.models.states import all_layers
from unmask.training.collators import MaskedLMCollator, TokenRow, pad_rows
from unmask.training.distributed import on_main_process

if TYPE_CHECKING:
    from unmask.training.spec import Batch

MAX_SENTENCES = 100  # averaged for the vector of one word
_BATCH = 64


@dataclass(frozen=True, slots=True)
class AtExample:
    """One training example: a target sentence, an attribute sentence, and reminders."""

    target: WordOccurrence
    attribute: WordOccurrence
    reminders: tuple[TokenRow, ...] = ()


@dataclass(frozen=True, slots=True)
class AtCollator:
    """Collates examples; with `shifted`, word positions are off by one, as in the published code."""

    tokenizer: Any
    pad: int
    shifted: bool = False

    def __call__(self, examples: Sequence[AtExample], rng: np.random.Generator) -> Batch:
        """Batch of target sentences with word positions, attribute sentences, and reminders if any."""
        targets = [example.target for example in examples]
        ids, mask = pad_rows([target.ids for target in targets], self.pad)
        attribute_ids, attribute_mask = pad_rows([example.attribute.ids for example in examples], self.pad)
        batch = {"targets": ids, "target_mask": mask, "at": token_weights(targets, ids.shape[1], shifted=self.shifted)}
        batch |= {"attributes": attribute_ids, "attribute_mask": attribute_mask}
        rows = [row for example in examples for row in example.reminders]
        reminders = MaskedLMCollator(self.tokenizer)(rows, rng) if rows else {}
        return batch | {f"remind_{name}": tensor for name, tensor in reminders.items()}


def token_weights(rows: Sequence[WordOccurrence], width: int, *, shifted: bool = False) -> Tensor:
    """Weights that average each row over the positions of its word.

    With `shifted`, if any word of the batch has several tokens: one token to the left, divided by the longest.
    """
    weights, longest = torch.zeros(len(rows), width), max(len(row.positions) for row in rows)
    left = int(shifted and longest > 1)
    for number, row in enumerate(rows):
        weights[number, [position - left for position in row.positions]] = 1 / (longest if left else len(row.positions))
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
        mean = torch.einsum("bt,lbtd->lbd", token_weights(batch, ids.shape[1]).to(device), layers.float())
        owner = torch.tensor([index[name] for name in owners[begin : begin + _BATCH]], device=device)
        if sums is None:
            sums = torch.zeros(len(layers), len(index), mean.shape[-1], device=device)
        sums.index_add_(1, owner, mean)
        counts.index_add_(0, owner, torch.ones(len(batch), device=device))
    assert sums is not None
    return sums / counts[None, :, None]


class AttributeVectors:
    """The vectors of the current epoch; each epoch's are stored in a file until training ends."""

    def __init__(self, rows: Sequence[WordOccurrence], pad: int, folder: Path, *, by_word: bool, unit: bool) -> None:
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


@dataclass(frozen=True, slots=True)
class AtLoss:
    """strength × projection + (1 − strength) × preservation, plus the loss of the reminders if any."""

    vectors: AttributeVectors
    original: Any  # frozen copy of the original model
    options: AtOptions
    as_code: bool = False

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """The loss of a batch."""
        masks = (None, None) if self.as_code else (batch["target_mask"], batch["attribute_mask"])
        projection = self._projection(all_layers(model, batch["targets"], masks[0]), batch)
        current = all_layers(model, batch["attributes"], masks[1])
        with torch.no_grad():
            reference = all_layers(self.original, batch["attributes"], masks[1])
        squared = torch.stack([(new - old).pow(2) for new, old in zip(current, reference, strict=True)])
        preservation = squared.mean() if self.as_code else squared.sum(-1)[:, batch["attribute_mask"].bool()].mean()
        loss = self.options.strength * projection + (1 - self.options.strength) * preservation
        inputs = {name.removeprefix("remind_"): batch[name] for name in batch if name.startswith("remind_")}
        return loss + model(**inputs).loss if inputs else loss

    def _projection(self, layers: tuple[Tensor, ...], batch: Batch) -> Tensor:
        """Mean squared inner product of the target's states with every attribute vector."""
        first = 0 if self.options.layers == "all" else len(layers) - 1
        products = []
        for number in range(first, len(layers)):
            vectors = self.vectors.current[number]
            if self.options.level == "token":
                products.append(torch.einsum("bt,btd->bd", batch["at"], layers[number]) @ vectors.T)
            else:
                products.append((layers[number] @ vectors.T)[batch["target_mask"].bool()])
        inner = torch.stack(products)  # layers, words or tokens, attribute vectors
        # the published code averages over layers and batch, and only then squares
        return inner.mean((0, 1)).pow(2).sum() if self.as_code else inner.pow(2).mean()
