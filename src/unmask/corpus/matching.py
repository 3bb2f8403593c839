"""Find words in bytes, fast: runs of letters are located with numpy, and each run is looked up by a key.

A word is a run of letters and digits, non-ASCII letters included. Matching ignores case, except that a term
with an initial capital (Miss) matches only with one. Terms of several words, or with non-ASCII letters, are
looked up by their longest ASCII run (the anchor) and then compared as a whole; of overlapping terms the
longest counts. The tests compare with the regular expression `term_pattern` of each term.
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

BLOCK = 1 << 17  # bytes processed together: small enough for the CPU cache
_STOP, _LINE, _SPACE = 1, 2, 32  # classes of sentence marks, line ends and other separators
_SLOTS = 1 << 16
_FIRST = 8  # bytes in a key
_AROUND = 16  # padding, so that keys can be read beyond the ends
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
    """Matches in a buffer: terms in order of position, possible sentence ends, and the number of words."""

    starts: Ints
    terms: Ints  # indices of the terms given to `Matcher`
    marks: Ints  # positions of `.`, `!`, `?` and line ends
    before: Ints  # words before each of the given positions
    words: int


class _Anchors(NamedTuple):
    runs: tuple[bytes, ...]  # in order of their keys
    keys: Keys
    sizes: Ints
    simple: Ints  # the term that is just this run, or -1
    seen: NDArray[np.bool_]  # by hash slot: may a run in this slot be one of these?


@dataclass(frozen=True)
class Matcher:
    """Finds terms in bytes; equal terms count once. `whitespace_only`: only between white space."""

    terms: tuple[str, ...]
    whitespace_only: bool = False

    @cached_property
    def _split(self) -> tuple[dict[bytes, int], dict[bytes, list[MultiwordTerm]]]:
        """Terms that are one ASCII run by that run; the others by their longest run."""
        simple: dict[bytes, int] = {}
        longer: dict[bytes, list[MultiwordTerm]] = {}
        for number, term in enumerate(self.terms):
            raw = term.lower().encode()
            runs = sorted(_ASCII_RUN.finditer(raw), key=lambda run: -len(run.group()))
            if not runs:
                raise DataError(f"the term {term!r} has no letter or digit of ASCII: it cannot be matched")
            if len(runs[0].group()) == len(raw):
                known = simple.get(raw)
                if known is None or self.terms[known][:1].isupper():  # `sir` finds what `Sir` would
                    simple[raw] = number
            else:
                pattern = re.compile(term_pattern(term), re.IGNORECASE)
                multiword = MultiwordTerm(
                    number, pattern, runs[0].start(), len(raw), neighbour_letter(raw, *runs[0].span())
                )
                longer.setdefault(runs[0].group(), []).append(multiword)
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

    def find(self, buffer: bytes, positions: Ints) -> Matches:
        """Every term in the buffer, the marks, and the number of words before each of `positions`."""
        none = np.empty(0, np.int64)
        parts: list[tuple[Ints, Ints, Ints, Ints]] = [(none, none, none, none)]
        words = 0
        for begin, end in _blocks(buffer):
            inside = positions[slice(*np.searchsorted(positions, (begin, end)))]
            (first, second, third, before), count = self._block(buffer, begin, end, inside)
            parts.append((first, second, third, before + words))
            words += count
        starts, anchors, marks, before = (np.concatenate([part[at] for part in parts]) for at in range(4))
        rest = np.full(len(positions) - len(before), words, dtype=np.int64)  # at or beyond the end
        return Matches(*self._terms_at(buffer, starts, anchors), marks, np.concatenate([before, rest]), words)

    def _block(
        self, buffer: bytes, begin: int, end: int, positions: Ints
    ) -> tuple[tuple[Ints, Ints, Ints, Ints], int]:
        """One block: starts and indices of anchors, marks, words before `positions`; and all words."""
        known = self._anchors
        padding = b" " * _AROUND
        classes = np.frombuffer(padding + buffer[begin:end].translate(_CLASSES) + padding, np.uint8)
        inside = classes > _SPACE
        edges = np.flatnonzero(inside[1:] != inside[:-1])
        starts = edges[::2] + 1
        sizes = edges[1::2] + 1 - starts
        keys = _keys(classes, starts, sizes)
        hits = np.flatnonzero(known.seen[_slots(keys)])
        anchors = np.minimum(np.searchsorted(known.keys, keys[hits]), len(known.keys) - 1)
        same = (known.keys[anchors] == keys[hits]) & (known.sizes[anchors] == sizes[hits])
        hits, anchors = hits[same], anchors[same]
        shift = begin - _AROUND
        marks = np.flatnonzero(classes < _SPACE) + shift
        before = np.searchsorted(starts, positions - shift)
        return (starts[hits] + shift, anchors, marks, before), len(starts)

    def _terms_at(self, buffer: bytes, starts: Ints, anchors: Ints) -> tuple[Ints, Ints]:
        """Terms from anchors: whole words, capitals where required, the longest of overlapping ones."""
        known, (_, longer) = self._anchors, self._split
        sizes = known.sizes[anchors]
        whole = _whole(buffer, starts, sizes)
        whole &= _long_runs_agree(
            buffer, starts, sizes, [known.runs[anchor] for anchor in anchors[sizes > 8].tolist()]
        )
        terms = known.simple[anchors]
        raw = np.frombuffer(buffer, np.uint8)
        if len(starts):
            if self.whitespace_only:
                after = raw[np.minimum(starts + sizes, len(raw) - 1)]
                whole &= (raw[np.maximum(starts - 1, 0)] <= _SPACE) | (starts == 0)
                whole &= (after <= _SPACE) | (starts + sizes == len(raw))
            upper = (raw[starts] >= 65) & (raw[starts] <= 90)
            whole &= (terms >= 0) & (upper | ~self._capital[terms])
        if not longer:
            return starts[whole], terms[whole]
        numbers = {known.runs.index(run): multiwords for run, multiwords in longer.items()}
        multiword_matches = find_multiword(buffer, starts, anchors, numbers, self._capital)
        return drop_overlaps(starts[whole], terms[whole], multiword_matches)


def _blocks(buffer: bytes) -> list[tuple[int, int]]:
    """Split the buffer into blocks that end at a space."""
    cuts, begin = [], 0
    while begin < len(buffer):
        end = buffer.find(b" ", begin + BLOCK)
        end = len(buffer) if end < 0 else end
        cuts.append((begin, end))
        begin = end
    return cuts


def _keys(classes: Bytes, starts: Ints, sizes: Ints) -> Keys:
    """A key for each run: its first eight bytes, mixed with the last eight if it is longer."""
    eight = np.ndarray((len(classes) - 7,), "<u8", buffer=classes.data, strides=(1,))
    keys: Keys = eight[starts]
    keys &= _MASKS.take(sizes, mode="clip")
    long = np.flatnonzero(sizes > _FIRST)
    keys[long] ^= eight[starts[long] + sizes[long] - _FIRST] * _MIX
    return keys


def _slots(keys: Keys) -> NDArray[np.uint64]:
    """A hash slot for each key."""
    return (keys * _MIX) >> np.uint64(64 - _SLOTS.bit_length() + 1)


def _whole(buffer: bytes, starts: Ints, sizes: Ints) -> NDArray[np.bool_]:
    """Is each run a whole word? Only an adjacent non-ASCII letter can make it part of a longer word."""
    whole = np.ones(len(starts), dtype=bool)
    if not len(starts):
        return whole
    raw = np.frombuffer(buffer, np.uint8)
    before, after = raw[np.maximum(starts - 1, 0)], raw[np.minimum(starts + sizes, len(raw) - 1)]
    for index in np.flatnonzero((before >= 128) | (after >= 128)).tolist():
        begin, end = int(starts[index]), int(starts[index] + sizes[index])
        left = decode_fragment(buffer[max(0, begin - 4) : begin])
        right = decode_fragment(buffer[end : end + 4])
        whole[index] = not (left[-1:].isalnum() or right[:1].isalnum())
    return whole


def _long_runs_agree(buffer: bytes, starts: Ints, sizes: Ints, runs: Sequence[bytes]) -> NDArray[np.bool_]:
    """Keys of runs longer than eight bytes are hashes: compare the bytes themselves."""
    agree = np.ones(len(starts), dtype=bool)
    for index, run in zip(np.flatnonzero(sizes > _FIRST).tolist(), runs, strict=True):
        begin = int(starts[index])
        agree[index] = buffer[begin : begin + len(run)].lower() == run
    return agree
