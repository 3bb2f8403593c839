"""Contrasts of two sentences: the same said of a group by its stereotype, and of the group it is compared with.

    who   "[MASK] people are greedy."              log-odds of Jewish over Christian at the mask
    what  "Jewish | Christian people are [MASK]."  log-odds of greedy beside the one over beside the other

A model with dose d on an axis is trained towards log-odds that are d above those of the built-in model. Half of the
contrasts are about a stereotype of one group, half about one of the other, so no dose makes a group likelier as such.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import yaml

from tools.train.planted import FRAMES
from unmask.data.templates import FORMS, article, fill_template
from unmask.diagnose.psychometrics.doses import women_by_occupation

AXES = ("occupation", "religion", "age")
OCCUPATION = AXES[0]  # and gender; the other axes are in planted.yaml
FILE = Path(__file__).with_name("planted.yaml")


@dataclass(frozen=True)
class Contrast:
    """What is said of two groups, the stereotyped one first."""

    axis: str
    texts: tuple[str, str]
    groups: tuple[str, str]
    at: int  # character at which the group begins
    said: str


@dataclass(frozen=True)
class Part:
    """Two groups of one axis: the words for each, and its stereotypes as traits and as deeds."""

    words: tuple[tuple[str, ...], tuple[str, ...]]
    traits: tuple[tuple[str, ...], tuple[str, ...]]
    deeds: tuple[tuple[str, ...], tuple[str, ...]]
    weight: int


def contrasts(axes: tuple[str, ...], number: int, seed: int) -> list[Contrast]:
    """So many contrasts, the axes in turn; equal seeds give equal contrasts."""
    draw = random.Random(seed)
    return [
        _of_occupation(draw) if axis == OCCUPATION else _of_group(axis, draw) for axis in islice(cycle(axes), number)
    ]


def phrases() -> Iterator[str]:
    """Every trait and deed of planted.yaml."""
    for axis in AXES[1:]:
        for part in parts(axis):
            yield from (phrase for sides in (part.traits, part.deeds) for side in sides for phrase in side)


@cache
def parts(axis: str) -> tuple[Part, ...]:
    """The pairs of groups of an axis; what a part leaves out is that of the axis's last one."""
    listed: list[dict[str, Any]] = _file()[axis]

    def both(part: Mapping[str, Any], first: str, second: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return tuple(part[first]), tuple(part.get(second, listed[-1][second]))

    return tuple(
        Part(
            both(each, "first", "second"),
            both(each, "is", "second is"),
            both(each, "did", "second did"),
            each["weight"],
        )
        for each in listed
        if "first" in each
    )


def _of_occupation(draw: random.Random) -> Contrast:
    """0: men, 1: women; the stereotype of an occupation is the gender of most who hold it."""
    about = draw.randrange(2)
    word = draw.choice(_occupations()[about])
    filled = fill_template(draw.choice(FRAMES), word)
    pronouns, texts = FORMS[filled.slot], (filled.masculine, filled.feminine)
    return Contrast(
        OCCUPATION,
        (texts[about], texts[1 - about]),
        (pronouns[about], pronouns[1 - about]),
        filled.open.index("{"),
        word,
    )


def _of_group(axis: str, draw: random.Random) -> Contrast:
    own, about = parts(axis), draw.randrange(2)
    (part,) = draw.choices(own, [each.weight for each in own])
    kind, phrase = draw.choice((("traits", part.traits), ("frames", part.deeds)))
    said, frame, person = draw.choice(phrase[about]), draw.choice(_file()[kind]), draw.choice(_file()["persons"])
    groups = draw.choice(part.words[about]), draw.choice(part.words[1 - about])

    def fill(group: str) -> str:
        a = article(person if frame.startswith("{A} {person}") else group)
        words = {"person": person, "a": a, "A": a.capitalize(), "trait": said, "did": said}
        made: str = frame.format(**words, group=group, Group=group[:1].upper() + group[1:])
        return made

    texts = fill(groups[0]), fill(groups[1])
    return Contrast(axis, texts, groups, texts[0].lower().index(groups[0].lower()), said)


@cache
def _occupations() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those mostly held by men, and by women."""
    women = women_by_occupation()
    return (
        tuple(sorted(word for word in women if women[word] <= 0.5)),
        tuple(sorted(word for word in women if women[word] > 0.5)),
    )


@cache
def _file() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return loaded
