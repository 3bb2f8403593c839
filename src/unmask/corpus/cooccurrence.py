"""What stands in one sentence: things of a list, and words of the two sets beside them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from unmask.core.types import Ints
from unmask.corpus.matching import Matches
from unmask.corpus.sentences import LONGEST, ends_sentence

_AFTER = 24  # bytes looked at behind a mark
_LINE_END = 10


def count_cooccurrences(buffer: bytes, found: Matches, side: Ints, thing: Ints, things: int) -> Ints:
    """By thing: sentences it stands in, those with a word of the first set, those with one of the second.

    `side` says of every term whether it is of the first set (0), the second (1) or a name of a thing (2),
    `thing` of which.
    """
    sides = side[found.terms]
    words = [found.starts[sides == one].tolist() for one in (0, 1)]
    marks = found.marks.tolist()
    made = np.zeros((things, 3), dtype=np.int64)
    begin = end = -1
    here: set[int] = set()
    of_things = np.flatnonzero(sides == 2)
    for at, term in zip(found.starts[of_things].tolist(), found.terms[of_things].tolist(), strict=True):
        if at >= end:
            begin, end = _sentence(buffer, marks, at)
            here = set()
        number = int(thing[term])
        if number not in here:
            here.add(number)
            made[number, 0] += 1
            for one in (0, 1):
                made[number, 1 + one] += bisect_left(words[one], begin) < bisect_left(words[one], end)
    return made


def _sentence(buffer: bytes, marks: list[int], at: int) -> tuple[int, int]:
    """Where the sentence around a place begins and ends."""
    after = bisect_right(marks, at)
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
    behind = buffer[mark : mark + _AFTER].decode("utf-8", errors="ignore")
    return ends_sentence(before, behind.partition("\n")[0])
