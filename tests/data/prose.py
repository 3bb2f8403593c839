"""What the tests of our own sentences look at: words, sequences, articles, and what a pair changes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from unmask import data
from unmask.core.types import Pair

OURS = ("nine-axes", "triple-gender", "pronoun-templates", "noun-templates", "paraphrases", "prompt-pairs")
_NO_LETTER = str.maketrans(dict.fromkeys('.,;:!?"()[]{}<>/\\|_*#@+=~`^&%$\t\n\r0123456789', " "))
_SOUND_OF_A_CONSONANT = re.compile(r"(?i)(uni|use|usu|ute|eu|one\b|once\b)")
_SOUND_OF_A_VOWEL = re.compile(r"(?i)(hour|honest|honor|heir|MRI\b)")


def words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return text.lower().translate(_NO_LETTER).split()


def changed_words(pair: Pair) -> list[tuple[str, str]]:
    """The words in which both sentences differ, place by place: (in `more`, in `less`)."""
    places = zip(words(pair.more), words(pair.less), strict=True)
    return [(more, less) for more, less in places if more != less]


def shared_sequences(texts: Iterable[tuple[str, str]], length: int = 6) -> dict[str, set[str]]:
    """Runs of words that stand in texts of different owners, with those owners; texts are (owner, text)."""
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for owner, text in texts:
        found = words(text)
        for start in range(len(found) - length + 1):
            owners[" ".join(found[start : start + length])].add(owner)
    return {run: found for run, found in owners.items() if len(found) > 1}


def wrong_articles(text: str) -> list[str]:
    """Every `a` before a vowel sound and every `an` before another."""
    pairs = re.findall(r"\b([Aa]n?) ([A-Za-z][\w'-]*)", text)
    return [f"{a} {word}" for a, word in pairs if (a.lower() == "an") != _begins_with_a_vowel(word)]


def flaws(text: str) -> list[str]:
    """What keeps a text from being one clean English sentence."""
    found = {
        "no capital": not text.lstrip('"')[:1].isupper(),
        "no end": not re.search(r'[.?!]"?$', text),
        "odd characters": not text.isascii(),
        "stray space": text != " ".join(text.split()),
        "open slot": "{" in text or "}" in text,
        "wrong article": bool(wrong_articles(text)),
    }
    return [flaw for flaw, is_so in found.items() if is_so]


def all_sentences() -> Iterator[tuple[str, str]]:
    """Every sentence we wrote, with what it belongs to."""
    for name in OURS:
        for item in data.load(name).items:
            yield from ((item.id, item.more), (item.id, item.less))
    yield from ((f"reminders/{row:04}", one.sentence) for row, one in enumerate(data.read("reminders")))
    yield from ((one.id, one.text) for one in data.read("prompts"))


def _begins_with_a_vowel(word: str) -> bool:
    if _SOUND_OF_A_CONSONANT.match(word):
        return False
    return word[0].lower() in "aeiou" or bool(_SOUND_OF_A_VOWEL.match(word))
