"""The only code that runs a likelihood forward pass through torch.

The network is split in two: the body gives hidden states for a padded batch, the head gives logits for
single positions. So the head, a fifth of the work for a small vocabulary and most of it for a large one, is
applied only where a probe reads. The head is the model's own code: its body is replaced for one call by the
hidden states at hand. Nothing after the last layer's attention mixes positions either, so in encoders built
like BERT the last feed-forward block, too, sees only the positions read. Both are verified against the whole
model when it is opened.
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

# of layers that see a part of the sentence only
LOCAL_ATTENTION_SETTINGS = ("layer_types", "local_attention", "sliding_window", "attention_window")


OUTPUT_MULTIPLE = (
    8  # outputs a GPU multiplies together; with an odd number of them it falls back to slow products
)


def pad_outputs(linear: nn.Linear) -> Callable[[Tensor], Tensor]:
    """The same layer, computed with a few outputs more that are cut off again.

    The weights are widened anew at every call, so that it follows them while they are trained.
    """
    more = -linear.out_features % OUTPUT_MULTIPLE

    def forward(states: Tensor) -> Tensor:
        bias = None if linear.bias is None else functional.pad(linear.bias, (0, more))
        whole = functional.linear(states, functional.pad(linear.weight, (0, 0, 0, more)), bias)
        return whole[..., : linear.out_features]

    return forward


class _Given(BaseModelOutput):
    """A body's output made of hidden states alone; everything else a head might ask for is None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("_"):
            raise AttributeError(name)


class Network:
    """A model's body and head, its next-sentence head where it has one, and its device."""

    def __init__(self, model: Any, *, next_sentence: Any = None) -> None:
        self.model = model
        self.body: nn.Module = model.base_model
        self.next_sentence = next_sentence
        self.device: torch.device = next(model.parameters()).device
        self.fast_attention: str = model.config._attn_implementation or "eager"
        self.takes_segments = getattr(model.config, "type_vocab_size", 0) > 1
        self.vocab_size: int = model.config.vocab_size
        self.attention_maps: int = model.config.num_hidden_layers * model.config.num_attention_heads
        self._broadcasts = False
        self._even = self._even_head() if self.device.type == "cuda" else None
        self.splits_head = any(self._splits_at(body) for body in (model.base_model, model.get_decoder()))
        self._thin = self.splits_head and self._last_block is not None and self._parts_agree(thin=True)
        everywhere = not any(hasattr(model.config, name) for name in LOCAL_ATTENTION_SETTINGS)
        self._broadcasts = self.fast_attention == "sdpa" and everywhere and self._masks_agree()

    def replicate(self) -> Network | None:
        """The same network for another thread: it shares the weights; None for a model that cannot be copied.

        A thread needs one of its own, because calls apart put other functions into the modules for a while.
        """
        shared = {id(one): one for one in (*self.model.parameters(), *self.model.buffers())}
        if self.next_sentence is not None:
            heads = self.next_sentence
            shared |= {id(one): one for one in (*heads.parameters(), *heads.buffers())}
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
        kept: Tensor | None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Last hidden states of a batch; `kept` is 1 at true tokens, None when nothing is padding.

        With `positions` (numbers of positions, rows laid end to end) only those are sure to be right.
        Logits instead of states, if the head won't split.
        """
        module = self.body if self.splits_head else self.model
        if kept is not None and self._broadcasts:
            kept = kept[:, None, None].bool()
        with (
            self._last_block_at(positions) if positions is not None and self._thin else nullcontext(),
            self._fused(),
        ):
            output = module(input_ids=ids, attention_mask=kept, **self._segments(segments))
        return output[0]  # type: ignore[no-any-return]

    def hidden_states_and_attention(
        self, ids: Tensor, kept: Tensor | None, segments: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Hidden states, and the attention each position receives on average.

        Mean over layers, over heads, then over the true tokens asking: rows of padding never count.
        """
        module = self.body if self.splits_head else self.model
        with self._eager():
            output = module(
                input_ids=ids, attention_mask=kept, output_attentions=True, **self._segments(segments)
            )
        kept = torch.ones_like(ids) if kept is None else kept
        asking = kept.float() / kept.sum(-1, keepdim=True)
        layers = [
            torch.einsum("bhqk,bq->bk", layer.float(), asking) / layer.shape[1] for layer in output.attentions
        ]
        return output[0], torch.stack(layers).mean(0)

    def logits(self, states: Tensor) -> Tensor:
        """Logits in fp32 over the vocabulary for single positions (rows of hidden states)."""
        if not self.splits_head:
            return states.float()
        with self._body_gives(states[None]):
            output = self.model(input_ids=torch.zeros((1, len(states)), dtype=torch.long, device=self.device))
        return output.logits[0].float()  # type: ignore[no-any-return]

    def next_sentence_logits(self, ids: Tensor, kept: Tensor | None, segments: Tensor | None) -> Tensor:
        """Logits of the next-sentence head; class 0 is "the second sentence follows"."""
        output = self.next_sentence(input_ids=ids, attention_mask=kept, token_type_ids=segments)
        return output.logits.float()  # type: ignore[no-any-return]

    def _segments(self, segments: Tensor | None) -> dict[str, Tensor]:
        return {"token_type_ids": segments} if self.takes_segments and segments is not None else {}

    def _splits_at(self, body: Any) -> bool:
        """Can the model be taken apart behind this module? Some heads sit on an inner module of the base."""
        self.body = body
        return body is not None and body is not self.model and self._parts_agree(thin=False)

    @property
    def _last_block(self) -> Any:
        """The last layer, where it has a feed-forward block of its own that can be called apart."""
        layers = getattr(getattr(self.body, "encoder", None), "layer", None)
        last = layers[-1] if layers is not None and len(layers) else None
        return last if hasattr(last, "feed_forward_chunk") else None

    @torch.inference_mode()
    def _parts_agree(self, *, thin: bool) -> bool:
        """Do body and head, called apart, give the logits of the whole model?"""
        ids = torch.arange(6, device=self.device)[None] % self.vocab_size
        positions = torch.tensor([1, 4], device=self.device)
        whole = self.model(input_ids=ids).logits[0, positions].float()
        self.splits_head, self._thin = True, thin
        try:
            parts = self.logits(self.hidden_states(ids, None, positions=positions)[0, positions])
        except (AttributeError, TypeError, ValueError, RuntimeError, KeyError):
            return False
        return parts.shape == whole.shape and torch.allclose(parts, whole, rtol=1e-3, atol=1e-3)

    def _even_head(self) -> tuple[Any, Callable[[Tensor], Tensor]] | None:
        """The model's last layer, and the same over a vocabulary a GPU can divide."""
        head = self.model.get_output_embeddings()
        if not isinstance(head, nn.Linear) or head.out_features % OUTPUT_MULTIPLE == 0:
            return None
        return head, pad_outputs(head)

    @torch.inference_mode()
    def _masks_agree(self) -> bool:
        """Does a mask over the keys alone do what the usual one does?

        The library looks into the usual one, and so waits until a GPU has done all it was given before.
        """
        ids = torch.arange(8, device=self.device).view(2, 4) % self.vocab_size
        kept = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], device=self.device)
        usual = self.hidden_states(ids, kept)[kept.bool()].float()
        self._broadcasts = True
        try:
            narrow = self.hidden_states(ids, kept)[kept.bool()].float()
        except (AttributeError, TypeError, ValueError, RuntimeError, IndexError):
            return False
        return torch.allclose(narrow, usual, rtol=1e-3, atol=1e-3)

    def _fused(self) -> AbstractContextManager[None]:
        """On a GPU the kernels that are quick on short sentences: cuDNN's takes twice as long."""
        if self.device.type != "cuda":
            return nullcontext()
        kernels = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
        return sdpa_kernel(kernels)

    @contextmanager
    def _last_block_at(self, positions: Tensor) -> Iterator[None]:
        """For one call the last feed-forward block works at these positions and passes the others by."""
        layer, block = self._last_block, self._last_block.feed_forward_chunk

        def narrow(states: Tensor) -> Tensor:
            flat = states.flatten(0, 1)
            return flat.index_copy(0, positions, block(flat[positions])).view_as(states)

        layer.feed_forward_chunk = narrow
        try:
            yield
        finally:
            del layer.feed_forward_chunk

    @contextmanager
    def _body_gives(self, states: Tensor) -> Iterator[None]:
        self.body.forward = lambda *_, **__: _Given(last_hidden_state=cast(torch.FloatTensor, states))
        if self._even is not None:
            self._even[0].forward = self._even[1]
        try:
            yield
        finally:
            del self.body.forward
            if self._even is not None:
                del self._even[0].forward

    @contextmanager
    def _eager(self) -> Iterator[None]:
        """Fused attention gives no weights: switch to the plain implementation for one call."""
        self.model.set_attn_implementation("eager")
        try:
            yield
        finally:
            self.model.set_attn_implementation(self.fast_attention)
