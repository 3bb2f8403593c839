"""Letter case, article and sentence start of a replaced word, and the case of pronouns.

`her` becomes him or his, `his` becomes her or hers. The next words mostly decide; where they do not, a
part-of-speech tagger if one is installed, else a masked model by likelihood, else the more frequent form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module

# closed lists of English words
_CLOSED = """
    a an the this that these those some any each every both another
    i you he she it we they me him us them myself himself herself themselves who whom which what
    about above across after against along among around as at because before behind below beneath beside
    between beyond but by despite down during except for from if in inside into like near of off on onto out
    outside over past since than through throughout till to toward towards under until unless up upon when
    where whether while with within without and or nor so yet
    am is are was were be been being has have had having do does did can could will would shall should may
    might must
    again ago already also always anyway away back enough even ever here home instead just later maybe never
    not now often once perhaps quite rather really right sometimes soon still then there today together
    tomorrow tonight too twice very well yesterday
"""
_BETWEEN = """
    again already also always even ever just never not now often once perhaps quite rather really right still
    then there too very well back home past like near inside outside
"""
_LY = """
    family only early daily weekly monthly yearly lovely elderly friendly lonely lively ugly silly holy deadly
    costly likely unlikely motherly fatherly sisterly brotherly womanly manly belly bully jelly rally reply
    supply ally assembly butterfly curly orderly stately timely worldly
"""
_ED = "beloved aged wicked sacred naked red bed shed need seed deed breed feed weed speed creed greed hundred"
_PLACES = """
    Tech University River State City Beach County Street Island Islands College Bay Lake Park Square Road
    Avenue Bridge Airport Station Church Cathedral Hospital Hall House Mountain Mountains Valley Creek
"""
_PEOPLE = """
    person people man men woman women boy boys girl girls child children kid kids baby family families student
    students teacher teachers worker workers voter voters officer officers driver drivers patient patients
    neighbor neighbors community communities player players singer singers actor actors actress writer author
    american americans folks guy guys lady ladies gentleman teenager teenagers youth youths parents mother
    mothers father fathers couple couples customer customers
"""
_IDIOMS = """
    man-made|man-of-war|men-of-war|man-hour|man-hours|king-size|king-sized|queen-size|queen-sized
    |mother-of-pearl|mother tongue|mother tongues|mother nature|father christmas|old wives' tale
    |old wives' tales|prince charming|king cobra|king crab|king penguin|daddy longlegs
"""

CLOSED = frozenset(_CLOSED.split())  # words with which no noun phrase begins after a possessive
BETWEEN = frozenset(_BETWEEN.split())  # of those, words that may follow a possessive: "his then wife"
ED_ADJECTIVES = frozenset(_ED.split())  # adjectives, not past-tense verbs
LY_ADJECTIVES = frozenset(_LY.split())  # adjectives and nouns, not adverbs
PLACES = frozenset(_PLACES.split())  # after a name that is also a place name
PEOPLE = frozenset(_PEOPLE.split())  # nouns that make black and white refer to people
# in which a gendered word does not refer to a person
IDIOMS = tuple(idiom.strip() for idiom in _IDIOMS.split("|"))
EXACT_IDIOMS = ("the Lord", "Our Lady", "Oh man", "oh man", "Isle of Man", "Burning Man", "Virgin Mary")

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
    if word in BETWEEN:
        return _noun_later(after[following.end() :]), False
    if word in CLOSED:
        return False, True
    if word.endswith("ly") and word not in LY_ADJECTIVES:
        return _noun_later(after[following.end() :], participle=True), False
    past = word.endswith("ed") and word not in ED_ADJECTIVES
    called = bool(past and _OF.search(before))  # "a friend of his called"
    return not called, called


def _noun_later(rest: str, *, participle: bool = False) -> bool:
    """Whether the word after an adverb could be part of a noun phrase."""
    following = _WORD.match(rest)
    if following is None or following[1].lower() in CLOSED:
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
