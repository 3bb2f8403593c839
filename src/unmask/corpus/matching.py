"""Find words in bytes, fast: runs of letters are found in whole arrays, and each run is looked up by a key.

A word is a run of letters and digits; letters beyond ASCII belong to it. Upper and lower case are one, except
that a term written with a capital (Miss) is found only with one. Terms of several words, or with letters
beyond ASCII, are looked up by their longest ASCII run and then compared whole; where terms overlap the
longest counts. The reference is `term_pattern` of each term, in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmask.core.errors import DataError
from unmask.core.types import Ints
from unmask.corpus.multiword import (
    MultiwordTerm,
    decode_fragment,
    drop_overlaps,
    find_multiword,
    neighbour_letter,
)
from unmask.corpus.terms import term_pattern

BLOCK = 1 << 17  # bytes looked at together: what is made of them stays in the processor's cache
_STOP, _LINE, _SPACE = 1, 2, 32  # what marks and gaps become
_SLOTS = 1 << 16
_FIRST = 8  # letters of a key
_AROUND = 16  # spaces before and after, so that keys may be read beyond the ends
Bytes = NDArray[np.uint8]
Keys = NDArray[np.uint64]

_CLASSES = bytes(
    code + 32 if 65 <= code <= 90
    else code if 97 <= code <= 122 or 48 <= code <= 57
    else _STOP if code in b".!?"
    else _LINE if code == 10
    else _SPACE
    for code in range(256)
)  # fmt: skip
_MASKS = np.array([(1 << (8 * min(size, 8))) - 1 for size in range(9)], dtype=np.uint64)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_ASCII_RUN = re.compile(rb"[a-z0-9]+")


class Matches(NamedTuple):
    """What stands in some bytes: terms in order of place, marks that may end a sentence, words in all."""

    starts: Ints
    terms: Ints  # numbers of the terms, as given to `Matcher`
    marks: Ints  # places of `.`, `!`, `?` and line ends
    before: Ints  # words before each place asked about
    words: int


class _Anchors(NamedTuple):
    runs: tuple[bytes, ...]  # in order of their keys
    keys: Keys
    sizes: Ints
    simple: Ints  # the term that is just this run, or -1
    seen: NDArray[np.bool_]  # by slot: may a run that is led there be one of these?


@dataclass(frozen=True)
class Matcher:
    """Terms ready to be looked for; equal terms are one. `whitespace_only`: only with white space on both sides."""

    terms: tuple[str, ...]
    whitespace_only: bool = False

    @cached_property
    def _split(self) -> tuple[dict[bytes, int], dict[bytes, list[MultiwordTerm]]]:
        """Terms of one ASCII run by that run; the others by their longest run."""
        simple: dict[bytes, int] = {}
        longer: dict[bytes, list[MultiwordTerm]] = {}
        for number, term in enumerate(self.terms):
            raw = term.lower().encode()
            runs = sorted(_ASCII_RUN.finditer(raw), key=lambda run: -len(run.group()))
            if not runs:
                raise DataError(f"the term {term!r} has no letter or digit of ASCII: it cannot be looked for")
            if len(runs[0].group()) == len(raw):
                known = simple.get(raw)
                if known is None or self.terms[known][:1].isupper():  # `sir` finds what `Sir` would
                    simple[raw] = number
            else:
                found = re.compile(term_pattern(term), re.IGNORECASE)
                one = MultiwordTerm(
                    number, found, runs[0].start(), len(raw), neighbour_letter(raw, *runs[0].span())
                )
                longer.setdefault(runs[0].group(), []).append(one)
        return simple, longer

    @cached_property
    def _anchors(self) -> _Anchors:
        simple, longer = self._split
        runs = list(dict.fromkeys([*simple, *longer]))
        text = b" " * _AROUND + b"".join(run + b" " * _AROUND for run in runs)
        sizes = np.array([len(run) for run in runs], dtype=np.int64)
        starts = _AROUND + np.concatenate([[0], np.cumsum(sizes[:-1] + _AROUND)]).astype(np.int64)
        keys = _keys(np.frombuffer(text, np.uint8), starts, sizes)
        which = np.array([simple.get(run, -1) for run in runs], dtype=np.int64)
        order = np.argsort(keys)
        seen = np.zeros(_SLOTS, dtype=bool)
        seen[_slots(keys)] = True
        return _Anchors(tuple(runs[at] for at in order), keys[order], sizes[order], which[order], seen)

    @cached_property
    def _capital(self) -> NDArray[np.bool_]:
        return np.array([term[:1].isupper() for term in self.terms])

    def find(self, buffer: bytes, asked: Ints) -> Matches:
        """Every term in the buffer, marks, and the number of words before each of the places asked about."""
        none = np.empty(0, np.int64)
        parts: list[tuple[Ints, Ints, Ints, Ints]] = [(none, none, none, none)]
        words = 0
        for begin, end in _blocks(buffer):
            some = asked[slice(*np.searchsorted(asked, (begin, end)))]
            (first, second, third, before), count = self._block(buffer, begin, end, some)
            parts.append((first, second, third, before + words))
            words += count
        places, anchors, marks, before = (np.concatenate([part[at] for part in parts]) for at in range(4))
        rest = np.full(len(asked) - len(before), words, dtype=np.int64)  # at or beyond the end
        return Matches(*self._told(buffer, places, anchors), marks, np.concatenate([before, rest]), words)

    def _block(
        self, buffer: bytes, begin: int, end: int, asked: Ints
    ) -> tuple[tuple[Ints, Ints, Ints, Ints], int]:
        """Of one block: places and numbers of anchors, marks, words before the places asked about, words."""
        known = self._anchors
        padding = b" " * _AROUND
        classes = np.frombuffer(padding + buffer[begin:end].translate(_CLASSES) + padding, np.uint8)
        inside = classes > _SPACE
        edges = np.flatnonzero(inside[1:] != inside[:-1])
        starts = edges[::2] + 1
        sizes = edges[1::2] + 1 - starts
        keys = _keys(classes, starts, sizes)
        hits = np.flatnonzero(known.seen[_slots(keys)])
        chosen = np.minimum(np.searchsorted(known.keys, keys[hits]), len(known.keys) - 1)
        same = (known.keys[chosen] == keys[hits]) & (known.sizes[chosen] == sizes[hits])
        hits, chosen = hits[same], chosen[same]
        shift = begin - _AROUND
        marks = np.flatnonzero(classes < _SPACE) + shift
        before = np.searchsorted(starts, asked - shift)
        return (starts[hits] + shift, chosen, marks, before), len(starts)

    def _told(self, buffer: bytes, places: Ints, anchors: Ints) -> tuple[Ints, Ints]:
        """Terms from anchors: whole words, capitals where asked for, the longest of those that overlap."""
        known, (_, longer) = self._anchors, self._split
        sizes = known.sizes[anchors]
        whole = _whole(buffer, places, sizes)
        whole &= _long_ones_agree(
            buffer, places, sizes, [known.runs[one] for one in anchors[sizes > 8].tolist()]
        )
        terms = known.simple[anchors]
        raw = np.frombuffer(buffer, np.uint8)
        if len(places):
            if self.whitespace_only:
                after = raw[np.minimum(places + sizes, len(raw) - 1)]
                whole &= (raw[np.maximum(places - 1, 0)] <= _SPACE) | (places == 0)
                whole &= (after <= _SPACE) | (places + sizes == len(raw))
            upper = (raw[places] >= 65) & (raw[places] <= 90)
            whole &= (terms >= 0) & (upper | ~self._capital[terms])
        if not longer:
            return places[whole], terms[whole]
        numbers = {known.runs.index(run): found for run, found in longer.items()}
        several = find_multiword(buffer, places, anchors, numbers, self._capital)
        return drop_overlaps(places[whole], terms[whole], several)


def _blocks(buffer: bytes) -> list[tuple[int, int]]:
    """The buffer in pieces that end at a space."""
    cuts, begin = [], 0
    while begin < len(buffer):
        end = buffer.find(b" ", begin + BLOCK)
        end = len(buffer) if end < 0 else end
        cuts.append((begin, end))
        begin = end
    return cuts


def _keys(classes: Bytes, starts: Ints, sizes: Ints) -> Keys:
    """A number for each run: its first eight letters, mixed with the last eight where it is longer."""
    eight = np.ndarray((len(classes) - 7,), "<u8", buffer=classes.data, strides=(1,))
    keys: Keys = eight[starts]
    keys &= _MASKS.take(sizes, mode="clip")
    long = np.flatnonzero(sizes > _FIRST)
    keys[long] ^= eight[starts[long] + sizes[long] - _FIRST] * _MIX
    return keys


def _slots(keys: Keys) -> NDArray[np.uint64]:
    """A slot for each key, far fewer than there are keys."""
    return (keys * _MIX) >> np.uint64(64 - _SLOTS.bit_length() + 1)


def _whole(buffer: bytes, places: Ints, sizes: Ints) -> NDArray[np.bool_]:
    """Is the run a word of its own? Only a letter beyond ASCII beside it can make it part of a longer one."""
    whole = np.ones(len(places), dtype=bool)
    if not len(places):
        return whole
    raw = np.frombuffer(buffer, np.uint8)
    before, after = raw[np.maximum(places - 1, 0)], raw[np.minimum(places + sizes, len(raw) - 1)]
    for at in np.flatnonzero((before >= 128) | (after >= 128)).tolist():
        begin, end = int(places[at]), int(places[at] + sizes[at])
        left = decode_fragment(buffer[max(0, begin - 4) : begin])
        right = decode_fragment(buffer[end : end + 4])
        whole[at] = not (left[-1:].isalnum() or right[:1].isalnum())
    return whole


def _long_ones_agree(buffer: bytes, places: Ints, sizes: Ints, runs: Sequence[bytes]) -> NDArray[np.bool_]:
    """Keys of more than eight letters are mixed: compare the letters themselves."""
    agree = np.ones(len(places), dtype=bool)
    for at, run in zip(np.flatnonzero(sizes > _FIRST).tolist(), runs, strict=True):
        begin = int(places[at])
        agree[at] = buffer[begin : begin + len(run)].lower() == run
    return agree
