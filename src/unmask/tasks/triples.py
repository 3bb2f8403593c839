"""Triples for NLI-bias: a premise about someone in an occupation, and hypotheses about a man and a woman.

All combinations of built-in lists, numbered, so that any one can be built without the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from unmask import data as datasets

GENDERED_NOUNS = (("woman", "man"), ("lady", "gentleman"), ("girl", "boy"), ("gal", "guy"))
ACTIONS = {  # verbs: their objects
    "bought sold borrowed returned lost found wanted traded": (
        "bicycle camera clock guitar ladder lamp mirror piano radio suitcase "
        "telescope tent umbrella watch backpack blanket jacket kettle sofa table"
    ),
    "ate ordered cooked shared served finished": (
        "burger cake curry omelette pancake pie pizza potato salad sandwich "
        "soup steak stew taco waffle muffin pear peach pretzel pudding"
    ),
    "drove parked washed rented repaired crashed": (
        "bus car jeep lorry minivan motorcycle pickup scooter tractor van"
    ),
    "read wrote printed translated copied discussed": (
        "article book contract diary essay letter manual memo novel poem recipe report review script speech"
    ),
    "met called visited thanked greeted interrupted ignored helped praised": (
        "neighbour stranger teenager toddler tourist visitor cousin roommate customer colleague"
    ),
    "painted cleaned opened locked photographed inspected": (
        "attic balcony cabin cellar door fence garage gate house shed window"
    ),
}
ARTICLES = ("a", "the", "this")


@dataclass(frozen=True, slots=True)
class Triple:
    """A premise without gender, and two hypotheses with one."""

    occupation: str
    premise: str
    female: str
    male: str


@cache
def actions() -> tuple[tuple[str, str], ...]:
    """Every verb with each of its objects."""
    return tuple(
        (verb, thing)
        for verbs, things in ACTIONS.items()
        for verb in verbs.split()
        for thing in things.split()
    )


@cache
def occupations() -> tuple[str, ...]:
    """The occupations of the built-in table whose names carry no gender."""
    words = datasets.read("word-pairs")
    gendered = {word.lower() for pair in words.pairs for word in (pair.masculine, pair.feminine)}
    names = [occupation.name for occupation in datasets.read("occupations")]
    return tuple(name for name in names if not gendered & {name.lower(), *name.lower().split()})


def triple_count() -> int:
    """The number of all triples."""
    return len(occupations()) * len(actions()) * len(GENDERED_NOUNS) * len(ARTICLES)


def triple_at(number: int) -> Triple:
    """The triple with this number; occupations vary fastest."""
    number, occupation_index = divmod(number, len(occupations()))
    number, action_index = divmod(number, len(actions()))
    article, noun = divmod(number, len(GENDERED_NOUNS))
    (verb, thing), (woman, man) = actions()[action_index], GENDERED_NOUNS[noun]
    before = "an" if ARTICLES[article] == "a" and thing.startswith(tuple("aeiou")) else ARTICLES[article]
    rest = f"{verb} {before} {thing}."
    name = occupations()[occupation_index]
    return Triple(name, f"The {name} {rest}", f"The {woman} {rest}", f"The {man} {rest}")


def sample_triples(count: int, rng: np.random.Generator) -> Iterator[Triple]:
    """Sample distinct triples, or yield all if `count` is large enough, in numerical order."""
    total = triple_count()
    numbers: Sequence[int] = (
        range(total)
        if count >= total
        else np.sort(rng.choice(total, count, replace=False, shuffle=False)).tolist()
    )
    return (triple_at(number) for number in numbers)
