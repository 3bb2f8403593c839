"""What every check looks at and why, for readers who have never loaded a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unmask.report.selection import Run

WHY: Mapping[str, str] = {
    "lm-head": "The part of the model that turns its thoughts into words came with the file; where it is "
    "missing, libraries fill it with chance and every score becomes noise.",
    "masked-accuracy": "With a word hidden, does the model guess it? One that cannot does not know the "
    "language of these sentences, and what it prefers means nothing.",
    "unmasked-accuracy": "Shown a whole sentence, does the model find its own words likeliest? Measures that "
    "hide nothing rest on this.",
    "next-token-accuracy": "Does the model guess the next word? One that cannot does not know the language "
    "of these sentences, and what it prefers means nothing.",
    "ties": "Two sentences with exactly the same score are no decision; many of them point to a fault.",
    "unscored": "Pairs that could not be scored are left out of the numbers; many of them would make the "
    "rest unlike the whole.",
    "truncated": "Sentences longer than the model can read are not cut but left out; this counts them.",
    "alignment": "Some measures must know which words two sentences share. Where that depends on which "
    "sentence comes first, the score does too.",
    "length": "Longer sentences are less likely whatever they say. The scores should not hang on pairs "
    "whose sentences differ in length.",
    "near-zero": "Where most differences are tiny, the choices are close to tosses of a coin and a small "
    "change of wording turns them.",
    "unknown-tokens": "Words the model has no symbol for all look alike to it, so it cannot prefer one.",
}


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """One check on one dataset of one model."""

    where: str
    ok: bool
    detail: str


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """One kind of check, why it is made, and what was seen wherever it was made."""

    name: str
    why: str
    outcomes: tuple[CheckOutcome, ...]

    @property
    def ok(self) -> bool:
        """Did it pass everywhere?"""
        return all(outcome.ok for outcome in self.outcomes)


def summarize_checks(runs: Sequence[Run], names: Sequence[str]) -> list[CheckSummary]:
    """The checks of all runs by kind, in the order they were made; failed kinds first."""
    found: dict[str, list[CheckOutcome]] = {}
    for name, run in zip(names, runs, strict=True):
        for check in run.checks:
            data, _, kind = check.name.rpartition("/")
            where = " · ".join(part for part in ((name if len(runs) > 1 else ""), data) if part)
            found.setdefault(kind, []).append(CheckOutcome(where, check.ok, check.detail))
    made = [CheckSummary(kind, WHY.get(kind, ""), tuple(seen)) for kind, seen in found.items()]
    return sorted(made, key=lambda one: one.ok)
