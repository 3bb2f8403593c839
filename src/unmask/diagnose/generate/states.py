"""What paraphrasing needs of a network beyond probes: words it would put somewhere, and hidden states.

The engine answers what is asked of it, token by token; here the question is which tokens to ask about.
Sentences go through the network without padding and without the store.
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
WordInText = tuple[str, Span]  # a text, and where in it a word stands


@torch.inference_mode()
def last_hidden_states(lm: Lm, rows: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, torch.Tensor]]:
    """The last hidden states of every sentence, by its number; sentences of one length go together.

    Of the few models whose head cannot be taken apart these are logits, which serve as well.
    """
    for indices, ids in batches_by_length(lm, rows):
        yield from zip(indices, lm.network.hidden_states(ids, None), strict=True)


def fillers(lm: Lm, texts: Sequence[str], most: int) -> list[list[Filler]]:
    """For every text with a `{slot}`, the model's likeliest words there, likeliest first."""
    return [
        [(word.text, math.log(word.probability)) for word in slot.words if word.probability > 0]
        for slot in top_words(lm, texts, most)
    ]


def unit_vectors(lm: Lm, words: Sequence[WordInText]) -> list[Floats]:
    """The mean hidden state over the tokens of each word in its sentence, of length one."""
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
