"""The only code that runs a language model's forward pass for scoring."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from unmask.models.fast.selection import find_shortcuts

# log-probabilities and ranks of tokens, from hidden states, the rows of these and the tokens
HeadReader = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


class Network:
    """A model, with its next-sentence head if it has one and the shortcuts found for it (`models.fast`).

    With `head`, logits are those of another network, the same model in a wider precision.
    """

    def __init__(self, model: Any, *, next_sentence: Any = None, head: Network | None = None) -> None:
        self.model = model
        self.tf32 = False
        self.next_sentence = next_sentence
        self.device: torch.device = next(model.parameters()).device
        self.attention: str = model.config._attn_implementation or "eager"
        self.takes_segments = getattr(model.config, "type_vocab_size", 0) > 1
        self.vocab_size: int = model.config.vocab_size
        self.attention_maps: int = model.config.num_hidden_layers * model.config.num_attention_heads
        self.shortcuts = find_shortcuts(model)
        split = self.shortcuts is not None and head is not None and head.shortcuts is not None
        self.head = head.with_tf32() if head is not None and split else None

    @property
    def shortcut_names(self) -> tuple[str, ...]:
        """The shortcuts in use."""
        return () if self.shortcuts is None else self.shortcuts.names

    @property
    def longest_in_trees(self) -> int:
        """The longest sequence that `run_trees` takes; 0 where it cannot be used."""
        return 0 if self.shortcuts is None else self.shortcuts.longest_in_trees

    def with_tf32(self) -> Network:
        """The same network, weights included, with TF32 for fp32 matrix products on a GPU."""
        other = copy.copy(self)
        other.tf32 = True
        return other

    @contextmanager
    def products(self) -> Iterator[None]:
        """Run the network in this block: its matrix products have its precision."""
        settings = torch.backends.cuda.matmul
        before = settings.allow_tf32
        if self.tf32:
            settings.allow_tf32 = True
        try:
            yield
        finally:
            if self.tf32:
                settings.allow_tf32 = before

    def replicate(self) -> Network | None:
        """A copy for another thread that shares the weights; None for a model that cannot be copied.

        Each thread needs its own, because shortcuts temporarily replace module methods.
        """
        head = None if self.head is None else self.head.model
        modules = [module for module in (self.model, self.next_sentence, head) if module is not None]
        weights = [tensor for module in modules for tensor in (*module.parameters(), *module.buffers())]
        try:
            return copy.deepcopy(self, {id(tensor): tensor for tensor in weights})
        except (TypeError, RuntimeError, AttributeError):
            return None

    def run(
        self,
        ids: Tensor,
        attention_mask: Tensor | None,
        segments: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """What `logits` takes: the logits of a batch, or with shortcuts its hidden states.

        `attention_mask` is None when nothing is padded. With `positions` (indices into the flattened batch)
        only the rows there need to be valid.
        """
        if self.shortcuts is not None:
            return self.shortcuts.states(ids, attention_mask, positions, **self._segments(segments))
        output = self.model(input_ids=ids, attention_mask=attention_mask, **self._segments(segments))
        return output.logits  # type: ignore[no-any-return]

    def run_trees(self, ids: Tensor, positions: Tensor, ends: Tensor) -> Tensor:
        """As `run`, for prefix trees (`models.prefixes`) of a causal model."""
        assert self.shortcuts is not None
        return self.shortcuts.tree_states(ids, positions, ends)

    def run_with_attention(
        self, ids: Tensor, attention_mask: Tensor | None, segments: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """As `run`, and the mean attention each position receives.

        Mean over layers, heads and query positions; padding queries are excluded.
        """
        encoder = None if self.shortcuts is None else self.shortcuts.usable_encoder()
        if encoder is not None:
            keys = None if attention_mask is None else attention_mask.bool()
            return encoder.states_with_attention(ids, keys, **self._segments(segments))
        module = self.model if self.shortcuts is None else self.shortcuts.body
        inputs = {"input_ids": ids, "attention_mask": attention_mask, **self._segments(segments)}
        self.model.set_attn_implementation("eager")  # fused attention returns no weights
        try:
            output = module(**inputs, output_attentions=True)
        finally:
            self.model.set_attn_implementation(self.attention)
        attention_mask = torch.ones_like(ids) if attention_mask is None else attention_mask
        queries = attention_mask.float() / attention_mask.sum(-1, keepdim=True)
        layers = [torch.einsum("bhqk,bq->bk", layer.float(), queries) / layer.shape[1] for layer in output.attentions]
        return output[0], torch.stack(layers).mean(0)

    def logits(self, rows: Tensor) -> Tensor:
        """Logits in fp32 over the vocabulary for rows of what `run` returned."""
        return self.raw_logits(rows).float()

    def parts_reader(self) -> HeadReader | None:
        """Reads rows of what `run` returned by parts of the vocabulary; None where logits must be computed first."""
        if self.head is not None:
            read = self.head.parts_reader()
            return None if read is None else lambda states, rows, tokens: read(states.float(), rows, tokens)
        usable = self.shortcuts is not None and self.shortcuts.reads_in_parts()
        return self.shortcuts.read if self.shortcuts is not None and usable else None

    def raw_logits(self, rows: Tensor) -> Tensor:
        """The same in the precision of the model, which saves a GPU half of the memory traffic."""
        if self.head is not None:
            with self.head.products():
                return self.head.raw_logits(rows.float())
        return rows if self.shortcuts is None else self.shortcuts.logits(rows)

    def next_sentence_logits(self, ids: Tensor, attention_mask: Tensor | None, segments: Tensor | None) -> Tensor:
        """Logits of the next-sentence head; class 0 is "the second sentence follows"."""
        output = self.next_sentence(input_ids=ids, attention_mask=attention_mask, token_type_ids=segments)
        return output.logits.float()  # type: ignore[no-any-return]

    def _segments(self, segments: Tensor | None) -> dict[str, Tensor]:
        return {"token_type_ids": segments} if self.takes_segments and segments is not None else {}
