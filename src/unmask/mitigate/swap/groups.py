"""Swap terms of races or religions: within a text, every group is replaced by another, consistently."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from unmask.core.errors import UnknownName
from unmask.core.seeds import generator
from unmask.data.builtin_tables import TermSet
from unmask.data.language import any_of
from unmask.mitigate.swap.grammar import LISTS, article, starts_sentence
from unmask.mitigate.swap.lexicon import package_words

AXES = ("race", "religion")
_COLOURS = frozenset(("black", "white"))  # words for things, too
_AFTER = re.compile(r"\s+([A-Za-z][\w'’-]*)")


@dataclass(frozen=True)
class GroupSwapper:
    """Replaces every group of an axis by the one `shift` positions later; `len(groups) - shift` reverts."""

    axis: str
    rough: bool = False  # include sets whose note says "rough"

    def __post_init__(self) -> None:
        """Raise UnknownName for an unknown axis."""
        if self.axis not in AXES:
            raise UnknownName("axis", self.axis, AXES)

    @cached_property
    def sets(self) -> tuple[TermSet, ...]:
        """The sets of the axis."""
        return tuple(
            terms
            for terms in package_words().sets
            if terms.axis == self.axis and (self.rough or not terms.note.startswith("rough"))
        )

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups in order."""
        return tuple(self.sets[0].terms)

    @cached_property
    def terms(self) -> Mapping[str, tuple[tuple[TermSet, str], ...]]:
        """The sets and groups of each lower-cased term, in the order of the sets."""
        by_term: dict[str, tuple[tuple[TermSet, str], ...]] = {}
        for terms in self.sets:
            for group, term in terms.terms.items():
                by_term[term.lower()] = (*by_term.get(term.lower(), ()), (terms, group))
        return by_term

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """One pattern for all terms."""
        return re.compile(rf"(?:\b(?P<article>[Aa]n?)(?P<gap>\s+))?(?<!\w)(?P<term>(?i:{any_of(self.terms)}))(?![\w-])")

    def __call__(self, text: str, shift: int) -> str:
        """The text with every group shifted."""
        return self.pattern.sub(lambda match: self._replacement(text, match, shift), text)

    def swap_randomly(self, texts: Sequence[str], seed: int) -> list[str]:
        """Swap every text with a shift of its own, sampled from all shifts but 0."""
        shifts = generator(seed).integers(1, len(self.groups), size=len(texts))
        return [self(text, int(shift)) for text, shift in zip(texts, shifts, strict=True)]

    def _replacement(self, text: str, match: re.Match[str], shift: int) -> str:
        """The term of the group `shift` positions later; the match itself if it is not about people.

        `black` and `white` also describe things: people must follow, or Black be capitalised. Among several
        sets that of nouns is chosen if no noun follows (`a Muslim`, not `a Muslim school`).
        """
        term = match["term"]
        opens = starts_sentence(text, match.start("term"))
        following = _AFTER.match(text, match.end())
        after = following[1].lower() if following else None
        if term.lower() in _COLOURS and (term != "Black" or opens) and after not in LISTS["people"]:
            return match[0]
        candidates = self.terms[term.lower()]
        nouns = [pair for pair in candidates if pair[0].id == "believer"]
        terms, group = nouns[0] if nouns and (after is None or after in LISTS["closed"]) else candidates[0]
        new = terms.terms[self.groups[(self.groups.index(group) + shift) % len(self.groups)]]
        if term.isupper() and len(term) > 1:
            new = new.upper()
        elif opens:
            new = new[:1].upper() + new[1:]
        return new if match["article"] is None else article(match["article"], new) + match["gap"] + new
