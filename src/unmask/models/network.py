"""The only code that runs a language model's forward pass for scoring.

The network is split in two: the body gives hidden states for a padded batch, the head gives logits for
single positions. So the head, a fifth of the work for a small vocabulary and most of it for a large one, runs
only where a probe reads. The head is the model's own code: for one call its body is replaced by the hidden
states at hand. Nothing after the last layer's attention mixes positions either, so in encoders built like
BERT the last feed-forward block also runs only at the positions read. Both shortcuts are verified against the
whole model when it is loaded.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers.modeling_outputs import BaseModelOutput

# configuration keys of models with local attention
LOCAL_ATTENTION_SETTINGS = ("layer_types", "local_attention", "sliding_window", "attention_window")

OUTPUT_MULTIPLE = 8  # GPU kernels are fast only when the number of outputs is a multiple of this


def pad_outputs(linear: nn.Linear) -> Callable[[Tensor], Tensor]:
    """The same layer, computed with padding outputs that are sliced off again.

    The weights are padded at every call, so that it follows them during training.
    """
    padding = -linear.out_features % OUTPUT_MULTIPLE

    def forward(states: Tensor) -> Tensor:
        bias = None if linear.bias is None else functional.pad(linear.bias, (0, padding))
        outputs = functional.linear(states, functional.pad(linear.weight, (0, 0, 0, padding)), bias)
        return outputs[..., : linear.out_features]

    return forward


class _BodyOutput(BaseModelOutput):
    """A body's output with hidden states only; every other attribute is None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("_"):
            raise AttributeError(name)


class Network:
    """A model split into body and head, with its next-sentence head if it has one."""

    def __init__(self, model: Any, *, next_sentence: Any = None) -> None:
        self.model = model
        self.body: nn.Module = model.base_model
        self.next_sentence = next_sentence
        self.device: torch.device = next(model.parameters()).device
        self.attention: str = model.config._attn_implementation or "eager"
        self.takes_segments = getattr(model.config, "type_vocab_size", 0) > 1
        self.vocab_size: int = model.config.vocab_size
        self.attention_maps: int = model.config.num_hidden_layers * model.config.num_attention_heads
        self._key_mask = False
        self._padded_head = self._padded_output_layer() if self.device.type == "cuda" else None
        self.splits_head = any(self._can_split_at(body) for body in (model.base_model, model.get_decoder()))
        self._skips_last_ffn = (
            self.splits_head and self._last_block is not None and self._parts_agree(skip_last_ffn=True)
        )
        global_attention = not any(hasattr(model.config, name) for name in LOCAL_ATTENTION_SETTINGS)
        self._key_mask = self.attention == "sdpa" and global_attention and self._masks_agree()

    def replicate(self) -> Network | None:
        """A copy for another thread that shares the weights; None for a model that cannot be copied.

        Each thread needs its own, because calls of body and head temporarily replace module methods.
        """
        shared = {id(tensor): tensor for tensor in (*self.model.parameters(), *self.model.buffers())}
        if self.next_sentence is not None:
            head = self.next_sentence
            shared |= {id(tensor): tensor for tensor in (*head.parameters(), *head.buffers())}
        replica = copy.copy(self)
        try:
            copied = copy.deepcopy((self.model, self.body, self.next_sentence), shared)
        except (TypeError, RuntimeError, AttributeError):
            return None
        replica.model, replica.body, replica.next_sentence = copied
        return replica

    def hidden_states(
        self,
        ids: Tensor,
        attention_mask: Tensor | None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Last hidden states of a batch; `attention_mask` is None when nothing is padded.

        With `positions` (indices into the flattened batch) only the states there are valid.
        Returns logits instead of states if the model cannot be split.
        """
        module = self.body if self.splits_head else self.model
        if attention_mask is not None and self._key_mask:
            attention_mask = attention_mask[:, None, None].bool()
        with (
            self._last_block_at(positions)
            if positions is not None and self._skips_last_ffn
            else nullcontext(),
            self._fast_kernels(),
        ):
            output = module(input_ids=ids, attention_mask=attention_mask, **self._segments(segments))
        return output[0]  # type: ignore[no-any-return]

    def hidden_states_and_attention(
        self, ids: Tensor, attention_mask: Tensor | None, segments: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Hidden states, and the mean attention each position receives.

        Mean over layers, heads and query positions; padding queries are excluded.
        """
        module = self.body if self.splits_head else self.model
        with self._eager():
            output = module(
                input_ids=ids,
                attention_mask=attention_mask,
                output_attentions=True,
                **self._segments(segments),
            )
        attention_mask = torch.ones_like(ids) if attention_mask is None else attention_mask
        queries = attention_mask.float() / attention_mask.sum(-1, keepdim=True)
        layers = [
            torch.einsum("bhqk,bq->bk", layer.float(), queries) / layer.shape[1]
            for layer in output.attentions
        ]
        return output[0], torch.stack(layers).mean(0)

    def logits(self, states: Tensor) -> Tensor:
        """Logits in fp32 over the vocabulary for single positions (rows of hidden states)."""
        if not self.splits_head:
            return states.float()
        with self._replace_body(states[None]):
            output = self.model(input_ids=torch.zeros((1, len(states)), dtype=torch.long, device=self.device))
        return output.logits[0].float()  # type: ignore[no-any-return]

    def next_sentence_logits(
        self, ids: Tensor, attention_mask: Tensor | None, segments: Tensor | None
    ) -> Tensor:
        """Logits of the next-sentence head; class 0 is "the second sentence follows"."""
        output = self.next_sentence(input_ids=ids, attention_mask=attention_mask, token_type_ids=segments)
        return output.logits.float()  # type: ignore[no-any-return]

    def _segments(self, segments: Tensor | None) -> dict[str, Tensor]:
        return {"token_type_ids": segments} if self.takes_segments and segments is not None else {}

    def _can_split_at(self, body: Any) -> bool:
        """Whether the model can be split after this module; some heads use an inner module of the base."""
        self.body = body
        return body is not None and body is not self.model and self._parts_agree(skip_last_ffn=False)

    @property
    def _last_block(self) -> Any:
        """The last layer if its feed-forward block can be called separately, else None."""
        layers = getattr(getattr(self.body, "encoder", None), "layer", None)
        last = layers[-1] if layers is not None and len(layers) else None
        return last if hasattr(last, "feed_forward_chunk") else None

    @torch.inference_mode()
    def _parts_agree(self, *, skip_last_ffn: bool) -> bool:
        """Whether body and head, called separately, give the logits of the whole model."""
        ids = torch.arange(6, device=self.device)[None] % self.vocab_size
        positions = torch.tensor([1, 4], device=self.device)
        whole = self.model(input_ids=ids).logits[0, positions].float()
        self.splits_head, self._skips_last_ffn = True, skip_last_ffn
        try:
            parts = self.logits(self.hidden_states(ids, None, positions=positions)[0, positions])
        except (AttributeError, TypeError, ValueError, RuntimeError, KeyError):
            return False
        return parts.shape == whole.shape and torch.allclose(parts, whole, rtol=1e-3, atol=1e-3)

    def _padded_output_layer(self) -> tuple[Any, Callable[[Tensor], Tensor]] | None:
        """The output layer, and its padded forward; None if its size already suits the GPU."""
        head = self.model.get_output_embeddings()
        if not isinstance(head, nn.Linear) or head.out_features % OUTPUT_MULTIPLE == 0:
            return None
        return head, pad_outputs(head)

    @torch.inference_mode()
    def _masks_agree(self) -> bool:
        """Whether a mask over the keys alone gives the same states as the usual 2-D mask.

        transformers inspects the values of a 2-D mask, which synchronises with the GPU.
        """
        ids = torch.arange(8, device=self.device).view(2, 4) % self.vocab_size
        attention_mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], device=self.device)
        usual = self.hidden_states(ids, attention_mask)[attention_mask.bool()].float()
        self._key_mask = True
        try:
            masked = self.hidden_states(ids, attention_mask)[attention_mask.bool()].float()
        except (AttributeError, TypeError, ValueError, RuntimeError, IndexError):
            return False
        return torch.allclose(masked, usual, rtol=1e-3, atol=1e-3)

    def _fast_kernels(self) -> AbstractContextManager[None]:
        """On a GPU, the attention kernels that are fast on short sequences: cuDNN's takes twice as long."""
        if self.device.type != "cuda":
            return nullcontext()
        kernels = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
        return sdpa_kernel(kernels)

    @contextmanager
    def _last_block_at(self, positions: Tensor) -> Iterator[None]:
        """For one call the last feed-forward block runs at these positions only."""
        layer, block = self._last_block, self._last_block.feed_forward_chunk

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
        self.body.forward = lambda *_, **__: _BodyOutput(last_hidden_state=cast(torch.FloatTensor, states))
        if self._padded_head is not None:
            self._padded_head[0].forward = self._padded_head[1]
        try:
            yield
        finally:
            del self.body.forward
            if self._padded_head is not None:
                del self._padded_head[0].forward

    @contextmanager
    def _eager(self) -> Iterator[None]:
        """Fused attention returns no weights: use the eager implementation for one call."""
        self.model.set_attn_implementation("eager")
        try:
            yield
        finally:
            self.model.set_attn_implementation(self.attention)
