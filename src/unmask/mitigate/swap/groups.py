"""Exchanging terms of several races or religions: within a text every group becomes another, all alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.core.errors import UnknownName
from unmask.data.word_pairs import TermSet
from unmask.mitigate.swap.lexicon import package_words
from unmask.mitigate.swap.patterns import any_of, article, starts_sentence
from unmask.mitigate.swap.word_lists import CLOSED, PEOPLE

AXES = ("race", "religion")
_COLOURS = frozenset(("black", "white"))  # words for things, too
_AFTER = re.compile(r"\s+([A-Za-z][\w'’-]*)")


@dataclass(frozen=True)
class GroupSwapper:
    """Turns every group of an axis `shift` places on in their order; `groups - shift` turns it back."""

    axis: str
    rough: bool = False  # also sets whose note calls them rough

    def __post_init__(self) -> None:
        """Refuse an axis there is not."""
        if self.axis not in AXES:
            raise UnknownName("axis", self.axis, AXES)

    @cached_property
    def sets(self) -> tuple[TermSet, ...]:
        """The sets of the axis."""
        return tuple(
            one
            for one in package_words().sets
            if one.axis == self.axis and (self.rough or not one.note.startswith("rough"))
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups in their order."""
        return tuple(self.sets[0].terms)

    @cached_property
    def terms(self) -> Mapping[str, tuple[tuple[TermSet, str], ...]]:
        """The sets and groups a term (in small letters) stands for, in the order of the sets."""
        found: dict[str, tuple[tuple[TermSet, str], ...]] = {}
        for one in self.sets:
            for group, term in one.terms.items():
                found[term.lower()] = (*found.get(term.lower(), ()), (one, group))
        return found

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """One pattern for all terms."""
        return re.compile(
            rf"(?:\b(?P<article>[Aa]n?)(?P<gap>\s+))?(?<!\w)(?P<term>(?i:{any_of(self.terms)}))(?![\w-])"
        )

    def __call__(self, text: str, shift: int) -> str:
        """The text with every group turned on."""
        return self.pattern.sub(lambda match: self._turned(text, match, shift), text)

    def swap_randomly(self, texts: Sequence[str], seed: int) -> list[str]:
        """Every text turned by a number of its own, drawn from all but none."""
        shifts = np.random.default_rng(seed).integers(1, len(self.groups), size=len(texts))
        return [self(text, int(shift)) for text, shift in zip(texts, shifts, strict=True)]

    def _turned(self, text: str, match: re.Match[str], shift: int) -> str:
        term = match["term"]
        if not self._of_people(text, match, term):
            return match[0]
        one, group = self._meant(text, match, term)
        new = one.terms[self.groups[(self.groups.index(group) + shift) % len(self.groups)]]
        if term.isupper() and len(term) > 1:
            new = new.upper()
        elif starts_sentence(text, match.start("term")):
            new = new[:1].upper() + new[1:]
        return new if match["article"] is None else article(match["article"], new) + match["gap"] + new

    def _meant(self, text: str, match: re.Match[str], term: str) -> tuple[TermSet, str]:
        """Of several sets the one for a noun where no noun follows: `a Muslim` and `a Muslim school`."""
        found = self.terms[term.lower()]
        noun = [pair for pair in found if pair[0].id == "believer"]
        following = _AFTER.match(text, match.end())
        alone = following is None or following[1].lower() in CLOSED
        return noun[0] if noun and alone else found[0]

    @staticmethod
    def _of_people(text: str, match: re.Match[str], term: str) -> bool:
        """Black and white are said of things, too: a word for people must follow, or Black be a name."""
        if term.lower() not in _COLOURS or (
            term == "Black" and not starts_sentence(text, match.start("term"))
        ):
            return True
        following = _AFTER.match(text, match.end())
        return following is not None and following[1].lower() in PEOPLE
