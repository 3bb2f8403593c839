"""Texts as rows of token ids, and collators for masked and causal language modelling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from unmask.models.network import Network

if TYPE_CHECKING:
    from unmask.training.spec import Batch

MAX_LENGTH = 128  # tokens of a row, special tokens included
MIN_TOKENS = 3  # tokens of text; shorter rows are dropped
MASKED_SHARE = 0.15  # share of tokens selected for masked-LM prediction
_TEXTS_PER_CALL = 1000  # texts encoded in one tokenizer call
TokenRow = NDArray[np.int32]


def encode_rows(
    texts: Iterable[str], tokenizer: Any, *, length: int = MAX_LENGTH, causal: bool = False
) -> list[TokenRow]:
    """Token ids of every text, a long text split into several rows; a row never mixes texts."""
    prefix, suffix = _special_tokens(tokenizer, causal=causal)
    room = length - len(prefix) - len(suffix)
    return [
        np.array([*prefix, *ids[begin : begin + room], *suffix], dtype=np.int32)
        for ids in _encode(texts, tokenizer)
        for begin in range(0, len(ids), room)
        if len(ids) - begin >= MIN_TOKENS
    ]


def pad_rows(rows: Sequence[Sequence[int] | TokenRow], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Padded token ids, and the attention mask."""
    tensors = [torch.as_tensor(np.asarray(row, dtype=np.int64)) for row in rows]
    attention_mask = pad_sequence([torch.ones_like(row) for row in tensors], batch_first=True)
    return pad_sequence(tensors, batch_first=True, padding_value=pad), attention_mask


@dataclass(frozen=True, slots=True)
class MaskedLMCollator:
    """Batches for a masked LM: of the selected tokens 80% masked, 10% replaced at random, 10% unchanged."""

    tokenizer: Any
    share: float = MASKED_SHARE

    def __call__(self, rows: Sequence[TokenRow], rng: np.random.Generator) -> Batch:
        """Input ids, attention mask, and labels (-100 where no token is predicted)."""
        from transformers import DataCollatorForLanguageModeling

        collator = DataCollatorForLanguageModeling(self.tokenizer, mlm_probability=self.share)
        collator.generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        ids, attention_mask = pad_rows(rows, self.tokenizer.pad_token_id)
        special = torch.isin(ids, torch.tensor(self.tokenizer.all_special_ids)) | (attention_mask == 0)
        inputs, labels = collator.torch_mask_tokens(ids.clone(), special)
        if (labels == -100).all():  # few short rows: mask one token, as the mean loss of none is NaN
            position = tuple(rng.choice((~special).nonzero().numpy()))
            inputs[position], labels[position] = self.tokenizer.mask_token_id, ids[position]
        return {"input_ids": inputs, "attention_mask": attention_mask, "labels": labels}


@dataclass(frozen=True, slots=True)
class MaskedTokenLoss:
    """The masked-LM loss with the head applied only at predicted positions: half the work."""

    network: Network

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """Mean cross-entropy of the predicted tokens."""
        predicted = batch["labels"] != -100
        states = self.network.run(batch["input_ids"], batch["attention_mask"])
        return cross_entropy(self.network.logits(states[predicted]), batch["labels"][predicted])


@dataclass(frozen=True, slots=True)
class CausalLMCollator:
    """Batches for a causal LM: the labels are the input ids, -100 at padding."""

    pad: int

    def __call__(self, rows: Sequence[TokenRow], rng: np.random.Generator) -> Batch:
        """Input ids, attention mask and labels."""
        ids, attention_mask = pad_rows(rows, self.pad)
        labels = ids.masked_fill(attention_mask == 0, -100)
        return {"input_ids": ids, "attention_mask": attention_mask, "labels": labels}


def collator_for(tokenizer: Any, *, causal: bool) -> MaskedLMCollator | CausalLMCollator:
    """The language-modelling collator for a kind of model."""
    if not causal:
        return MaskedLMCollator(tokenizer)
    candidates = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
    return CausalLMCollator(next(pad for pad in candidates if pad is not None))


def _special_tokens(tokenizer: Any, *, causal: bool) -> tuple[list[int], list[int]]:
    """The special tokens before and after a text."""
    if causal:
        return ([] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]), []
    inner = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    begin = next(index for index in range(len(whole)) if whole[index : index + len(inner)] == inner)
    return whole[:begin], whole[begin + len(inner) :]


def _encode(texts: Iterable[str], tokenizer: Any) -> Iterator[list[int]]:
    remaining = iter(texts)
    while group := list(islice(remaining, _TEXTS_PER_CALL)):
        yield from tokenizer(group, add_special_tokens=False, verbose=False)["input_ids"]
