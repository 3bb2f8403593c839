"""The whole distribution over the vocabulary at one place of many sentences.

The engine answers questions about tokens that are named; here the tokens are what is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import torch

from unmask.models import Lm
from unmask.types import Floats

TOKENS = 2048  # put through the network together


@torch.inference_mode()
def distributions(lm: Lm, asked: Sequence[tuple[tuple[int, ...], int]]) -> Iterator[tuple[int, Floats]]:
    """Probabilities at the place named of every sentence, by its number; equal lengths go together."""
    order = sorted(range(len(asked)), key=lambda number: len(asked[number][0]))
    for length, alike in groupby(order, key=lambda number: len(asked[number][0])):
        numbers, step = list(alike), max(1, TOKENS // length)
        for begin in range(0, len(numbers), step):
            some = numbers[begin : begin + step]
            ids = torch.tensor([asked[number][0] for number in some], device=lm.network.device)
            states = lm.network.hidden(ids, None)
            for row, number in enumerate(some):
                logits = lm.network.logits(states[row, asked[number][1]][None])[0]
                yield number, logits.double().softmax(-1).cpu().numpy()
