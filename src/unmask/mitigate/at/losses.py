"""Collator and loss of AT: projection of target words, preservation of attribute sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unmask.mitigate.at.sentences import WordOccurrence
from unmask.mitigate.at.vectors import AttributeVectors, token_weights
from unmask.mitigate.spec import MitigationOptions
from unmask.models.states import all_layers
from unmask.training.collators import MaskedLMCollator, TokenRow, pad_rows

if TYPE_CHECKING:
    from unmask.training.spec import Batch


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
        at = (_published_weights if self.shifted else token_weights)(targets, ids.shape[1])
        batch = {"targets": ids, "target_mask": mask, "at": at}
        batch |= {"attributes": attribute_ids, "attribute_mask": attribute_mask}
        rows = [row for example in examples for row in example.reminders]
        reminders = MaskedLMCollator(self.tokenizer)(rows, rng) if rows else {}
        return batch | {f"remind_{name}": tensor for name, tensor in reminders.items()}


@dataclass(frozen=True, slots=True)
class AtLoss:
    """strength × projection + (1 − strength) × preservation, plus the loss of the reminders if any."""

    vectors: AttributeVectors
    original: Any  # frozen copy of the original model
    options: MitigationOptions
    as_code: bool = False

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """The loss of a batch."""
        masks = (None, None) if self.as_code else (batch["target_mask"], batch["attribute_mask"])
        projection = self._projection(all_layers(model, batch["targets"], masks[0]), batch)
        current = all_layers(model, batch["attributes"], masks[1])
        with torch.no_grad():
            reference = all_layers(self.original, batch["attributes"], masks[1])
        squared = torch.stack([(new - old).pow(2) for new, old in zip(current, reference, strict=True)])
        if self.as_code:
            preservation = squared.mean()
        else:
            preservation = squared.sum(-1)[:, batch["attribute_mask"].bool()].mean()
        share = self.options.strength
        loss = share * projection + (1 - share) * preservation
        remind = "remind_"
        inputs = {name.removeprefix(remind): batch[name] for name in batch if name.startswith(remind)}
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
        if self.as_code:  # averaged over layers and batch, and only then squared
            return inner.mean((0, 1)).pow(2).sum()
        return inner.pow(2).mean()


def _published_weights(rows: Sequence[WordOccurrence], width: int) -> Tensor:
    """Shifted one token left and divided by the longest word, if any word of the batch has several tokens."""
    longest = max(len(row.positions) for row in rows)
    if longest == 1:
        return token_weights(rows, width)
    weights = torch.zeros(len(rows), width)
    for number, row in enumerate(rows):
        weights[number, [position - 1 for position in row.positions]] = 1 / longest
    return weights
