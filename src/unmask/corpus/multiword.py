"""Terms of several words, or with non-ASCII letters: found by one word, then compared as a whole."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmask.core.types import Ints


class MultiwordTerm(NamedTuple):
    """A term that is more than one run of ASCII letters, and the position of its anchor."""

    term: int
    pattern: re.Pattern[str]
    before: int  # bytes of the term before its anchor
    size: int
    neighbour: tuple[int, int] | None  # a letter of an adjacent word, and its offset from the anchor


def neighbour_letter(raw: bytes, begin: int, end: int) -> tuple[int, int] | None:
    """A letter of the word next to the anchor and its offset, for a quick check; None with apostrophes."""
    if b"'" in raw:
        return None
    if begin >= 2 and raw[begin - 2 : begin - 1].isalnum():
        return raw[begin - 2], -2
    if raw[end + 1 : end + 2].isalnum():
        return raw[end + 1], end + 1 - begin
    return None


def _with_neighbour(buffer: bytes, starts: Ints, neighbour: tuple[int, int] | None) -> list[int]:
    """The starts of an anchor that have the letter next to it."""
    if neighbour is None:
        return list(starts.tolist())
    letter, offset = neighbour
    raw = np.frombuffer(buffer, np.uint8)
    positions = starts + offset
    letters = raw[np.clip(positions, 0, len(raw) - 1)]
    same = (letters == letter) | (letters == ord(chr(letter).upper()))
    return list(starts[same & (positions >= 0) & (positions < len(raw))].tolist())


def find_multiword(
    buffer: bytes,
    starts: Ints,
    anchors: Ints,
    multiwords: Mapping[int, Sequence[MultiwordTerm]],
    capital: NDArray[np.bool_],
) -> list[tuple[int, int, int]]:
    """Multiword terms at the anchors that were found: begin, end and index of each."""
    matches, order = [], np.argsort(anchors, kind="stable")
    for anchor, terms in multiwords.items():
        begin, end = np.searchsorted(anchors[order], (anchor, anchor + 1))
        for multiword in terms:
            for start in _with_neighbour(buffer, starts[order[begin:end]], multiword.neighbour):
                head = decode_fragment(buffer[max(0, start - multiword.before - 8) : start])
                around = head + buffer[start : start + 2 * multiword.size + 16].decode(
                    "utf-8", errors="ignore"
                )
                for match in multiword.pattern.finditer(around):
                    first = start - len(head.encode()) + len(around[: match.start()].encode())
                    last = first + len(match.group().encode())
                    if first <= start < last and (match.group()[:1].isupper() or not capital[multiword.term]):
                        matches.append((first, last, multiword.term))
    return matches


def drop_overlaps(
    starts: Ints, terms: Ints, multiword_matches: Sequence[tuple[int, int, int]]
) -> tuple[Ints, Ints]:
    """Drop single words inside longer terms, and longer terms inside still longer ones."""
    kept: list[tuple[int, int, int]] = []
    for begin, end, term in sorted(set(multiword_matches), key=lambda match: (match[0], -match[1])):
        if not kept or begin >= kept[-1][1]:
            kept.append((begin, end, term))
    if not kept:
        return starts, terms
    begins, ends, numbers = np.array(kept, dtype=np.int64).T
    inside = np.searchsorted(begins, starts, side="right") - 1
    free = (inside < 0) | (starts >= ends[np.maximum(inside, 0)])
    positions, which = np.concatenate([starts[free], begins]), np.concatenate([terms[free], numbers])
    order = np.argsort(positions, kind="stable")
    return positions[order], which[order]


def decode_fragment(fragment: bytes) -> str:
    """Decode bytes cut anywhere, without incomplete characters at the ends."""
    begin = next((index for index, byte in enumerate(fragment) if byte & 0xC0 != 0x80), len(fragment))
    return fragment[begin:].decode("utf-8", errors="ignore" if begin else "replace")
