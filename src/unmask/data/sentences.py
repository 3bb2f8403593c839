"""Where a sentence ends: one rule, for text and for bytes.

A sentence ends with its line; and at `.`, `!` or `?` (closing quotes and brackets may follow) before white
space, unless a lower-case letter follows, or the full stop belongs to a title, an initial or an abbreviation.
"""

from __future__ import annotations

import re

ABBREVIATIONS = frozenset(
    (
        "mr", "mrs", "ms", "dr", "st", "sr", "jr", "prof", "gen", "col", "maj", "capt", "lt", "sgt", "rev",
        "hon", "gov", "sen", "rep", "messrs", "mme", "mlle", "vs", "vol", "fig", "jan", "feb", "apr", "jul",
        "aug", "sep", "sept", "oct", "nov", "dec", "inc", "ltd", "corp", "dept", "eg", "ie", "etc", "cf",
    )
)  # fmt: skip
CLOSING = "\"')]}\u2019\u201d\u00bb"
LONGEST = max(map(len, ABBREVIATIONS))
_END = re.compile(rf"[.!?][{re.escape(CLOSING)}]*(\s+)")
_LAST_WORD = re.compile(r"[A-Za-z0-9]+$")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order, without the white space between them."""
    return [sentence for line in text.split("\n") for sentence in _of_line(line)]


def _of_line(line: str) -> list[str]:
    sentences, begin = [], 0
    for match in _END.finditer(line):
        if ends_sentence(
            line[max(0, match.start() - LONGEST - 1) : match.start()], line[match.start() : match.end() + 1]
        ):
            sentences.append(line[begin : match.start(1)].strip())
            begin = match.end()
    sentences.append(line[begin:].strip())
    return [sentence for sentence in sentences if sentence]


def ends_sentence(before: str, mark: str) -> bool:
    """Does a sentence end at the mark that `mark` begins with? `before` may be just a few letters."""
    match = _END.match(mark)
    if match is None or mark[match.end() : match.end() + 1].islower():
        return False
    word = _LAST_WORD.search(before)
    if mark[0] != "." or word is None:
        return True
    last = word.group()  # before a full stop: an initial or an abbreviation?
    return not (len(last) == 1 and last.isalpha() and last != "I") and last.lower() not in ABBREVIATIONS
