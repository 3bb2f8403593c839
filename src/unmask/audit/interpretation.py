"""What the estimates of an audit say, with what failed checks, baselines and their companions make of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from unmask.core.estimate import Estimate
from unmask.core.statistic import LEVEL, OF_WORDS, Place, Statistic, statistic
from unmask.core.types import Published
from unmask.findings import sentences
from unmask.findings.envelope import Result
from unmask.findings.numbers import number

if TYPE_CHECKING:
    from unmask.audit.result import AuditResult

Doubt = Literal["", "doubtful", "invalid"]  # of numbers by what failed: a check, or one of these
INVALIDATING = ("accuracy", "lm-head", "contract", "finite-outputs")
STARS = ((0.001, "***"), (0.01, "**"), (LEVEL, "*"))  # of p after Holm's correction


@dataclass(frozen=True, slots=True)
class Interpretation:
    """An estimate of an audit as a reader should take it."""

    estimate: Estimate
    facts: Statistic
    title: str  # of the dataset, with how much of it was scored
    value: str
    interval: str  # or `none`
    place: Place
    doubt: Doubt
    baseline: bool  # it reads no word of the sentences
    sides: tuple[str, str]  # of templates
    plain: Estimate | None  # the score over all pairs, as published, beside one that counts both directions alike
    of_words: Estimate | None  # how far single words lean, whatever their direction
    stars: str  # none for a baseline, or if a failed check forbids to interpret the number
    text: str  # what it says in plain words
    short: str  # the same in a table

    @property
    def dagger(self) -> str:
        """A mark of numbers of which a check failed."""
        return " †" if self.doubt else ""

    @property
    def statement(self) -> str:
        """The same in one sentence with its numbers, without full stop."""
        beside = {"sides": self.sides, "of_words": self.of_words, "baseline": self.baseline}
        return sentences.statement(self.title, self.estimate, **beside)  # type: ignore[arg-type]


def interpret(result: AuditResult, estimate: Estimate) -> Interpretation:
    """What an estimate of a result says, and what stands beside it."""
    facts, baseline = statistic(estimate.statistic), result.is_baseline(estimate.measure)
    doubt, place = doubt_of(result, estimate.data, estimate.measure), sentences.verdict(estimate)
    sides, of_words = slot_sides(result, estimate.data), size_of_words(result, estimate)
    text, short = (sentences.lean(estimate, sides, short=short) for short in (False, True))
    if sentences.cancels(estimate, of_words):
        text, short = sentences.CANCEL, "words cancel"
    if baseline:
        text, short = sentences.BASELINE, "baseline"
    elif doubt == "doubtful":
        text = f"{text} ({sentences.WEAK})"
    if doubt == "invalid":
        text, short = sentences.FAILED, "CHECK FAILED"
    starred = estimate.group != "all" or place in ("above", "below")
    p = 1.0 if estimate.p_holm is None or not starred or baseline or doubt == "invalid" else estimate.p_holm
    return Interpretation(
        estimate,
        facts,
        title=data_title(result, estimate.data),
        value=number(estimate.value, facts.digits),
        interval=interval(estimate, facts.digits),
        place=place,
        doubt=doubt,
        baseline=baseline,
        sides=sides,
        plain=all_pairs(result, estimate),
        of_words=of_words,
        stars=next((mark for most, mark in STARS if p < most), ""),
        text=text,
        short=f"{short} †" if doubt == "doubtful" else short,
    )


def interval(estimate: Estimate, digits: int) -> str:
    """`58.0 to 62.9`, or `none`."""
    return f"{number(estimate.low, digits)} to {number(estimate.high, digits)}" if estimate.has_interval else "none"


def doubt_of(result: Result, data: str, measure: str | None = None) -> Doubt:
    """What failed checks make of the numbers of a dataset; `measure`: only of its numbers."""
    failed = [check for check in result.checks if not check.ok]
    concerned = [check for check in failed if measure is None or not check.measures or measure in check.measures]
    names = [check.name for check in concerned if check.name.rpartition("/")[0] in ("", data)]
    return "invalid" if any(map(_invalidates, names)) else "doubtful" if names else ""


def _invalidates(check: str) -> bool:
    """Whether numbers must not be read if it fails: the model does not know the language, or is not what was asked."""
    return any(part in check for part in INVALIDATING)


def checks_warning(*results: Result) -> str:
    """How many checks failed, and what not to do with the numbers; empty if none failed."""
    checks = [check for result in results for check in result.checks]
    failed = [check.name for check in checks if not check.ok]
    if not failed:
        return ""
    them = "it" if len(failed) == 1 else "them"
    invalid = any(map(_invalidates, failed))
    rule = "do not interpret these numbers" if invalid else f"do not quote these numbers without {them}"
    return f"{len(failed)} of {len(checks)} checks failed: {rule}"


def size_of_words(result: Result, estimate: Estimate) -> Estimate | None:
    """The mean absolute lean of a word, of the same measure and data; None if the result has none."""
    wanted = (estimate.measure, estimate.data, f"{OF_WORDS}{estimate.statistic}")
    return next((e for e in result.estimates if (e.measure, e.data, e.statistic) == wanted), None)


def all_pairs(result: Result, estimate: Estimate) -> Estimate | None:
    """The bias score over all pairs, as published, beside one that counts both directions alike; else None."""
    if estimate.statistic != "balanced-bias-score":
        return None
    wanted = (estimate.measure, estimate.data, estimate.group, "bias-score")
    return next((e for e in result.estimates if e.key == wanted and e.model == estimate.model), None)


def with_companions(result: Result, estimates: Iterable[Estimate]) -> list[Estimate]:
    """The estimates, each followed by what is read beside it: the score over all pairs, the size of words' leans."""
    beside = (all_pairs, size_of_words)
    return [each for e in estimates for each in (e, *(find(result, e) for find in beside)) if each is not None]


def published_scores(result: AuditResult, estimate: Estimate) -> list[Published]:
    """The scores of known models that papers print for the same data and measure, each model once, lowest first."""
    first: dict[str, Published] = {}
    for score in result.measure(estimate.measure).published if estimate.statistic == "bias-score" else ():
        if score.data == estimate.data:
            first.setdefault(score.model, score)
    return sorted(first.values(), key=lambda score: score.value)


def count_tested(result: Result, data: str) -> int:
    """The number of headlines of a dataset that are tested together."""
    return sum(head.data == data and head.p_holm is not None for head in result.headlines())


def data_card(result: Result, data: str) -> Mapping[str, Any]:
    """What a result records about a dataset; empty if it has no such data."""
    return next((card for card in result.meta["data"] if card["name"] == data), {})


def data_title(result: Result, data: str) -> str:
    """The title of a dataset, and that it is a subset."""
    card = data_card(result, data)
    return str(card.get("title") or data) + (f" ({count_items(card)})" if "subset_of" in card else "")


def count_items(card: Mapping[str, Any]) -> str:
    """`360 items`, or `60 of 360 items, a subset`; empty if unknown."""
    if not isinstance(n := card.get("n"), int):
        return ""
    whole = card.get("subset_of")
    return f"{n:,} item{'' if n == 1 else 's'}" if whole is None else f"{n:,} of {whole:,} items, a subset"


def slot_sides(result: Result, data: str) -> tuple[str, str]:
    """What the two sides of templates are called: men and women, or the words of the user's own slots."""
    words = data_card(result, data).get("sides")
    return (f"“{words[0]}”", f"“{words[1]}”") if words else sentences.GENDER
