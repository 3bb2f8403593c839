"""The losses of AT: target words out of the direction of attribute words, everything else kept as it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from unmask.mitigate.at.sentences import WordOccurrence
from unmask.mitigate.at.vectors import AttributeVectors, hidden_states, token_weights
from unmask.mitigate.spec import MitigationOptions
from unmask.training.collators import MaskedLMCollator, TokenRow, pad_rows

if TYPE_CHECKING:
    from unmask.training.spec import Batch


@dataclass(frozen=True, slots=True)
class AtExample:
    """What one step of the training looks at, a part of it: a target, an attribute sentence, reminders."""

    target: WordOccurrence
    attribute: WordOccurrence
    reminders: tuple[TokenRow, ...] = ()


@dataclass(frozen=True, slots=True)
class AtCollator:
    """Turns as a batch; with `shifted` the word's positions are where the published code looks."""

    tokenizer: Any
    pad: int
    shifted: bool = False

    def __call__(self, turns: Sequence[AtExample], dice: np.random.Generator) -> Batch:
        """Target sentences with the places of their words, attribute sentences, and reminders if any."""
        targets = [one.target for one in turns]
        ids, kept = pad_rows([one.ids for one in targets], self.pad)
        others, alive = pad_rows([one.attribute.ids for one in turns], self.pad)
        at = _as_published(targets, ids.shape[1]) if self.shifted else token_weights(targets, ids.shape[1])
        batch = {"targets": ids, "kept": kept, "at": at, "attributes": others, "alive": alive}
        rows = [row for one in turns for row in one.reminders]
        if rows:
            batch |= {
                f"remind_{name}": one for name, one in MaskedLMCollator(self.tokenizer)(rows, dice).items()
            }
        return batch


@dataclass(frozen=True, slots=True)
class AtLoss:
    """strength × projection + (1 − strength) × keep, and the loss of the reminders if there are any."""

    vectors: AttributeVectors
    before: Any  # the model as it was, frozen
    options: MitigationOptions
    as_code: bool = False

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """The loss of a batch."""
        masks = (None, None) if self.as_code else (batch["kept"], batch["alive"])
        turned = self._projection(hidden_states(model, batch["targets"], masks[0]), batch)
        now = hidden_states(model, batch["attributes"], masks[1])
        with torch.no_grad():
            then = hidden_states(self.before, batch["attributes"], masks[1])
        kept = self._kept(now, then, batch["alive"])
        share = self.options.strength
        loss = share * turned + (1 - share) * kept
        if "remind_input_ids" in batch:
            asked = {
                name.removeprefix("remind_"): one for name, one in batch.items() if name.startswith("remind_")
            }
            loss = loss + model(**asked).loss
        return loss

    def _projection(self, layers: tuple[Tensor, ...], batch: Batch) -> Tensor:
        """Mean square of the inner products of the target's states with every attribute vector."""
        first = 0 if self.options.layers == "all" else len(layers) - 1
        found = []
        for number in range(first, len(layers)):
            vectors = self.vectors.current[number]
            if self.options.level == "token":
                found.append(torch.einsum("bt,btd->bd", batch["at"], layers[number]) @ vectors.T)
            else:
                found.append((layers[number] @ vectors.T)[batch["kept"].bool()])
        inner = torch.stack(found)  # layers, words or tokens, attribute vectors
        if self.as_code:  # averaged over layers and batch, and only then squared
            return inner.mean((0, 1)).pow(2).sum()
        return inner.pow(2).mean()

    def _kept(self, now: tuple[Tensor, ...], then: tuple[Tensor, ...], alive: Tensor) -> Tensor:
        """Mean squared length of what changed in attribute sentences, over tokens and layers."""
        moved = torch.stack([(one - other).pow(2) for one, other in zip(now, then, strict=True)])
        if self.as_code:
            return moved.mean()
        return moved.sum(-1)[:, alive.bool()].mean()


def _as_published(rows: Sequence[WordOccurrence], width: int) -> Tensor:
    """One token to the left and divided by the longest word, if any word of the batch has several."""
    longest = max(len(row.positions) for row in rows)
    if longest == 1:
        return token_weights(rows, width)
    made = torch.zeros(len(rows), width)
    for number, row in enumerate(rows):
        made[number, [place - 1 for place in row.positions]] = 1 / longest
    return made
