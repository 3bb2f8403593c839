r"""What a word, a sentence, a script and a language are.

A word is letters and digits, and the marks that combine with them, in any language: Python's `\w` has no combining
marks, and would split Hindi and Thai words at their vowel signs, Arabic ones at theirs.

A sentence ends with its line; and at `.`, `!` or `?` (closing quotes and brackets may follow) before white
space, unless a lower-case letter follows, or the full stop belongs to a title, an initial or an abbreviation. It is
one rule, for text and for bytes.

The language of data is what its card states, else what its script allows.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from unmask.core.errors import DataError
from unmask.core.types import Dataset

WORD = r"[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}\u200c\u200d])*"  # a word, as a regular expression of the library `regex`
LETTERS = 2000  # so many decide which script a text is in
ENGLISH, LATIN = "en", "Latin"
Span = tuple[int, int]  # of characters
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


def main_script(texts: Iterable[str]) -> str:
    """The script of most letters: Latin, Hangul, Arabic, Devanagari, Cjk, …; empty if there is no letter."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha())
        if counts.total() >= LETTERS:
            break
    return counts.most_common(1)[0][0].title() if counts else ""


def guess_language(data: Dataset) -> str:
    """The first language on the card; where none is stated English for Latin script, and nothing for another."""
    if data.card.languages:
        return data.card.languages[0]
    return ENGLISH if _script(data) in ("", LATIN) else ""


def language_of(data: Dataset, advice: str) -> str:
    """The same; DataError where nothing is known but another script than Latin."""
    language = guess_language(data)
    if not language:
        raise DataError(f"the language of {data.card.name} is not stated, and its script is {_script(data)}: {advice}")
    return language


def require_english(data: Dataset, what: str) -> None:
    """DataError if the data is in another language than `what` holds for."""
    language = language_of(data, f"{what} is for English")
    if language != ENGLISH and ENGLISH not in data.card.languages:
        raise DataError(f"{what} is for English, and {data.card.name} is in {language}: give English data")


def _script(data: Dataset) -> str:
    return main_script(text for item in data.items for text in (item.more, item.less))


def word_spans(pattern: re.Pattern[str], sentence: str) -> dict[str, list[Span]]:
    """All occurrences in a sentence by word, words as they are written, in the order of the first ones."""
    spans: dict[str, list[Span]] = {}
    for match in pattern.finditer(sentence):
        spans.setdefault(match.group(), []).append(match.span())
    return spans


def word_pattern(words: Iterable[str], *, ignore_case: bool = False, in_compounds: bool = True) -> re.Pattern[str]:
    """Matches the longest of the words as a whole word; unless `in_compounds`, not beside a hyphen."""
    letter = r"\w" if in_compounds else r"[\w-]"
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    return re.compile(f"(?<!{letter})(?:{any_of(words)})(?!{letter})", flags)


def any_of(words: Iterable[str]) -> str:
    """A pattern that matches the longest of the words; shared prefixes are matched once (a trie)."""
    tree: dict[str, dict[str, object]] = {}
    for word in words:
        node = tree
        for letter in word:
            node = node.setdefault(letter, {})  # type: ignore[assignment]
        node[""] = {}
    return _pattern(tree)


def _pattern(node: dict[str, dict[str, object]]) -> str:
    branches = [
        re.escape(letter) + _pattern(rest)  # type: ignore[arg-type]
        for letter, rest in sorted(node.items())
        if letter
    ]
    if not branches:
        return ""
    inner = branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"
    return f"(?:{inner})?" if "" in node else inner
