"""Model outputs that paraphrasing needs beyond probes: predicted words for a slot, and vectors of words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from unmask.core.types import Floats
from unmask.models import Lm
from unmask.models.fill import top_words
from unmask.models.states import mean_states
from unmask.vectors.contextual import WordInText

Filler = tuple[str, float]  # a word and its log-probability


def fillers(lm: Lm, texts: Sequence[str], most: int) -> list[list[Filler]]:
    """For every text with a `{slot}`, the most likely words and their log-probabilities, best first."""
    return [
        [(word.text, math.log(word.probability)) for word in slot.words if word.probability > 0]
        for slot in top_words(lm, texts, most)
    ]


def unit_vectors(lm: Lm, words: Sequence[WordInText]) -> list[Floats]:
    """Mean hidden state over the tokens of each word in its sentence, normalised to length one."""
    rows = [lm.encode(text).ids for text, _ in words]
    positions = [lm.token_positions(text, *span) for text, span in words]
    return [vector / np.linalg.norm(vector) for vector in mean_states(lm, rows, positions)]
