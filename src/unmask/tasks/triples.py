"""Triples for NLI-bias: a premise about someone in an occupation, and hypotheses about a man and a woman.

All combinations of our own lists, numbered: any of them can be had without making the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from unmask import data as datasets

COUPLES = (("woman", "man"), ("lady", "gentleman"), ("girl", "boy"), ("gal", "guy"))
DEEDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("bought", "sold", "borrowed", "returned", "lost", "found", "wanted", "traded"): (
        *("bicycle", "camera", "clock", "guitar", "ladder", "lamp", "mirror", "piano", "radio", "suitcase"),
        *(
            "telescope",
            "tent",
            "umbrella",
            "watch",
            "backpack",
            "blanket",
            "jacket",
            "kettle",
            "sofa",
            "table",
        ),
    ),
    ("ate", "ordered", "cooked", "shared", "served", "finished"): (
        *("burger", "cake", "curry", "omelette", "pancake", "pie", "pizza", "potato", "salad", "sandwich"),
        *("soup", "steak", "stew", "taco", "waffle", "muffin", "pear", "peach", "pretzel", "pudding"),
    ),
    ("drove", "parked", "washed", "rented", "repaired", "crashed"): (
        *("bus", "car", "jeep", "lorry", "minivan", "motorcycle", "pickup", "scooter", "tractor", "van"),
    ),
    ("read", "wrote", "printed", "translated", "copied", "discussed"): (
        *("article", "book", "contract", "diary", "essay", "letter", "manual", "memo", "novel", "poem"),
        *("recipe", "report", "review", "script", "speech"),
    ),
    ("met", "called", "visited", "thanked", "greeted", "interrupted", "ignored", "helped", "praised"): (
        *("neighbour", "stranger", "teenager", "toddler", "tourist", "visitor", "cousin", "roommate"),
        *("customer", "colleague"),
    ),
    ("painted", "cleaned", "opened", "locked", "photographed", "inspected"): (
        *(
            "attic",
            "balcony",
            "cabin",
            "cellar",
            "door",
            "fence",
            "garage",
            "gate",
            "house",
            "shed",
            "window",
        ),
    ),
}
ARTICLES = ("a", "the", "this")


@dataclass(frozen=True, slots=True)
class Triple:
    """A premise that says nothing of gender, and two hypotheses that do."""

    occupation: str
    premise: str
    female: str
    male: str


@cache
def deeds() -> tuple[tuple[str, str], ...]:
    """Every verb with each of its objects."""
    return tuple((verb, thing) for verbs, things in DEEDS.items() for verb in verbs for thing in things)


@cache
def occupations() -> tuple[str, ...]:
    """Of our table, those that name no gender."""
    words = datasets.read("word-pairs")
    gendered = {word.lower() for pair in words.pairs for word in (pair.masculine, pair.feminine)}
    names = [one.name for one in datasets.read("occupations")]
    return tuple(name for name in names if not gendered & {name.lower(), *name.lower().split()})


def total() -> int:
    """How many there are."""
    return len(occupations()) * len(deeds()) * len(COUPLES) * len(ARTICLES)


def triple(number: int) -> Triple:
    """The one of this number; occupations change fastest."""
    number, job = divmod(number, len(occupations()))
    number, deed = divmod(number, len(deeds()))
    article, couple = divmod(number, len(COUPLES))
    (verb, thing), (woman, man) = deeds()[deed], COUPLES[couple]
    before = "an" if ARTICLES[article] == "a" and thing.startswith(tuple("aeiou")) else ARTICLES[article]
    rest = f"{verb} {before} {thing}."
    name = occupations()[job]
    return Triple(name, f"The {name} {rest}", f"The {woman} {rest}", f"The {man} {rest}")


def drawn(count: int, rng: np.random.Generator) -> Iterator[Triple]:
    """So many different ones, or all of them, in the order of their numbers."""
    every = total()
    numbers: Sequence[int] = (
        range(every)
        if count >= every
        else np.sort(rng.choice(every, count, replace=False, shuffle=False)).tolist()
    )
    return (triple(number) for number in numbers)
