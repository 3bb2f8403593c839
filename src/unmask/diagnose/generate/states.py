"""Model outputs that paraphrasing needs beyond probes: predicted words for a slot, and hidden states.

Sentences are run without padding and without the store.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from unmask.core.types import Floats
from unmask.diagnose.generate.targets import Span
from unmask.models import Lm
from unmask.models.fill import top_words
from unmask.models.states import batches_by_length

Filler = tuple[str, float]  # a word and its log-probability
WordInText = tuple[str, Span]  # a text, and the character span of a word in it


@torch.inference_mode()
def last_hidden_states(lm: Lm, rows: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, torch.Tensor]]:
    """Last hidden states of every sentence, with its index; sentences of equal length share a batch."""
    for indices, ids in batches_by_length(lm, rows):
        yield from zip(indices, lm.network.hidden_states(ids), strict=True)


def fillers(lm: Lm, texts: Sequence[str], most: int) -> list[list[Filler]]:
    """For every text with a `{slot}`, the most likely words and their log-probabilities, best first."""
    return [
        [(word.text, math.log(word.probability)) for word in slot.words if word.probability > 0]
        for slot in top_words(lm, texts, most)
    ]


def unit_vectors(lm: Lm, words: Sequence[WordInText]) -> list[Floats]:
    """Mean hidden state over the tokens of each word in its sentence, normalised to length one."""
    spans: dict[str, list[Span]] = {}
    for text, span in words:
        spans.setdefault(text, []).append(span)
    texts, by_word = list(spans), dict[WordInText, Floats]()
    for number, sentence in last_hidden_states(lm, [lm.encode(text).ids for text in texts]):
        for span in spans[texts[number]]:
            positions = lm.token_positions(texts[number], *span)
            vector = sentence[list(positions)].double().mean(0).cpu().numpy()
            by_word[texts[number], span] = vector / np.linalg.norm(vector)
    return [by_word[word] for word in words]
