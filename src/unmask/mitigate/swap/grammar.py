"""Letter case, article and sentence start of a replaced word, and the case of pronouns.

`her` becomes him or his, `his` becomes her or hers. The next words mostly decide; where they do not, a
part-of-speech tagger if one is installed, else a masked model by likelihood, else the more frequent form.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

LISTS = {
    name: frozenset(words.split() if isinstance(words, str) else words)
    for name, words in tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8")).items()
}
WINDOW = 200  # characters of context on either side of a pronoun for the tagger or the model
_NEXT = re.compile(r"\s+[\"'“‘(\[*_]*([^\W_][\w'’-]*)|(\s*$)|(\s*[^\w\s]\s*)")
_OF = re.compile(r"(?i)\b(?:an?|some|any|no|that|this|another|every) (?:[\w-]+ ){1,2}of $")
_WORD = re.compile(r"\s+([^\W_][\w'’-]*)")
_VOWEL = re.compile(r"(?i)(?!eu|uni|use|one\b)[aeiou]")
# what precedes the first word of a sentence
SENTENCE_START = re.compile(r"(?:^|[.!?][\"'”’)]*\s+|\n\s*)[\"'“‘(]*$")


def match_case(word: str, model: str, *, opens: bool = False) -> str:
    """The word in the letter case of `model`: lower, Capitalised or UPPER."""
    letters = [letter for letter in model if letter.isalpha()]
    if len(letters) > 1 and all(letter.isupper() for letter in letters):
        return word.upper()
    if model[:1].isupper() or opens:
        return word[:1].upper() + word[1:]
    return word


def article(old: str, word: str) -> str:
    """`a` or `an` as the next word requires, in the letter case of the old article."""
    return match_case("an" if _VOWEL.match(word.lstrip("\"'“‘(")) else "a", old)


def starts_sentence(text: str, position: int) -> bool:
    """Whether a sentence starts at this position."""
    return SENTENCE_START.search(text, max(0, position - 12), position) is not None if position else True


def pronoun_case(after: str, before: str = "") -> tuple[bool, bool]:
    """Whether the pronoun is possessive (a noun follows), and whether the rule is certain.

    Decided by the text after the pronoun, and for `a friend of his` by the text before it.
    """
    following = _NEXT.match(after)
    if following is None or following[1] is None:
        return False, True  # the end, or a punctuation mark
    word = following[1].lower()
    if word == "own" or word[0].isdigit():
        return True, True
    if word in LISTS["between"]:
        return _noun_later(after[following.end() :]), False
    if word in LISTS["closed"]:
        return False, True
    if word.endswith("ly") and word not in LISTS["ly_adjectives"]:
        return _noun_later(after[following.end() :], participle=True), False
    past = word.endswith("ed") and word not in LISTS["ed_adjectives"]
    called = bool(past and _OF.search(before))  # "a friend of his called"
    return not called, called


def _noun_later(rest: str, *, participle: bool = False) -> bool:
    """Whether the word after an adverb could be part of a noun phrase."""
    following = _WORD.match(rest)
    if following is None or following[1].lower() in LISTS["closed"]:
        return False
    return not participle or following[1].lower().endswith(("ed", "en", "ing", "ful", "ous", "al", "ic", "ive"))


@cache
def tagger() -> Callable[[Sequence[str]], list[tuple[str, str]]] | None:
    """NLTK's part-of-speech tagger, if it and its data are installed."""
    try:
        tag: Callable[[Sequence[str]], list[tuple[str, str]]] = import_module("nltk").pos_tag
        tag(["her"])
    except (ImportError, LookupError):
        return None
    return tag


_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")
_BEFORE_NOUNS = ("JJ", "RB", "CD", "VBN", "VBG")  # tags of words between a possessive and its noun


def tagged_possessive(text: str, position: int) -> bool | None:
    """Whether the tagger tags the word as possessive with a noun after it; None without a tagger."""
    if (tag := tagger()) is None:
        return None
    tokens = list(_TOKEN.finditer(text, max(0, position - WINDOW), position + WINDOW))
    tags = tag([token.group() for token in tokens])
    here = next(number for number, token in enumerate(tokens) if token.end() > position)
    noun = next((name for _, name in tags[here + 1 :] if not name.startswith(_BEFORE_NOUNS)), "")
    return tags[here][1] == "PRP$" and noun.startswith("NN")
