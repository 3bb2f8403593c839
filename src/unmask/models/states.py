"""Batches of whole sequences of equal length, never padded, for callers that need full hidden states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import torch

from unmask.models.lm import Lm

TOKENS = 2048  # per forward pass


def batches_by_length(lm: Lm, rows: Sequence[tuple[int, ...]]) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Yield the indices of rows of one length and their token ids on the model's device."""
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
    for length, group in groupby(order, key=lambda index: len(rows[index])):
        indices, step = list(group), max(1, TOKENS // length)
        for begin in range(0, len(indices), step):
            chunk = indices[begin : begin + step]
            yield chunk, torch.tensor([rows[index] for index in chunk], device=lm.network.device)
