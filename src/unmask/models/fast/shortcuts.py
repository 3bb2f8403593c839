"""A model called as body and head, with what replaces parts of its forward pass."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers.modeling_outputs import BaseModelOutput

from unmask.models.encoder import Encoder

OUTPUT_MULTIPLE = 8  # GPU kernels are fast only when the number of outputs is a multiple of this
VOCABULARY_PART = 1024  # logits of a position computed at a time on a CPU
SHORT = 64  # tokens of a sequence up to which the memory-efficient attention kernel is twice as fast as the others
_SHORT_KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
_KERNELS = [SDPBackend.FLASH_ATTENTION, *_SHORT_KERNELS]  # cuDNN's takes twice as long


class Shortcuts:
    """A model called as body and head; made by `selection.find_shortcuts`, which verifies it."""

    def __init__(self, model: Any, body: nn.Module) -> None:
        self.model, self.body = model, body
        self.device: torch.device = next(model.parameters()).device
        head = model.get_output_embeddings()
        pads = self.device.type == "cuda" and isinstance(head, nn.Linear) and head.out_features % OUTPUT_MULTIPLE
        self.padded_head = PaddedOutputs(head) if pads else None
        self.skips_last_ffn = False
        self.key_mask = False
        self.encoder: Encoder | None = None
        self.output: nn.Linear | None = None  # where its outputs are the logits, and can be computed in parts
        self.longest_in_trees = 0  # tokens of a sequence; 0: they cannot be run as prefix trees
        self.keeps_cache = False  # of texts that are continued

    @property
    def names(self) -> tuple[str, ...]:
        """What is replaced in the forward pass."""
        used = {
            "head at read positions": True,
            "last feed-forward block at read positions": self.skips_last_ffn,
            "mask over keys": self.key_mask,
            "padded head": self.padded_head is not None,
            "encoder called by layer": self.encoder is not None,
            "head by parts of the vocabulary": self.output is not None,
            "shared prefixes": self.longest_in_trees > 0,
            "key/value cache": self.keeps_cache,
        }
        return tuple(name for name, is_used in used.items() if is_used)

    def states(
        self, ids: Tensor, attention_mask: Tensor | None, positions: Tensor | None = None, **inputs: Tensor
    ) -> Tensor:
        """Last hidden states; with `positions` (in the flattened batch) only those there are valid."""
        if (encoder := self.usable_encoder()) is not None:
            keys = None if attention_mask is None else attention_mask.bool()
            with self._kernels(ids.shape[1]):
                return encoder.states(ids, keys, positions, **inputs)
        if attention_mask is not None and self.key_mask:
            attention_mask = attention_mask[:, None, None].bool()
        skip = self.skips_last_ffn and positions is not None
        with self._last_block_at(cast(Tensor, positions)) if skip else nullcontext(), self._kernels(ids.shape[1]):
            return self.body(input_ids=ids, attention_mask=attention_mask, **inputs)[0]  # type: ignore[no-any-return]

    def usable_encoder(self) -> Encoder | None:
        """The encoder called by layer; None where the model itself must be asked."""
        return self.encoder if self.encoder is not None and self.encoder.is_usable() else None

    def tree_states(self, ids: Tensor, positions: Tensor, ends: Tensor) -> Tensor:
        """Last hidden states of the nodes of prefix trees."""
        columns = torch.arange(ids.shape[1], device=self.device)
        mask = ((columns[:, None] >= columns) & (columns[:, None] < ends[:, None]))[:, None]
        if self.model.config._attn_implementation != "sdpa":  # adds its mask
            lowest = torch.finfo(self.model.dtype).min
            mask = torch.zeros_like(mask, dtype=self.model.dtype).masked_fill_(~mask, lowest)
        with self._kernels(ids.shape[1]):
            output = self.body(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False)
        return output[0]  # type: ignore[no-any-return]

    def last_states(self, ids: Tensor, cache: Any = None) -> tuple[Tensor, Any]:
        """The last hidden state of every row, and the key/value cache of the rows; they continue those in `cache`."""
        output = self.body(input_ids=ids, past_key_values=cache, use_cache=True)
        return output[0][:, -1], output.past_key_values

    def _kernels(self, length: int) -> AbstractContextManager[None]:
        """The attention kernels of a GPU that are fast for sequences of this length."""
        if self.device.type != "cuda":
            return nullcontext()
        return sdpa_kernel(_SHORT_KERNELS if length <= SHORT else _KERNELS)

    def logits(self, states: Tensor) -> Tensor:
        """Logits over the vocabulary for rows of hidden states."""
        ids = torch.zeros((1, len(states)), dtype=torch.long, device=self.device)
        with self._replace_body(states[None]):
            return self.model(input_ids=ids).logits[0]  # type: ignore[no-any-return]

    def reads_in_parts(self) -> bool:
        """Whether `read` can be used: nothing changes the logits after the output layer."""
        output = self.output
        return output is not None and not (output._forward_hooks or output._forward_pre_hooks)

    def read(self, states: Tensor, rows: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probability in fp32 and rank of each token at its row of states, without all logits at once."""
        output = cast(nn.Linear, self.output)
        vars(output)["forward"] = lambda inputs: inputs
        try:
            inputs = self.logits(states)
        finally:
            del output.forward
        weight, bias = output.weight, output.bias
        near = torch.linalg.vecdot(inputs[rows], weight[tokens]).float()  # to rank by; exact up to rounding
        near = near if bias is None else near + bias[tokens].float()
        chosen, ranks, totals = torch.empty_like(near), torch.zeros_like(near), []
        alone = torch.equal(rows, torch.arange(len(inputs), device=rows.device))
        for begin in range(0, len(weight), VOCABULARY_PART):
            part = slice(begin, begin + VOCABULARY_PART)
            logits = functional.linear(inputs, weight[part], None if bias is None else bias[part]).float()
            others = logits if alone else logits[rows]
            reached = torch.ge(others, near[:, None], out=torch.empty_like(others))  # summing floats is faster
            own = ((tokens >= begin) & (tokens < begin + len(logits[0]))).nonzero()[:, 0]
            column = tokens[own] - begin
            chosen[own] = others[own, column]
            reached[own, column] = 0
            ranks += reached.sum(-1)
            totals.append(logits.logsumexp(-1))
        return chosen - torch.stack(totals).logsumexp(0)[rows], ranks.long()

    @property
    def last_block(self) -> Any:
        """The last layer if its feed-forward block can be called separately, else None."""
        layers = getattr(getattr(self.body, "encoder", None), "layer", None)
        last = layers[-1] if layers is not None and len(layers) else None
        return last if hasattr(last, "feed_forward_chunk") else None

    @contextmanager
    def _last_block_at(self, positions: Tensor) -> Iterator[None]:
        """For one call the last feed-forward block runs at these positions only."""
        layer, block = self.last_block, self.last_block.feed_forward_chunk

        def at_positions(states: Tensor) -> Tensor:
            flat = states.flatten(0, 1)
            return flat.index_copy(0, positions, block(flat[positions])).view_as(states)

        layer.feed_forward_chunk = at_positions
        try:
            yield
        finally:
            del layer.feed_forward_chunk

    @contextmanager
    def _replace_body(self, states: Tensor) -> Iterator[None]:
        """For one call the body returns these states, so that only the head runs."""
        patched: list[Any] = [self.body]
        self.body.forward = lambda *_, **__: _BodyOutput(last_hidden_state=cast(torch.FloatTensor, states))
        if self.padded_head is not None:
            vars(self.padded_head.linear)["forward"] = self.padded_head
            patched.append(self.padded_head.linear)
        try:
            yield
        finally:
            for module in patched:
                del module.forward


class _BodyOutput(BaseModelOutput):
    """A body's output with hidden states only; every other attribute is None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("_"):
            raise AttributeError(name)


def select_cache(cache: Any, rows: Tensor) -> Any:
    """A copy of a key/value cache with these of its rows."""
    selected = copy.deepcopy(cache)
    selected.batch_select_indices(rows)
    return selected


class PaddedOutputs:
    """A linear layer computed with padding outputs that are sliced off again; its weights are padded once.

    In training they are padded at every call, so that gradients reach them.
    """

    def __init__(self, linear: nn.Linear) -> None:
        self.linear = linear
        self._version = (-1, -1)
        self._weights: tuple[Tensor, Tensor | None] | None = None

    def __call__(self, states: Tensor) -> Tensor:
        """The outputs; the weights are padded again if training has changed them."""
        if torch.is_grad_enabled():
            return functional.linear(states, *self._padded())[..., : self.linear.out_features]
        weight, bias = self.linear.weight, self.linear.bias
        version = (weight._version, 0 if bias is None else bias._version)
        if self._weights is None or self._version != version:
            self._weights, self._version = self._padded(), version
        return functional.linear(states, *self._weights)[..., : self.linear.out_features]

    def _padded(self) -> tuple[Tensor, Tensor | None]:
        weight, bias = self.linear.weight, self.linear.bias
        padding = -self.linear.out_features % OUTPUT_MULTIPLE
        padded = None if bias is None else functional.pad(bias, (0, padding))
        return functional.pad(weight, (0, 0, 0, padding)), padded
