"""Vectors of texts, and of words in context, from an opened language model."""

from __future__ import annotations

from collections.abc import Sequence

from unmask.core.errors import DataError, ModelError, Unscorable
from unmask.core.types import Encoded, Floats
from unmask.data.language import Span
from unmask.models import Lm
from unmask.models.states import mean_states
from unmask.vectors.spec import Pooling

WordInText = tuple[str, Span]  # a text, and the span of the word of interest


def text_vectors(lm: Lm, texts: Sequence[str], layer: int = -1, pooling: Pooling | None = None) -> Floats:
    """One vector per text, from one layer (0: the embeddings, -1: the last layer).

    `mean` averages the content tokens, `mean-all` all tokens including special ones; `first` is the first
    token ([CLS] of a masked model), `last` the last content token. Default: `first` for masked models and
    `last` for causal ones, as SEAT was published.
    """
    pooling = pooling or ("first" if lm.kind == "masked" else "last")
    if pooling == "first" and lm.kind == "causal":
        raise ModelError(
            f"{lm.facts.id} is causal: its first token does not attend to the text; use pooling last or mean"
        )
    encoded = [_encode(lm, text) for text in texts]
    positions: dict[Pooling, list[tuple[int, ...]]] = {
        "mean": [text.content for text in encoded],
        "mean-all": [tuple(range(len(text.ids))) for text in encoded],
        "first": [(0,) for _ in encoded],
        "last": [text.content[-1:] for text in encoded],
    }
    return mean_states(lm, [text.ids for text in encoded], positions[pooling], layer=layer)


def word_vectors(lm: Lm, words: Sequence[WordInText], layer: int = -1) -> Floats:
    """One vector per word in its text: the mean over its tokens."""
    encoded = [_encode(lm, text) for text, _ in words]
    positions = [word_token_positions(lm, text, span) for text, span in words]
    return mean_states(lm, [text.ids for text in encoded], positions, layer=layer)


def word_token_positions(lm: Lm, text: str, span: Span) -> tuple[int, ...]:
    """The positions of a word's tokens in the encoded text."""
    positions = (positions_by_offsets if lm.tokenizer.is_fast else positions_by_alignment)(lm, text, span)
    if not positions:
        raise ModelError(
            f"{lm.facts.id} has no separate token for {text[slice(*span)]!r} in {text!r}; leave the text out"
        )
    return positions


def positions_by_offsets(lm: Lm, text: str, span: Span) -> tuple[int, ...]:
    """Positions from the character offsets of a fast tokenizer."""
    content = set(_encode(lm, text).content)
    return tuple(position for position in lm.token_positions(text, *span) if position in content)


def positions_by_alignment(lm: Lm, text: str, span: Span) -> tuple[int, ...]:
    """Positions from the tokens of the text up to the word and up to its end; empty if they do not align."""
    encoded = _encode(lm, text)
    whole = tuple(encoded.ids[position] for position in encoded.content)
    begin, end = (lm.pieces(part) if part else () for part in (text[: span[0]].rstrip(), text[: span[1]]))
    if whole[: len(begin)] != begin or whole[: len(end)] != end:
        return ()
    return encoded.content[len(begin) : len(end)]


def _encode(lm: Lm, text: str) -> Encoded:
    try:
        return lm.encode(text)
    except Unscorable as error:
        raise DataError(f"{text[:60]!r} has no vector: {error.reason}; leave it out") from None
