"""Encoders built like BERT, called layer by layer: a part of the shortcuts in `models.fast`, which verifies it.

Less is computed than by the model itself, with equal results:

- The input of the first layer is a token at a position. The masked copies of a sentence share nearly all of them, so
  its queries, keys and values are computed once for each.
- Where a row is read at few positions, the last layer needs their queries alone, and neither keys nor values: the
  key's weights are applied to the query, q·(W x) = (Wᵀq)·x, and the value's to the weighted sum of the states.

These two are for a CPU. On a GPU the host has less to do for a layer than in the model's own code, and does not wait
for the GPU anywhere, so that it keeps ahead of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

CAPTURE = "transformers.utils.output_capturing"
ALIGNMENT = 8  # numbers; of the rows of a mask that a GPU's attention kernel takes as it is


class Encoder:
    """The embeddings and layers of a body; raises AttributeError for a body with other parts."""

    def __init__(self, body: Any) -> None:
        self.body = body
        self.layers = list(body.encoder.layer)
        attention = self.layers[0].attention.self
        self.heads, self.size = int(attention.num_attention_heads), int(attention.attention_head_size)
        self._bypassed: list[nn.Module] = [body, body.encoder, *self.layers]  # modules whose own code is not run
        for layer in self.layers:
            self._bypassed += [layer.attention, layer.attention.self, layer.attention.output, layer.output]

    def is_usable(self) -> bool:
        """Whether nothing but inference is wanted, and no module that is not called here was changed."""
        if torch.is_grad_enabled() or self.body.training:
            return False
        return not any(_is_changed(module) for module in self._bypassed)

    def states(self, ids: Tensor, keys: Tensor | None, positions: Tensor | None, **inputs: Tensor) -> Tensor:
        """Last hidden states; `keys` are the tokens to attend to; with `positions` only the states there are valid."""
        shape, states = self._embed(ids, inputs)
        mask = None if keys is None else _mask(keys, states.dtype)
        projected = None if ids.is_cuda else self._project_once(ids, states, inputs)
        for layer in self.layers[:-1]:
            states = self._feed_forward(layer, self._attend(layer, states, shape, mask, projected))
            projected = None
        last = self.layers[-1]
        if positions is None:
            states = self._feed_forward(last, self._attend(last, states, shape, mask, projected))
            return states.view(shape)
        if self._few(len(positions), shape, states):
            attended = self._attend_from(last, states, positions, shape, keys)
        else:
            attended = self._attend(last, states, shape, mask, projected)[positions]
        return states.index_copy(0, positions, self._feed_forward(last, attended)).view(shape)

    def states_with_attention(self, ids: Tensor, keys: Tensor | None, **inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Last hidden states, and the attention each position receives: the mean of layers, heads and asking tokens."""
        shape, states = self._embed(ids, inputs)
        asking = torch.ones_like(ids) if keys is None else keys
        asking = asking.float() / asking.sum(-1, keepdim=True)
        received = torch.zeros_like(asking)
        for layer in self.layers:
            queries, own, values = self._by_head(tuple(linear(states) for linear in _projections(layer)), shape)
            scores = torch.matmul(queries, own.transpose(2, 3)) * self.size**-0.5
            if keys is not None:
                scores.masked_fill_(~keys[:, None, None], torch.finfo(scores.dtype).min)
            weights = scores.softmax(-1)
            received += torch.einsum("bhqk,bq->bk", weights.float(), asking)
            mixed = torch.matmul(weights, values).transpose(1, 2).reshape(len(states), -1)
            states = self._feed_forward(layer, self._add(layer.attention.output, mixed, states))
        return states.view(shape), received / (self.heads * len(self.layers))

    def _embed(self, ids: Tensor, inputs: dict[str, Tensor]) -> tuple[torch.Size, Tensor]:
        """The shape of the states, and the input of the first layer."""
        states: Tensor = self.body.embeddings(input_ids=ids, **inputs)
        if hasattr(self.body, "embeddings_project"):
            states = self.body.embeddings_project(states)
        return states.shape, states.flatten(0, 1)

    def _few(self, reads: int, shape: torch.Size, states: Tensor) -> bool:
        """Whether so few positions are read that keys and values cost more than doing without them, on a CPU.

        Doing without needs fp32: states are larger than keys, and so are their rounding errors.
        """
        rows, length, width = shape
        able = states.device.type == "cpu" and states.dtype == torch.float32
        return able and reads * (width + length * self.heads) < rows * length * width

    def _project_once(self, ids: Tensor, states: Tensor, inputs: dict[str, Tensor]) -> tuple[Tensor, ...] | None:
        """Queries, keys and values of the first layer, computed once for equal embeddings."""
        keys = ids * ids.shape[1] + torch.arange(ids.shape[1], device=ids.device)
        if "token_type_ids" in inputs:
            keys = keys * 2 + inputs["token_type_ids"]
        distinct, group = torch.unique(keys, return_inverse=True)
        group = group.flatten()
        first = group.new_empty(len(distinct)).scatter_(0, group, torch.arange(len(group), device=ids.device))
        once = states[first]
        if not torch.equal(once[group], states):  # positions that depend on more than the column
            return None
        return tuple(linear(once)[group] for linear in _projections(self.layers[0]))

    def _attend(
        self, layer: Any, states: Tensor, shape: torch.Size, mask: Tensor | None, projected: tuple[Tensor, ...] | None
    ) -> Tensor:
        """The states after the attention of a layer."""
        made = projected or tuple(linear(states) for linear in _projections(layer))
        queries, own, values = self._by_head(made, shape)
        mixed = functional.scaled_dot_product_attention(queries, own, values, attn_mask=mask)
        return self._add(layer.attention.output, mixed.transpose(1, 2).reshape(len(states), -1), states)

    def _by_head(self, made: tuple[Tensor, ...], shape: torch.Size) -> Iterator[Tensor]:
        return (each.view(*shape[:2], self.heads, self.size).transpose(1, 2) for each in made)

    def _attend_from(
        self, layer: Any, states: Tensor, positions: Tensor, shape: torch.Size, keys: Tensor | None
    ) -> Tensor:
        """The states after the attention of a layer at these positions alone, without keys and values.

        The key's bias changes all scores of a query equally, so attention does not depend on it.
        """
        query, key, value = _projections(layer)
        own, rows = states[positions], positions // shape[1]
        others = states.view(shape)[rows]
        asked = query(own).view(-1, self.heads, self.size).transpose(0, 1) * self.size**-0.5
        asked = torch.bmm(asked, key.weight.view(self.heads, self.size, -1)).transpose(0, 1)
        scores = torch.bmm(asked, others.transpose(1, 2))
        if keys is not None:
            scores.masked_fill_(~keys[rows][:, None], float("-inf"))
        mixed = torch.bmm(scores.softmax(-1), others).transpose(0, 1)
        mixed = torch.bmm(mixed, value.weight.view(self.heads, self.size, -1).transpose(1, 2))
        mixed = mixed.transpose(0, 1).flatten(1)
        return self._add(layer.attention.output, mixed if value.bias is None else mixed + value.bias, own)

    def _feed_forward(self, layer: Any, states: Tensor) -> Tensor:
        return self._add(layer.output, layer.intermediate(states), states)

    def _add(self, output: Any, new: Tensor, states: Tensor) -> Tensor:
        """The states plus what a block gives, normalised."""
        return output.LayerNorm(output.dense(new).add_(states))  # type: ignore[no-any-return]


def _mask(keys: Tensor, dtype: torch.dtype) -> Tensor:
    """The attention mask of all layers.

    For a GPU it is added to the scores, and its rows are aligned: else the kernel makes such a mask in every layer.
    """
    if not keys.is_cuda:
        return keys[:, None, None]
    rows, length = keys.shape
    aligned = torch.zeros(rows, 1, 1, length + -length % ALIGNMENT, dtype=dtype, device=keys.device)
    return aligned[..., :length].masked_fill_(~keys[:, None, None], float("-inf"))


def _is_changed(module: nn.Module) -> bool:
    """Whether the module's own code is not all that runs when it is called.

    transformers leaves its hooks on a model that was once asked for attention weights; they do nothing otherwise.
    """
    hooks = (*module._forward_hooks.values(), *module._forward_pre_hooks.values())
    own = (getattr(hook, "__module__", None) == CAPTURE for hook in hooks)
    return "forward" in vars(module) or not all(own)


def _projections(layer: Any) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
    attention = layer.attention.self
    return attention.query, attention.key, attention.value
