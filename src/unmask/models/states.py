"""Whole sentences through the network where named tokens are not the question: by length, never padded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import torch

from unmask.models.lm import Lm

TOKENS = 2048  # put through the network together


def batches_by_length(lm: Lm, rows: Sequence[tuple[int, ...]]) -> Iterator[tuple[list[int], torch.Tensor]]:
    """Numbers of sentences of one length, and their tokens on the model's device, some at a time."""
    order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
    for length, alike in groupby(order, key=lambda number: len(rows[number])):
        numbers, step = list(alike), max(1, TOKENS // length)
        for begin in range(0, len(numbers), step):
            some = numbers[begin : begin + step]
            yield some, torch.tensor([rows[number] for number in some], device=lm.network.device)
