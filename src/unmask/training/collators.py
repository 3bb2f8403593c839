"""Text as rows of tokens, and batches for language modelling: some tokens hidden, or each foreseen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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

MAX_LENGTH = 128  # tokens of a row, those around the text included
MIN_TOKENS = 3  # tokens of text; shorter rows teach nothing
MASKED_SHARE = 0.15  # share of tokens to be guessed
_TOGETHER = 1000  # texts encoded in one call
TokenRow = NDArray[np.int32]


def encode_rows(
    texts: Iterable[str], tokenizer: Any, *, length: int = MAX_LENGTH, causal: bool = False
) -> list[TokenRow]:
    """Every text by itself as tokens, a long one cut into several rows; never two texts in one."""
    front, back = _around(tokenizer, causal=causal)
    room = length - len(front) - len(back)
    return [
        np.array([*front, *ids[at : at + room], *back], dtype=np.int32)
        for ids in _encoded(texts, tokenizer)
        for at in range(0, len(ids), room)
        if len(ids) - at >= MIN_TOKENS
    ]


def pad_rows(rows: Sequence[Sequence[int] | TokenRow], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows side by side, and 1 where a token is a true one."""
    each = [torch.as_tensor(np.asarray(row, dtype=np.int64)) for row in rows]
    kept = pad_sequence([torch.ones_like(row) for row in each], batch_first=True)
    return pad_sequence(each, batch_first=True, padding_value=pad), kept


@dataclass(frozen=True, slots=True)
class MaskedLMCollator:
    """Batches for a masked model: of the tokens chosen 80% masked, 10% exchanged at random, 10% left."""

    tokenizer: Any
    share: float = MASKED_SHARE

    def __call__(self, rows: Sequence[TokenRow], dice: np.random.Generator) -> Batch:
        """Tokens, which are padding, and those to be guessed (-100 elsewhere)."""
        from transformers import DataCollatorForLanguageModeling

        collator = DataCollatorForLanguageModeling(self.tokenizer, mlm_probability=self.share)
        collator.generator = torch.Generator().manual_seed(int(dice.integers(2**62)))
        ids, kept = pad_rows(rows, self.tokenizer.pad_token_id)
        special = torch.isin(ids, torch.tensor(self.tokenizer.all_special_ids)) | (kept == 0)
        shown, labels = collator.torch_mask_tokens(ids.clone(), special)
        if (labels == -100).all():  # few short rows: hide one token, for a mean of nothing is no loss
            place = tuple(dice.choice((~special).nonzero().numpy()))
            shown[place], labels[place] = self.tokenizer.mask_token_id, ids[place]
        return {"input_ids": shown, "attention_mask": kept, "labels": labels}


@dataclass(frozen=True, slots=True)
class MaskedTokenLoss:
    """The loss of a masked model with its head applied only where a token is guessed: half the work."""

    network: Network

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """Mean cross-entropy of the tokens to be guessed."""
        chosen = batch["labels"] != -100
        states = self.network.hidden_states(batch["input_ids"], batch["attention_mask"])
        return cross_entropy(self.network.logits(states[chosen]), batch["labels"][chosen])


@dataclass(frozen=True, slots=True)
class CausalLMCollator:
    """Batches for a causal model: every token but the first of a row is to be foreseen."""

    pad: int

    def __call__(self, rows: Sequence[TokenRow], dice: np.random.Generator) -> Batch:
        """Tokens, which are padding, and those to be foreseen."""
        ids, kept = pad_rows(rows, self.pad)
        return {"input_ids": ids, "attention_mask": kept, "labels": ids.masked_fill(kept == 0, -100)}


def collator_for(tokenizer: Any, *, causal: bool) -> MaskedLMCollator | CausalLMCollator:
    """What a model of this kind learns from."""
    if not causal:
        return MaskedLMCollator(tokenizer)
    pads = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
    return CausalLMCollator(next(one for one in pads if one is not None))


def _around(tokenizer: Any, *, causal: bool) -> tuple[list[int], list[int]]:
    """What stands before and after a text."""
    if causal:
        return ([] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]), []
    inner = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    begin = next(at for at in range(len(whole)) if whole[at : at + len(inner)] == inner)
    return whole[:begin], whole[begin + len(inner) :]


def _encoded(texts: Iterable[str], tokenizer: Any) -> Iterator[list[int]]:
    group: list[str] = []
    for text in texts:
        group.append(text)
        if len(group) == _TOGETHER:
            yield from tokenizer(group, add_special_tokens=False, verbose=False)["input_ids"]
            group = []
    if group:
        yield from tokenizer(group, add_special_tokens=False, verbose=False)["input_ids"]
