"""Texts as rows of token ids, and collators for masked and causal language modelling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from unmask.core.types import Ints
from unmask.models.network import Network

if TYPE_CHECKING:
    from unmask.training.spec import Batch, PredictionCount

MAX_LENGTH = 128  # tokens of a row, special tokens included
MIN_TOKENS = 3  # tokens of text; shorter rows are dropped
MASKED_SHARE = 0.15  # share of tokens selected for masked-LM prediction
GPU_MULTIPLE = 8  # of the padded length of a batch on a GPU, whose kernels are fast for it
PART_ROWS = 4  # at least, of a part of a batch
CPU_PART, GPU_PART = 128, 8192  # positions that a part must save; a GPU computes many at once
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


def pad_rows(
    rows: Sequence[Sequence[int] | TokenRow], pad: int, multiple: int = 1
) -> tuple[torch.Tensor, torch.Tensor]:
    """Padded token ids, their number a multiple of `multiple`, and the attention mask."""
    lengths = np.array([len(row) for row in rows])
    width = -(-int(lengths.max()) // multiple) * multiple
    is_token = np.arange(width) < lengths[:, None]
    ids = np.full(is_token.shape, pad, dtype=np.int64)
    ids[is_token] = np.concatenate([np.asarray(row) for row in rows])
    return torch.from_numpy(ids), torch.from_numpy(is_token.astype(np.int64))


def padding_multiple(model: Any) -> int:
    """What the padded length of a batch is a multiple of, on the device of a model."""
    return GPU_MULTIPLE if next(model.parameters()).device.type == "cuda" else 1


@dataclass(frozen=True, slots=True)
class MaskedLMCollator:
    """Batches for a masked LM: of the selected tokens 80% masked, 10% replaced at random, 10% unchanged."""

    tokenizer: Any
    share: float = MASKED_SHARE
    multiple: int = 1  # of the padded length
    positions: bool = False  # whether to list the predicted positions, for `MaskedTokenLoss`

    def __call__(self, rows: Sequence[TokenRow], rng: np.random.Generator) -> Batch:
        """Input ids, attention mask, and labels (-100 where no token is predicted); asked for, also positions."""
        from transformers import DataCollatorForLanguageModeling

        collator = DataCollatorForLanguageModeling(self.tokenizer, mlm_probability=self.share)
        collator.generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        ids, attention_mask = pad_rows(rows, self.tokenizer.pad_token_id, self.multiple)
        special = torch.isin(ids, torch.tensor(self.tokenizer.all_special_ids)) | (attention_mask == 0)
        inputs, labels = collator.torch_mask_tokens(ids.clone(), special)
        if (labels == -100).all():  # few short rows: mask one token, as the mean loss of none is NaN
            position = tuple(rng.choice((~special).nonzero().numpy()))
            inputs[position], labels[position] = self.tokenizer.mask_token_id, ids[position]
        batch = {"input_ids": inputs, "attention_mask": attention_mask, "labels": labels}
        return batch | {"positions": _predicted_positions(labels)} if self.positions else batch

    def count(self, batch: Batch) -> int:
        """The number of predicted tokens."""
        return int((batch["labels"] != -100).sum())


@dataclass(frozen=True, slots=True)
class MaskedTokenLoss:
    """The masked-LM loss with the head applied only at predicted positions: half the work."""

    network: Network

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """Mean cross-entropy of the predicted tokens."""
        positions = batch["positions"]  # listed beforehand: to find them here the host would wait for the GPU
        states = self.network.run(batch["input_ids"], batch["attention_mask"])
        return cross_entropy(self.network.logits(states.flatten(0, 1)[positions]), batch["labels"].flatten()[positions])


@dataclass(frozen=True, slots=True)
class CausalLMCollator:
    """Batches for a causal LM: the labels are the input ids, -100 at padding."""

    pad: int
    multiple: int = 1  # of the padded length

    def __call__(self, rows: Sequence[TokenRow], rng: np.random.Generator) -> Batch:
        """Input ids, attention mask and labels."""
        ids, attention_mask = pad_rows(rows, self.pad, self.multiple)
        labels = ids.masked_fill(attention_mask == 0, -100)
        return {"input_ids": ids, "attention_mask": attention_mask, "labels": labels}

    def count(self, batch: Batch) -> int:
        """The number of predicted tokens: all but the first of a row."""
        return int((batch["labels"][:, 1:] != -100).sum())


def collator_for(
    tokenizer: Any, *, causal: bool, multiple: int = 1, positions: bool = False
) -> MaskedLMCollator | CausalLMCollator:
    """The language-modelling collator for a kind of model."""
    if not causal:
        return MaskedLMCollator(tokenizer, multiple=multiple, positions=positions)
    candidates = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
    return CausalLMCollator(next(pad for pad in candidates if pad is not None), multiple)


def split_batch(batch: Batch, count: PredictionCount, *, gpu: bool) -> list[tuple[float, Batch]]:
    """A batch as parts of rows of similar length without common padding, with their shares of the predictions.

    A loss that is the mean over predictions is the sum of those of the parts, times the shares. Only padding after
    a text is removed: padding before it counts in the position of a token.
    """
    mask = batch["attention_mask"].numpy()
    multiple, cost = (GPU_MULTIPLE, GPU_PART) if gpu else (1, CPU_PART)
    lengths = mask.shape[1] - (mask[:, ::-1] != 0).argmax(1)
    order = lengths.argsort(kind="stable")
    widths = np.minimum(-(-lengths[order] // multiple) * multiple, mask.shape[1])
    ends = _part_ends(widths.tolist(), cost)
    if len(ends) == 1:
        return [(1.0, batch)]
    parts = [_part(batch, order[begin:end], widths[end - 1]) for begin, end in pairwise((0, *ends))]
    counts = [count(part) for part in parts]
    return [(number / sum(counts), part) for number, part in zip(counts, parts, strict=True) if number]


def _part_ends(widths: Sequence[int], cost: int) -> tuple[int, ...]:
    """Where parts of rows of rising widths end, so that positions and `cost` per part are fewest together."""
    size = max(PART_ROWS, len(widths) // 16)
    best: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, ())}
    for end in [*range(size, len(widths) - size + 1, size), len(widths)]:
        best[end] = min(
            (spent + (end - begin) * widths[end - 1] + cost, (*ends, end)) for begin, (spent, ends) in best.items()
        )
    return best[len(widths)][1]


def _part(batch: Batch, rows: Ints, width: int) -> Batch:
    part = {
        name: values[rows, :width] if values.ndim > 1 else values[rows]
        for name, values in batch.items()
        if name != "positions"
    }
    return part | {"positions": _predicted_positions(part["labels"])} if "positions" in batch else part


def _predicted_positions(labels: Tensor) -> Tensor:
    return (labels.flatten() != -100).nonzero()[:, 0]


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
