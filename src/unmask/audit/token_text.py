"""Tokens as readers see them: bytes become characters again, in any script.

Byte-level BPE (GPT-2, Llama 3, Qwen) writes every byte as a printable character, and SentencePiece writes a byte that
is in no token as `<0xEC>`. Latin letters look alike in both; a Korean syllable is three characters that mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

PART = "·"  # a token that is a later part of the character before it
SPACES = ("Ġ", "▁", " ")  # how tokenizers mark a space: byte-level BPE, SentencePiece, plain
_PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
_BYTES = {chr(b): b for b in _PRINTABLE}  # of byte-level BPE, by their characters
_BYTES |= {chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in _PRINTABLE)}
_CHARACTERS = {byte: character for character, byte in _BYTES.items()}
_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_ASCII, _WHITE = 128, 33  # the first byte that is not ASCII, the first that is neither white space nor a control


def readable(tokens: Sequence[str]) -> list[str]:
    """The tokens of a sentence as text; marks of spaces and of joined tokens stay.

    A character of several tokens is shown at the first of them, the others show `·`; a byte that belongs to no
    character shows �.
    """
    if _is_byte_level(tokens):
        parts = [bytes(_BYTES[character] for character in token) for token in tokens]
        return _join_parts(parts, _CHARACTERS)
    if any(_BYTE_TOKEN.fullmatch(token) for token in tokens):
        return _join_parts([_bytes_of(token) for token in tokens], {})
    return list(tokens)


def glyphs(tokens: Sequence[str]) -> list[tuple[str, bool]]:
    """Every token without the tokenizer's markers, and whether it joins the previous one without a space.

    If spaces are marked, a token without the mark is joined; WordPiece marks joined tokens instead.
    """
    texts = readable(tokens)
    marked = any(text.startswith(SPACES) for text in texts) or _is_byte_level(tokens)
    shown = []
    for text in texts:
        joined = not text.startswith(SPACES) if marked else text.startswith("##")
        shown.append((text.removeprefix("##").lstrip("".join(SPACES)) or "␣", joined))
    return shown


def _is_byte_level(tokens: Sequence[str]) -> bool:
    """Whether they are of byte-level BPE: a space is marked so, or their bytes are text beyond ASCII."""
    if not all(character in _BYTES for token in tokens for character in token):
        return False
    if any(token.startswith("Ġ") for token in tokens):
        return True
    content = bytes(_BYTES[character] for token in tokens for character in token)
    try:
        return not content.decode().isascii()
    except UnicodeDecodeError:
        return False


def _bytes_of(token: str) -> bytes:
    found = _BYTE_TOKEN.fullmatch(token)
    return bytes([int(found[1], 16)]) if found else token.encode("utf-8", "replace")


def _join_parts(parts: Sequence[bytes], marks: dict[int, str]) -> list[str]:
    """The text of every token; `marks` are the characters that stand for white space and controls."""
    content, owners = b"".join(parts), [number for number, part in enumerate(parts) for _ in part]
    texts = [""] * len(parts)
    at = 0
    while at < len(content):
        size = _size(content, at)
        character = content[at : at + size].decode("utf-8", "replace")
        texts[owners[at]] += marks.get(content[at], character) if content[at] < _WHITE else character
        at += size
    return [text if text or not part else PART for text, part in zip(texts, parts, strict=True)]


def _size(content: bytes, at: int) -> int:
    """How many bytes the character has that begins here; 1 for a byte that begins none."""
    if content[at] < _ASCII:
        return 1
    for size in (2, 3, 4):
        try:
            content[at : at + size].decode()
        except UnicodeDecodeError:
            continue
        return size
    return 1
