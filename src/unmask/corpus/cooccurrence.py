"""Count in how many sentences a profession occurs together with words of the two sets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from unmask.core.types import Ints
from unmask.corpus.matching import Matches
from unmask.data.sentences import LONGEST, ends_sentence

_AFTER = 24  # bytes of context after a mark
_LINE_END = 10


def count_cooccurrences(
    buffer: bytes, matches: Matches, set_of_form: Ints, profession_of_form: Ints, professions: int
) -> Ints:
    """By profession: sentences with it, and of these those with a word of the first and of the second set.

    `set_of_form` says of every term whether it is in the first set (0), the second (1) or names a profession
    (2); `profession_of_form` says which profession.
    """
    counts = np.zeros((professions, 3), dtype=np.int64)
    if not professions:
        return counts
    sides = set_of_form[matches.terms]
    words = [matches.starts[sides == set_index].tolist() for set_index in (0, 1)]
    raw = np.frombuffer(buffer, np.uint8)
    marks = np.flatnonzero((raw == 46) | (raw == 33) | (raw == 63) | (raw == _LINE_END)).tolist()  # . ! ?
    begin = end = -1
    seen: set[int] = set()
    profession_matches = np.flatnonzero(sides == 2)
    starts, terms = matches.starts[profession_matches].tolist(), matches.terms[profession_matches].tolist()
    for start, term in zip(starts, terms, strict=True):
        if start >= end:
            begin, end = _sentence(buffer, marks, start)
            seen = set()
        profession = int(profession_of_form[term])
        if profession not in seen:
            seen.add(profession)
            counts[profession, 0] += 1
            for set_index in (0, 1):
                counts[profession, 1 + set_index] += bisect_left(words[set_index], begin) < bisect_left(
                    words[set_index], end
                )
    return counts


def _sentence(buffer: bytes, marks: list[int], position: int) -> tuple[int, int]:
    """Begin and end of the sentence around a position."""
    after = bisect_right(marks, position)
    before = after - 1
    while after < len(marks) and not _ends(buffer, marks[after]):
        after += 1
    while before >= 0 and not _ends(buffer, marks[before]):
        before -= 1
    return (marks[before] + 1 if before >= 0 else 0), (marks[after] if after < len(marks) else len(buffer))


def _ends(buffer: bytes, mark: int) -> bool:
    if buffer[mark] == _LINE_END:
        return True
    before = buffer[max(0, mark - LONGEST - 1) : mark].decode("utf-8", errors="ignore")
    after = buffer[mark : mark + _AFTER].decode("utf-8", errors="ignore")
    return ends_sentence(before, after.partition("\n")[0])
