"""The distribution over the whole vocabulary at one position of many sequences.

The engine reads the log-probabilities of given tokens; here every token is of interest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from unmask.core.types import Floats
from unmask.models.lm import Lm
from unmask.models.states import batches_by_length


@torch.inference_mode()
def distributions(lm: Lm, slots: Sequence[tuple[tuple[int, ...], int]]) -> Iterator[tuple[int, Floats]]:
    """Yield the index of each slot (token ids, position) and the probabilities there."""
    for chunk, ids in batches_by_length(lm, [ids for ids, _ in slots]):
        states = lm.network.run(ids, None)
        for row, index in enumerate(chunk):
            logits = lm.network.logits(states[row, slots[index][1]][None])[0]
            yield index, logits.double().softmax(-1).cpu().numpy()
