"""The whole distribution over the vocabulary at one place of many sentences.

The engine answers questions about tokens that are named; here the tokens are what is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from unmask.core.types import Floats
from unmask.models.lm import Lm
from unmask.models.states import batches_by_length


@torch.inference_mode()
def distributions(lm: Lm, asked: Sequence[tuple[tuple[int, ...], int]]) -> Iterator[tuple[int, Floats]]:
    """Probabilities at the place named of every sentence, by its number; equal lengths go together."""
    for some, ids in batches_by_length(lm, [ids for ids, _ in asked]):
        states = lm.network.hidden_states(ids, None)
        for row, number in enumerate(some):
            logits = lm.network.logits(states[row, asked[number][1]][None])[0]
            yield number, logits.double().softmax(-1).cpu().numpy()
