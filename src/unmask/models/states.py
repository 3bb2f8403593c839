"""Hidden states and distributions over the vocabulary; the engine reads only given tokens.

Sequences of equal length share a batch, so nothing is padded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unmask.core.errors import ModelError
from unmask.core.types import Floats
from unmask.models.batches import chunks_by_length
from unmask.models.eraser import record_states
from unmask.models.fast.shortcuts import select_cache
from unmask.models.lm import Lm, refuse_bad_outputs

TOKENS = 2048  # per forward pass
TokenIds = tuple[int, ...]


def batches_by_length(lm: Lm, rows: Sequence[TokenIds]) -> Iterator[tuple[list[int], Tensor]]:
    """Yield the indices of rows of one length and their token ids on the model's device."""
    for chunk in chunks_by_length([len(row) for row in rows], TOKENS):
        yield chunk, torch.tensor([rows[index] for index in chunk], device=lm.network.device)


def all_layers(model: Any, ids: Tensor, attention_mask: Tensor | None = None) -> tuple[Tensor, ...]:
    """Hidden states of a batch at every layer, embeddings first."""
    output = model.base_model(input_ids=ids, attention_mask=attention_mask, output_hidden_states=True)
    return tuple(output.hidden_states)


@torch.inference_mode()
def mean_states(
    lm: Lm, rows: Sequence[TokenIds], positions: Sequence[Sequence[int]], *, layer: int = -1, for_eraser: bool = False
) -> Floats:
    """The mean state over the positions of each row at one layer (0: the embeddings, -1: the last layer).

    With `for_eraser` they are the states that an eraser at this layer receives. Equal rows are run once.
    ModelError if one is not finite.
    """
    rows_of: dict[TokenIds, list[int]] = {}
    for number, row in enumerate(rows):
        rows_of.setdefault(row, []).append(number)
    distinct, means = list(rows_of), dict[int, Floats]()
    for indices, ids in batches_by_length(lm, distinct):
        for index, states in zip(indices, _states(lm, ids, layer, for_eraser=for_eraser), strict=True):
            for number in rows_of[distinct[index]]:
                means[number] = states[list(positions[number])].double().mean(0).cpu().numpy()
    stacked = np.stack([means[number] for number in range(len(rows))]) if rows else np.empty((0, 0))
    refuse_bad_outputs(int((~np.isfinite(stacked).all(1)).sum()), len(rows), "hidden states", lm.facts)
    return stacked


@torch.inference_mode()
def distributions(lm: Lm, slots: Sequence[tuple[TokenIds, int]]) -> Iterator[tuple[int, Floats]]:
    """Yield the index of each slot (token ids, position) and the probabilities of all tokens there."""
    for indices, ids in batches_by_length(lm, [ids for ids, _ in slots]):
        states = lm.network.run(ids, None)
        for row, index in enumerate(indices):
            yield index, _probabilities(lm, states[row, slots[index][1]])


class Continuations:
    """Distributions after contexts of a causal model and what is added to them.

    A context is run once, when it is first asked with nothing added, and its key/value cache is kept.
    """

    def __init__(self, lm: Lm, contexts: Sequence[TokenIds]) -> None:
        self._lm, self._contexts = lm, contexts
        self._caches: list[Any] = []  # of batches of contexts
        self._places: dict[int, tuple[int, int]] = {}  # the cache of each context, and its row in it

    @torch.inference_mode()
    def distributions(self, asked: Sequence[tuple[int, TokenIds]]) -> Iterator[tuple[int, Floats]]:
        """Yield the index of each (context, tokens added to it) and the probabilities of all next tokens."""
        shortcuts = self._lm.network.shortcuts
        if shortcuts is None or not shortcuts.keeps_cache:
            whole = [(*self._contexts[context], *added) for context, added in asked]
            yield from distributions(self._lm, [(ids, len(ids) - 1) for ids in whole])
            return
        new = [index for index, (context, added) in enumerate(asked) if not added]
        for chunk, ids in batches_by_length(self._lm, [self._contexts[asked[index][0]] for index in new]):
            states, cache = shortcuts.last_states(ids)
            for row, index in enumerate(new[number] for number in chunk):
                self._places[asked[index][0]] = len(self._caches), row
                yield index, _probabilities(self._lm, states[row])
            self._caches.append(cache)
        groups: dict[tuple[int, int], list[int]] = {}
        for index, (context, added) in enumerate(asked):
            if added:
                groups.setdefault((self._places[context][0], len(added)), []).append(index)
        for (number, _), indices in groups.items():
            rows = torch.tensor([self._places[asked[index][0]][1] for index in indices], device=shortcuts.device)
            ids = torch.tensor([asked[index][1] for index in indices], device=shortcuts.device)
            states, _ = shortcuts.last_states(ids, select_cache(self._caches[number], rows))
            yield from zip(indices, (_probabilities(self._lm, state) for state in states), strict=True)


def _probabilities(lm: Lm, state: Tensor) -> Floats:
    """The probabilities of all tokens for what the network returned at one position."""
    return lm.network.logits(state[None])[0].double().softmax(-1).cpu().numpy()


def _states(lm: Lm, ids: Tensor, layer: int, *, for_eraser: bool) -> Tensor:
    """The states of a batch at one layer, or those that an eraser there receives."""
    if for_eraser:
        with record_states(lm.network.model, layer) as recorded:
            lm.network.model.base_model(input_ids=ids)
        return recorded[-1]
    layers = all_layers(lm.network.model, ids)
    if not -len(layers) <= layer < len(layers):
        raise ModelError(
            f"{lm.facts.id} has layers 0 to {len(layers) - 1}, or -{len(layers)} to -1 from the end; "
            f"there is no layer {layer}"
        )
    return layers[layer]
