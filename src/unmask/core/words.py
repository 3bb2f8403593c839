r"""What a word and a script are, in any language: letters and digits, and the marks that combine with them.

Python's `\w` has no combining marks, and would split Hindi and Thai words at their vowel signs, Arabic ones at theirs.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator

LETTERS = 2000  # so many decide which script a text is in
_BLOCKS = ((0x0300, 0x3100), (0xA670, 0xAC00), (0xFB1E, 0xFE30))  # where combining marks are
_JOINERS = "\u200c\u200d"  # inside words of Persian, Hindi and others


def _mark_ranges() -> Iterator[str]:
    """The ranges of combining marks, for a regular expression."""
    begin = None
    for first, last in _BLOCKS:
        for code in range(first, last + 1):
            is_mark = code < last and unicodedata.category(chr(code)).startswith("M")
            if is_mark and begin is None:
                begin = code
            elif not is_mark and begin is not None:
                yield f"{chr(begin)}-{chr(code - 1)}"
                begin = None


WORD = rf"[^\W_](?:[^\W_]|[{''.join(_mark_ranges())}{_JOINERS}])*"  # a word, as a regular expression


def main_script(texts: Iterable[str]) -> str:
    """The script of most letters: Latin, Hangul, Arabic, Devanagari, Cjk, …; empty if there is no letter."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha())
        if counts.total() >= LETTERS:
            break
    return counts.most_common(1)[0][0].title() if counts else ""
