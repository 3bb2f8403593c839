"""Tokens as plain text: without the tokenizer's markers of spaces and word pieces."""

from __future__ import annotations

import functools
from collections.abc import Sequence

_SPACES = ("Ġ", "▁", " ")  # byte-level BPE, SentencePiece, plain
_PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))


def glyphs(tokens: Sequence[str]) -> list[tuple[str, bool]]:
    """The text of every token, and whether it joins the previous one without a space."""
    marked = any(token.startswith(_SPACES) for token in tokens)
    byte_level = any(token.startswith("Ġ") for token in tokens)
    return [(_text(token, byte_level), _glued(token, marked)) for token in tokens]


def _glued(token: str, marked: bool) -> bool:
    """If spaces are marked, a token without the mark is joined; WordPiece marks joined tokens instead."""
    return not token.startswith(_SPACES) if marked else token.startswith("##")


def _text(token: str, byte_level: bool) -> str:
    bare = token.removeprefix("##").lstrip("".join(_SPACES))
    return (_from_bytes(bare) if byte_level else bare) or "␣"


def _from_bytes(text: str) -> str:
    """Byte-level BPE maps every byte to a printable character; an incomplete character is shown as �."""
    table = _bytes()
    known = all(character in table for character in text)
    return bytes(table[character] for character in text).decode("utf-8", "replace") if known else text


@functools.cache
def _bytes() -> dict[str, int]:
    others = [byte for byte in range(256) if byte not in _PRINTABLE]
    return {chr(b): b for b in _PRINTABLE} | {chr(256 + i): b for i, b in enumerate(others)}
