"""Tokens as a reader would write them: without the tokenizer's own marks of spaces and word parts."""

from __future__ import annotations

import functools
from collections.abc import Sequence

_SPACES = ("Ġ", "▁", " ")  # byte-level BPE, SentencePiece, plain
_PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))


def glyphs(tokens: Sequence[str]) -> list[tuple[str, bool]]:
    """The text of every token of a sentence, and whether it is glued to the one before it."""
    marked = any(token.startswith(_SPACES) for token in tokens)
    byte_level = any(token.startswith("Ġ") for token in tokens)
    return [(_text(token, byte_level), _glued(token, marked)) for token in tokens]


def _glued(token: str, marked: bool) -> bool:
    """Where spaces are marked, what has no mark is glued; WordPiece marks the glued ones instead."""
    return not token.startswith(_SPACES) if marked else token.startswith("##")


def _text(token: str, byte_level: bool) -> str:
    bare = token.removeprefix("##").lstrip("".join(_SPACES))
    return (_from_bytes(bare) if byte_level else bare) or "␣"


def _from_bytes(text: str) -> str:
    """Byte-level BPE writes every byte as one printable character; a cut character shows as �."""
    table = _bytes()
    known = all(character in table for character in text)
    return bytes(table[character] for character in text).decode("utf-8", "replace") if known else text


@functools.cache
def _bytes() -> dict[str, int]:
    others = [byte for byte in range(256) if byte not in _PRINTABLE]
    return {chr(b): b for b in _PRINTABLE} | {chr(256 + i): b for i, b in enumerate(others)}
