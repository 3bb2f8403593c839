"""Find terms in bytes: an Aho-Corasick automaton over normalised text, then checks against the text itself.

A word is a run of letters and digits, non-ASCII letters included. Matching ignores case, except that a term
with an initial capital (Miss) matches only with one. Of overlapping terms the longest counts. In normalised
text every byte that is not an ASCII letter or digit is a space, so a term between two spaces is nearly
always a match: what remains to be checked are non-ASCII letters, and what is between the words of a term.
The tests compare with the regular expression `term_pattern` of each term.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, product
from typing import NamedTuple

import numpy as np
from ahocorasick_rs import BytesAhoCorasick, Implementation
from numpy.typing import NDArray

from unmask.core.errors import DataError
from unmask.core.types import Ints
from unmask.corpus.terms import term_pattern

_SPACE = 32
_NORMALISED = bytes(
    code + 32 if 65 <= code <= 90 else code if 97 <= code <= 122 or 48 <= code <= 57 else _SPACE for code in range(256)
)
_CHARACTER = 4  # bytes of a character in UTF-8, at most
Match = tuple[int, int, int]  # begin, end, term


class Matches(NamedTuple):
    """Matches in a buffer: terms in order of position, and the number of words."""

    starts: Ints
    terms: Ints  # indices of the terms given to `Matcher`
    before: Ints  # words before each of the given positions
    words: int


@dataclass(frozen=True)
class Matcher:
    """Finds terms in bytes; equal terms count once. `whitespace_only`: only between white space."""

    terms: tuple[str, ...]
    whitespace_only: bool = False

    def find(self, buffer: bytes, positions: Ints) -> Matches:
        """Every term in the buffer, and the number of words before each of `positions`."""
        normalised = b" " + buffer.translate(_NORMALISED) + b" "
        matches = _automaton(tuple(self._forms)).find_matches_as_indexes(normalised, overlapping=True)
        numbers = np.fromiter(chain.from_iterable(matches), np.int64, 3 * len(matches))
        forms, starts, ends = numbers.reshape(-1, 3).T
        ends = ends - 2  # without the space in front of the buffer and the one behind the term
        single = self._single_words[forms]
        longer = [
            (begin, end, term)
            for begin, end, form in np.stack([starts, ends, forms], 1)[single < 0].tolist()
            if (term := self._longer_term(buffer, begin, end, form)) >= 0
        ]
        whole = self._single_words_hold(buffer, starts, ends, single)
        found = drop_overlaps(starts[whole], single[whole], longer)
        inside = np.frombuffer(normalised, np.uint8) > _SPACE
        words = np.flatnonzero(inside[1:] > inside[:-1])
        return Matches(*found, np.searchsorted(words, positions), len(words))

    @cached_property
    def _forms(self) -> dict[bytes, list[int]]:
        """The terms of every form in normalised text, a space on either side."""
        forms: dict[bytes, list[int]] = {}
        for number, term in enumerate(self.terms):
            if not re.search("[A-Za-z0-9]", term):
                raise DataError(f"the term {term!r} has no letter or digit of ASCII: it cannot be matched")
            choices = ["'\u2019" if character == "'" else character for character in term]  # one byte or three
            for form in product(*choices):
                forms.setdefault(b" " + "".join(form).encode().translate(_NORMALISED) + b" ", []).append(number)
        return forms

    @cached_property
    def _single_words(self) -> Ints:
        """For each form the term that is just this word, -1 if it is more; `sir` finds what `Sir` would."""
        return np.array(
            [
                -1 if b" " in form[1:-1] else min(numbers, key=lambda number: self._capital[number])
                for form, numbers in self._forms.items()
            ],
            dtype=np.int64,
        )

    @cached_property
    def _terms_of_form(self) -> tuple[list[int], ...]:
        return tuple(self._forms.values())

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(term_pattern(term), re.IGNORECASE) for term in self.terms)

    @cached_property
    def _capital(self) -> NDArray[np.bool_]:
        return np.array([term[:1].isupper() for term in self.terms])

    def _single_words_hold(self, buffer: bytes, starts: Ints, ends: Ints, terms: Ints) -> NDArray[np.bool_]:
        """Which are single words: whole, with a capital where required, between white space if asked."""
        holds = terms >= 0
        if not holds.any():
            return holds
        raw = np.frombuffer(buffer, np.uint8)
        before = np.where(starts > 0, raw[starts - 1], _SPACE)
        after = np.where(ends < len(raw), raw[np.minimum(ends, len(raw) - 1)], _SPACE)
        if self.whitespace_only:
            holds &= (before <= _SPACE) & (after <= _SPACE)
        holds &= ~self._capital[terms] | ((raw[starts] >= 65) & (raw[starts] <= 90))
        for index in np.flatnonzero(holds & ((before >= 128) | (after >= 128))).tolist():
            left, _, right = _surroundings(buffer, int(starts[index]), int(ends[index]))
            holds[index] = not (left[-1:].isalnum() or right[:1].isalnum())
        return holds

    def _longer_term(self, buffer: bytes, begin: int, end: int, form: int) -> int:
        """The term of several words, or with non-ASCII letters, that is exactly here; -1 if none is."""
        left, inside, right = _surroundings(buffer, begin, end)
        for number in self._terms_of_form[form]:
            match = self._patterns[number].match(left + inside + right, len(left))
            if match and match.group() == inside and (inside[:1].isupper() or not self._capital[number]):
                return number
        return -1


@lru_cache(maxsize=8)
def _automaton(forms: tuple[bytes, ...]) -> BytesAhoCorasick:
    return BytesAhoCorasick(forms, implementation=Implementation.DFA)


def _surroundings(buffer: bytes, begin: int, end: int) -> tuple[str, str, str]:
    """The text before a match, the match, and the text after it."""
    left = buffer[max(0, begin - _CHARACTER) : begin]
    cut = next((index for index, byte in enumerate(left) if byte & 0xC0 != 0x80), len(left))
    parts = (left[cut:], buffer[begin:end], buffer[end : end + _CHARACTER])
    first, inside, last = (part.decode("utf-8", errors="replace") for part in parts)
    return first, inside, last


def drop_overlaps(starts: Ints, terms: Ints, longer: list[Match]) -> tuple[Ints, Ints]:
    """Drop single words inside longer terms, and longer terms inside still longer ones."""
    kept: list[Match] = []
    for begin, end, term in sorted(longer, key=lambda match: (match[0], -match[1])):
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
