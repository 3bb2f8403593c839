"""Vectors of texts, and of words in their sentences, from an opened language model.

Texts of one length go through the network together, so nothing is ever padded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import torch

from unmask.core.errors import DataError, ModelError, Unscorable
from unmask.core.types import Encoded, Floats
from unmask.models import Lm
from unmask.models.states import batches_by_length

Pooling = Literal["mean", "mean-all", "first", "last"]
Span = tuple[int, int]  # of characters
WordInText = tuple[str, Span]  # a text, and where in it the word of interest stands


def text_vectors(lm: Lm, texts: Sequence[str], *, layer: int = -1, pooling: Pooling | None = None) -> Floats:
    """One vector a text, from one layer (0 is what enters the first, -1 what leaves the last).

    `mean` is over the tokens that are text, `mean-all` over special tokens too, `first` the first token
    ([CLS] of a masked model), `last` the last token that is text. Left open: `first` for masked models
    and `last` for causal ones, as SEAT was published.
    """
    chosen = pooling or ("first" if lm.kind == "masked" else "last")
    if chosen == "first" and lm.kind == "causal":
        raise ModelError(
            f"{lm.facts.id} is causal: its first token sees nothing of the text; pool by last or mean"
        )
    encoded = [_encoded(lm, text) for text in texts]
    return _pooled(lm, [one.ids for one in encoded], [_places(one, chosen) for one in encoded], layer)


def word_vectors(lm: Lm, words: Sequence[WordInText], *, layer: int = -1) -> Floats:
    """One vector for each word in its text: the mean over the tokens it is made of."""
    encoded = [_encoded(lm, text) for text, _ in words]
    places = [word_token_positions(lm, text, span) for text, span in words]
    return _pooled(lm, [one.ids for one in encoded], places, layer)


def word_token_positions(lm: Lm, text: str, span: Span) -> tuple[int, ...]:
    """The positions of a word's tokens in the text as the model is fed it."""
    found = (
        positions_by_offsets(lm, text, span)
        if lm.tokenizer.is_fast
        else positions_by_alignment(lm, text, span)
    )
    if not found:
        raise ModelError(
            f"{lm.facts.id} has no token of {text[slice(*span)]!r} alone in {text!r}; leave the text out"
        )
    return found


def positions_by_offsets(lm: Lm, text: str, span: Span) -> tuple[int, ...]:
    """As the tokenizer says where each token stands in the text."""
    content = set(_encoded(lm, text).content)
    return tuple(place for place in lm.token_positions(text, *span) if place in content)


def positions_by_alignment(lm: Lm, text: str, span: Span) -> tuple[int, ...]:
    """Where the text up to the word, and up to its end, begin with the tokens of the whole text."""
    encoded = _encoded(lm, text)
    whole = tuple(encoded.ids[place] for place in encoded.content)
    begin, end = (lm.pieces(part) if part else () for part in (text[: span[0]].rstrip(), text[: span[1]]))
    if whole[: len(begin)] != begin or whole[: len(end)] != end:
        return ()
    return encoded.content[len(begin) : len(end)]


def _encoded(lm: Lm, text: str) -> Encoded:
    try:
        return lm.encode(text)
    except Unscorable as error:
        raise DataError(f"{text[:60]!r} has no vector: {error.reason}; leave it out") from None


def _places(encoded: Encoded, pooling: Pooling) -> tuple[int, ...]:
    match pooling:
        case "mean":
            return encoded.content
        case "mean-all":
            return tuple(range(len(encoded.ids)))
        case "first":
            return (0,)
        case "last":
            return encoded.content[-1:]


def _pooled(lm: Lm, rows: Sequence[tuple[int, ...]], places: Sequence[tuple[int, ...]], layer: int) -> Floats:
    """The mean state over each row's places; equal rows are put through the network once."""
    wanted = list(zip(rows, places, strict=True))
    askers: dict[tuple[int, ...], list[int]] = {}
    for number, row in enumerate(rows):
        askers.setdefault(row, []).append(number)
    found: dict[int, Floats] = {}
    for row, states in _states(lm, list(askers), layer):
        for number in askers[row]:
            found[number] = states[list(wanted[number][1])].double().mean(0).cpu().numpy()
    return np.stack([found[number] for number in range(len(rows))])


@torch.inference_mode()
def _states(
    lm: Lm, rows: Sequence[tuple[int, ...]], layer: int
) -> Iterator[tuple[tuple[int, ...], torch.Tensor]]:
    """One layer's states of every row; rows of one length go together."""
    for some, ids in batches_by_length(lm, rows):
        output = lm.network.model.base_model(input_ids=ids, output_hidden_states=True)
        states = _layer(output.hidden_states, layer, lm)
        yield from zip((rows[number] for number in some), states, strict=True)


def _layer(layers: Sequence[torch.Tensor], layer: int, lm: Lm) -> torch.Tensor:
    if not -len(layers) <= layer < len(layers):
        raise ModelError(
            f"{lm.facts.id} has layers 0 to {len(layers) - 1}, or -{len(layers)} to -1 from the end; "
            f"there is no layer {layer}"
        )
    return layers[layer]
