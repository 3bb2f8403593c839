"""What paraphrasing needs of a network beyond probes: words it would put somewhere, and hidden states.

The engine answers what is asked of it, token by token; here the question is which tokens to ask about.
`states` is the only function that runs the network, without padding and without the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from unmask.diagnose.generate.targets import Span
from unmask.models import Lm
from unmask.models.rows import by_length
from unmask.types import Floats

Filler = tuple[str, float]  # a word and its log-probability
Placed = tuple[str, Span]  # a text, and where in it a word stands


@torch.inference_mode()
def states(lm: Lm, rows: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, torch.Tensor]]:
    """The last hidden states of every sentence, by its number; sentences of one length go together.

    Of the few models whose head cannot be taken apart these are logits: they serve both purposes as well.
    """
    for some, ids in by_length(lm, rows):
        yield from zip(some, lm.network.hidden(ids, None), strict=True)


@torch.inference_mode()
def fillers(lm: Lm, rows: Sequence[tuple[int, ...]], most: int, known: dict[int, str]) -> list[list[Filler]]:
    """For every sentence with one mask, the whole words among the likeliest tokens there, likeliest first.

    `known` remembers which word a token is.
    """
    found: list[list[Filler]] = [[] for _ in rows]
    for number, sentence in states(lm, rows):
        place = rows[number].index(lm.mask_id)
        logprobs = torch.log_softmax(lm.network.logits(sentence[place][None])[0], dim=-1)
        values, tokens = logprobs.topk(min(most, logprobs.numel()))
        for value, token in zip(values.tolist(), tokens.tolist(), strict=True):
            if token not in known:
                known[token] = _whole_word(lm, token)
            if known[token]:
                found[number].append((known[token], value))
    return found


def vectors(lm: Lm, words: Sequence[Placed]) -> list[Floats]:
    """The mean hidden state over the tokens of each word in its sentence, of length one."""
    spans: dict[str, list[Span]] = {}
    for text, span in words:
        spans.setdefault(text, []).append(span)
    texts, found = list(spans), dict[Placed, Floats]()
    for number, sentence in states(lm, [lm.encode(text).ids for text in texts]):
        for span in spans[texts[number]]:
            places = lm.places(texts[number], *span)
            vector = sentence[list(places)].double().mean(0).cpu().numpy()
            found[texts[number], span] = vector / np.linalg.norm(vector)
    return [found[one] for one in words]


def _whole_word(lm: Lm, token: int) -> str:
    """The word a token is behind a space; empty for a part of one, a sign or a number."""
    word = lm.text([token]).strip()
    if not word.isalpha():
        return ""
    return word if lm.pieces(f" {word}") == (token,) else ""
