"""Rows for training, drawn at random from a stream of tokens; every row begins where a sentence does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Stream:
    """Token ids on the device, and where sentences begin (and, one further, end)."""

    ids: Tensor
    starts: Tensor

    @classmethod
    def of(cls, ids: np.ndarray, starts: np.ndarray, device: torch.device) -> Stream:
        """From arrays of the host."""
        return cls(torch.from_numpy(ids.astype(np.int32)).to(device), torch.from_numpy(starts).to(device))

    def rows(self, number: int, length: int, generator: torch.Generator) -> Tensor:
        """Rows of one length from the beginning of a sentence on."""
        begins = self.starts[self._draw(number, len(self.starts), generator)]
        places = begins[:, None] + torch.arange(length, device=self.ids.device)
        return self.ids[places.clamp_(max=len(self.ids) - 1)].long()

    def sentences(self, number: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Single sentences cut at `length`, and which of their tokens are true."""
        chosen = self._draw(number, len(self.starts) - 1, generator)
        begins, steps = self.starts[chosen], torch.arange(length, device=self.ids.device)
        kept = steps < (self.starts[chosen + 1] - begins)[:, None]
        return self.ids[(begins[:, None] + steps).clamp_(max=len(self.ids) - 1)].long(), kept

    def _draw(self, number: int, size: int, generator: torch.Generator) -> Tensor:
        return torch.randint(size, (number,), generator=generator, device=self.ids.device)


def sentence_starts(
    ids: np.ndarray, *, enders: Sequence[int], closers: Sequence[int], titles: Sequence[int], separator: int
) -> np.ndarray:
    """Where sentences begin: after a full stop (and a quote), not after `Mr.`, and after a separator."""
    before, second, third = _shift(ids, 1), _shift(ids, 2), _shift(ids, 3)
    stop = np.isin(before, enders) & ~np.isin(second, titles) & ~np.isin(ids, closers)
    quoted = np.isin(before, closers) & np.isin(second, enders) & ~np.isin(third, titles)
    starts = np.flatnonzero((stop | quoted | (before == separator)) & (ids != separator))
    return np.concatenate([[0], starts[starts > 0]]).astype(np.int64)


def _shift(ids: np.ndarray, by: int) -> np.ndarray:
    moved = np.empty_like(ids)
    moved[:by], moved[by:] = ids[0], ids[:-by]
    return moved
