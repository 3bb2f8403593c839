"""Terms of several words, or with letters beyond ASCII: found by one of their words, then compared whole."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmask.core.types import Ints


class MultiwordTerm(NamedTuple):
    """A term that is more than one run of ASCII letters, and where in it its anchor stands."""

    term: int
    pattern: re.Pattern[str]
    before: int  # bytes of the term before its anchor
    size: int
    sign: tuple[int, int] | None  # a letter of another of its words, and where it stands from the anchor on


def neighbour_letter(raw: bytes, begin: int, end: int) -> tuple[int, int] | None:
    """Something beside the anchor, one separator away, that is quickly looked for; None with apostrophes."""
    if b"'" in raw:
        return None
    if begin >= 2 and raw[begin - 2 : begin - 1].isalnum():
        return raw[begin - 2], -2
    if raw[end + 1 : end + 2].isalnum():
        return raw[end + 1], end + 1 - begin
    return None


def _signed(buffer: bytes, places: Ints, sign: tuple[int, int] | None) -> list[int]:
    """Of an anchor's places those with the sign beside it."""
    if sign is None:
        return list(places.tolist())
    letter, offset = sign
    raw = np.frombuffer(buffer, np.uint8)
    at = places + offset
    seen = raw[np.clip(at, 0, len(raw) - 1)]
    same = (seen == letter) | (seen == ord(chr(letter).upper()))
    return list(places[same & (at >= 0) & (at < len(raw))].tolist())


def find_multiword(
    buffer: bytes,
    places: Ints,
    anchors: Ints,
    longer: Mapping[int, Sequence[MultiwordTerm]],
    capital: NDArray[np.bool_],
) -> list[tuple[int, int, int]]:
    """Terms of several words whose anchors were found: begin, end and number of each."""
    found, order = [], np.argsort(anchors, kind="stable")
    for anchor, terms in longer.items():
        begin, end = np.searchsorted(anchors[order], (anchor, anchor + 1))
        for one in terms:
            for place in _signed(buffer, places[order[begin:end]], one.sign):
                head = decode_fragment(buffer[max(0, place - one.before - 8) : place])
                around = head + buffer[place : place + 2 * one.size + 16].decode("utf-8", errors="ignore")
                for match in one.pattern.finditer(around):
                    first = place - len(head.encode()) + len(around[: match.start()].encode())
                    last = first + len(match.group().encode())
                    if first <= place < last and (match.group()[:1].isupper() or not capital[one.term]):
                        found.append((first, last, one.term))
    return found


def drop_overlaps(starts: Ints, terms: Ints, several: Sequence[tuple[int, int, int]]) -> tuple[Ints, Ints]:
    """Single words inside longer terms are dropped, as are longer terms inside still longer ones."""
    kept: list[tuple[int, int, int]] = []
    for begin, end, term in sorted(set(several), key=lambda one: (one[0], -one[1])):
        if not kept or begin >= kept[-1][1]:
            kept.append((begin, end, term))
    if not kept:
        return starts, terms
    begins, ends, numbers = np.array(kept, dtype=np.int64).T
    inside = np.searchsorted(begins, starts, side="right") - 1
    free = (inside < 0) | (starts >= ends[np.maximum(inside, 0)])
    places, which = np.concatenate([starts[free], begins]), np.concatenate([terms[free], numbers])
    order = np.argsort(places, kind="stable")
    return places[order], which[order]


def decode_fragment(some: bytes) -> str:
    """Bytes cut anywhere as text, without the halves of characters at the ends."""
    begin = next((at for at, byte in enumerate(some) if byte & 0xC0 != 0x80), len(some))
    return some[begin:].decode("utf-8", errors="ignore" if begin else "replace")
