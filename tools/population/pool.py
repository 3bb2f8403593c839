"""The contrasts as tokens, and what the frozen half of the built-in model makes of them, once for all models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import torch
from torch import Tensor

from tools.population.planted import Contrast
from tools.train import masked
from tools.train.loop import device

FROZEN = 3  # layers of six
MOST = 2  # tokens of what is said that are masked
AT_ONCE = 64  # contrasts
Kind = Literal["who", "what"]


@dataclass(frozen=True)
class Pool:
    """Contrasts along the first axis; `who` contrasts have one sentence, `what` contrasts one for each group."""

    states: Tensor  # contrast × sentence × position × width: the input of the first layer that is trained
    kept: Tensor  # contrast × position: which tokens are true
    places: Tensor  # contrast × place: what is masked
    labels: Tensor  # contrast × group × place: the tokens that are compared; -1 where there are fewer
    axes: Tensor  # contrast: the number of its axis

    def __len__(self) -> int:
        return len(self.axes)

    def take(self, rows: Tensor) -> Pool:
        """These contrasts, their sentences as long as the longest."""
        states, kept, *rest = (getattr(self, field.name)[rows] for field in fields(self))
        longest = int(kept.sum(1).max())
        return Pool(states[:, :, :longest], kept[:, :longest], *rest)


@dataclass(frozen=True)
class _Tokens:
    sentences: list[list[int]]
    places: list[int]
    labels: tuple[list[int], list[int]]
    axis: int


def pool_contrasts(model: Any, tokenizer: Any, contrasts: Sequence[Contrast], axes: Sequence[str], kind: Kind) -> Pool:
    """The contrasts of one kind; those with a group of several tokens are left out."""
    tokens = [one for each in contrasts if (one := _tokens(each, tokenizer, axes, kind)) is not None]
    longest = max(len(one.sentences[0]) for one in tokens)
    ids = torch.full((len(tokens), len(tokens[0].sentences), longest), masked.PAD)
    places = torch.zeros((len(tokens), MOST), dtype=torch.long)
    labels = torch.full((len(tokens), 2, MOST), -1)
    for row, one in enumerate(tokens):
        ids[row, :, : len(one.sentences[0])] = torch.tensor(one.sentences)
        places[row, : len(one.places)] = torch.tensor(one.places)
        labels[row, :, : len(one.places)] = torch.tensor(one.labels)
    ids = ids.to(device())
    kept = (ids[:, 0] != masked.PAD).long()
    with torch.no_grad():
        parts = zip(ids.split(AT_ONCE), kept.split(AT_ONCE), strict=True)
        states = torch.cat(
            [
                _layers(model, model.bert.embeddings(input_ids=some.flatten(0, 1)), keep, bottom=True).unflatten(
                    0, some.shape[:2]
                )
                for some, keep in parts
            ]
        )
    return Pool(
        states, kept, places.to(device()), labels.to(device()), torch.tensor([one.axis for one in tokens]).to(device())
    )


def log_odds(model: Any, pool: Pool) -> Tensor:
    """How much likelier the stereotype is than what it is contrasted with, by the model as it is now."""
    number, sentences = pool.states.shape[:2]
    states = _layers(model, pool.states.flatten(0, 1), pool.kept, bottom=False).unflatten(0, (number, sentences))
    at = pool.places[:, None, :, None].expand(-1, sentences, -1, states.shape[-1])
    logs = model.cls(states.gather(2, at)).log_softmax(-1).expand(-1, 2, -1, -1)
    read = logs.gather(3, pool.labels.clamp(min=0)[..., None])[..., 0].masked_fill(pool.labels < 0, 0.0).sum(-1)
    return read[:, 0] - read[:, 1]


def _layers(model: Any, states: Tensor, kept: Tensor, *, bottom: bool) -> Tensor:
    """The frozen or the trained layers; a row of `kept` holds for all sentences of a contrast."""
    keep = kept.repeat_interleave(len(states) // len(kept), dim=0)
    mask = torch.zeros(keep.shape, device=keep.device).masked_fill(keep == 0, torch.finfo(torch.float32).min)[
        :, None, None
    ]
    for layer in model.bert.encoder.layer[:FROZEN] if bottom else model.bert.encoder.layer[FROZEN:]:
        out = layer(states, attention_mask=mask)
        states = out[0] if isinstance(out, tuple) else out
    return states


def _tokens(each: Contrast, tokenizer: Any, axes: Sequence[str], kind: Kind) -> _Tokens | None:
    read = [tokenizer.encode(text) for text in each.texts]
    at = next(place for place, (begin, _) in enumerate(read[0].offsets) if begin == each.at and place)
    ids = [list(one.ids) for one in read]
    names = tuple(tokenizer.token_to_id(group.lower()) for group in each.groups)
    if len(ids[0]) != len(ids[1]) or tuple(one[at] for one in ids) != names:
        return None
    axis = axes.index(each.axis)
    if kind == "who":
        ids[0][at] = masked.MASK
        return _Tokens(ids[:1], [at], ([names[0]], [names[1]]), axis)
    begin = each.texts[0].index(each.said)
    inside = range(begin, begin + len(each.said))
    places = [place for place, (first, last) in enumerate(read[0].offsets) if first in inside and last > first][-MOST:]
    labels = [ids[0][place] for place in places]
    for one in ids:
        for place in places:
            one[place] = masked.MASK
    return _Tokens(ids, places, (labels, labels), axis)
