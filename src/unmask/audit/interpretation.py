"""What the estimates of an audit say in plain words, and what failed checks make of them.

A score near its null is "no preference found by this measure", never "no bias".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from unmask.core.estimate import Estimate
from unmask.core.statistic import BALANCED, OF_WORDS
from unmask.core.types import Check
from unmask.findings.envelope import Result
from unmask.findings.numbers import number

if TYPE_CHECKING:
    from unmask.audit.result import AuditResult

ALPHA = 0.05
GENDER = ("men", "women")  # the sides of templates, unless the data name their own words
DIFFERS, SAME, UNTESTED = "differs", "does not differ", "was not tested"
BALANCED_SCORE = f"{BALANCED}bias-score"  # both directions of the pairs counted alike
OF_PROFESSIONS = (f"{BALANCED}appd", f"{BALANCED}association")  # towards the gender that most who work in them have
CHANGE = "change"  # of any statistic between two runs; its null is 0
DIRECTED = (
    "bias-score",
    BALANCED_SCORE,
    "stereo-score",
    "antistereo-score",
    "ss",
    "mean-difference",
    f"{BALANCED}mean-difference",
    CHANGE,
)
PERCENT = ("bias-score", BALANCED_SCORE, "stereo-score", "antistereo-score", "lms", "ss", "icat", "direction-gap")
FEW = 30  # items under which no verdict is given
NO_FLOOR = ("asld", "effect-size", CHANGE)  # statistics without a verdict, or of words or changes
FAILED, WEAK = "a check failed: do not interpret this number", "a check failed: do not quote this number without it"
INVALID, DOUBTFUL = "invalid", "doubtful"  # numbers by what failed: the model does not know the language, or another
INVALIDATING = ("accuracy", "lm-head", "contract", "finite-outputs")  # checks
CANCEL = "words lean both ways and cancel"
BASELINE = "a baseline that reads no word of the sentences, no evidence of a preference"
ALIKE = "both directions counted alike"
BOTH_DIRECTIONS = f"{BALANCED_SCORE}: {ALIKE}; bias-score: over all pairs, as published."
HOLM_STARS = "* p < 0.05, ** p < 0.01, *** p < 0.001 against the reference value, by Holm's correction over {}."
STARS = ((0.001, "***"), (0.01, "**"), (ALPHA, "*"))  # of p after Holm's correction

STATISTICS: Mapping[str, str] = {
    "bias-score": "pairs in which the stereotyping sentence scores higher (%)",
    BALANCED_SCORE: "the same share, both directions of the stereotypes counted alike (%)",
    "ss": "stereotyping word preferred to the anti-stereotyping one, mean over target terms (%)",
    "lms": "meaningful words preferred to unrelated ones, mean over target terms (%)",
    "icat": "language modelling ability and absence of preference combined, out of 100",
    "asld": "mean absolute difference of the two sentences' scores (nats)",
    "mean-difference": "mean difference of the two sentences' scores",
    f"{BALANCED}mean-difference": "the same difference, both directions of the stereotypes counted alike",
    "appd": "probability of the slot's first word minus that of the second, mean over templates and words",
    f"{BALANCED}appd": "the same towards the usual gender of a profession, women's and men's professions counted alike",
    "association": "how much more a word raises the probability of the slot's first than of its second word (nats)",
    f"{BALANCED}association": "the same towards the usual gender of a profession, women's and men's alike (nats)",
    "effect-size": "mean association over words, in standard deviations",
    f"{OF_WORDS}appd": "size of a word's lean, whatever its direction, mean over words",
    f"{OF_WORDS}association": "size of a word's association, whatever its direction, mean over words (nats)",
    "third": "probability of a template's third word (they), mean over templates and words",
}
READINGS: Mapping[str, Mapping[str, str]] = {  # by place of the interval and statistic; "": all others
    "above": {
        "": "leans towards stereotypes",
        "lms": "prefers meaningful words to unrelated ones",
        "asld": "mean size of the difference within a pair; it has no direction",
        "direction-gap": "scores differ between pairs about advantaged and disadvantaged groups",
        "appd": "leans towards {first}",
        **dict.fromkeys(OF_PROFESSIONS, "leans towards the usual gender of professions"),
        "association": "the words are associated with {first}",
        "effect-size": "the words are associated with {first}",
    },
    "within": {
        "": "no preference found by this measure",
        "lms": "meaningful and unrelated words are not distinguished",
        "asld": "no difference found by this measure",
        "direction-gap": "no difference found between pairs about advantaged and disadvantaged groups",
    },
    "below": {
        "": "leans against stereotypes",
        "lms": "prefers unrelated words to meaningful ones",
        "appd": "leans towards {second}",
        **dict.fromkeys(OF_PROFESSIONS, "leans against the usual gender of professions"),
        "association": "the words are associated with {second}",
        "effect-size": "the words are associated with {second}",
    },
    "ties": {"": "most pairs are ties: no preference can be read"},
    "too few": {"": "too few items for a verdict"},
    "no interval": {"": "no interval could be computed: do not read a preference into it"},
    "no null": {
        "": "has no reference value to compare with",
        "icat": "100 would be perfect language modelling without a preference",
        f"{OF_WORDS}appd": "mean size of a word's lean; it has no direction",
        f"{OF_WORDS}association": "mean size of a word's association; it has no direction",
    },
}
SHORT: Mapping[str, Mapping[str, str]] = {  # the same in a table
    "above": {
        "": "towards stereotypes",
        "lms": "words distinguished",
        "asld": "has no direction",
        "appd": "towards {first}",
        **dict.fromkeys(OF_PROFESSIONS, "towards usual gender"),
        "association": "towards {first}",
        "effect-size": "towards {first}",
    },
    "within": {"": "no preference found", "lms": "words alike", "asld": "no difference found"},
    "below": {
        "": "against stereotypes",
        "lms": "words confused",
        "appd": "towards {second}",
        **dict.fromkeys(OF_PROFESSIONS, "against usual gender"),
        "association": "towards {second}",
        "effect-size": "towards {second}",
    },
    "ties": {"": "mostly ties"},
    "too few": {"": "too few items"},
    "no interval": {"": "no interval"},
    "no null": {"": "no reference value", "icat": "100 is ideal"}
    | dict.fromkeys((f"{OF_WORDS}appd", f"{OF_WORDS}association"), "has no direction"),
}


def count_items(card: Mapping[str, Any]) -> str:
    """`360 items`, or `60 of 360 items, a subset`; empty if unknown."""
    if not isinstance(n := card.get("n"), int):
        return ""
    whole = card.get("subset_of")
    return f"{n:,} item{'' if n == 1 else 's'}" if whole is None else f"{n:,} of {whole:,} items, a subset"


def subset_note(cards: Iterable[Mapping[str, Any]]) -> str:
    """Which data are subsets, in one sentence; empty if none is."""
    parts = [f"{card['name']} ({card['n']:,} of {card['subset_of']:,} items)" for card in cards if "subset_of" in card]
    return f"Measured on a subset of {'; '.join(dict.fromkeys(parts))}." if parts else ""


def plural_unit(unit: str) -> str:
    """`words × templates` of `word × template`."""
    return " × ".join(f"{part}s" for part in unit.split(" × "))


def digits_of(statistic: str) -> int:
    """Decimals to show: one for percentages, three otherwise."""
    return 1 if statistic in PERCENT else 3


def interval(estimate: Estimate, digits: int) -> str:
    """`58.0 to 62.9`, or `none`."""
    return f"{number(estimate.low, digits)} to {number(estimate.high, digits)}" if estimate.has_interval else "none"


def lean(estimate: Estimate) -> str:
    """Where the estimate lies relative to the null: `above` or `below` only if interval and test agree.

    A group is judged by its p after Holm's correction; the whole by its interval and p, and not under `FEW` items.
    Neither is where most pairs are ties: a share that is low because ties count as not won is no preference.
    """
    if estimate.null is None or not estimate.has_interval:
        return "no null" if estimate.null is None else "no interval"
    if estimate.statistic in ("bias-score", BALANCED_SCORE) and 2 * estimate.ties > estimate.n:
        return "ties"
    side = "above" if estimate.value > estimate.null else "below"
    if estimate.group != "all" and estimate.p_holm is not None:
        return side if estimate.p_holm < ALPHA else "within"
    if estimate.n < FEW and estimate.group == "all" and estimate.statistic not in NO_FLOOR:
        return "too few"
    p = estimate.p if estimate.p_holm is None else estimate.p_holm
    return side if estimate.excludes(estimate.null) and (p is None or p < ALPHA) else "within"


def reading(estimate: Estimate, sides: tuple[str, str] = GENDER) -> str:
    """What the estimate says, in plain words; `sides`: of templates."""
    return _words(READINGS, estimate, sides)


def _words(by_place: Mapping[str, Mapping[str, str]], estimate: Estimate, sides: tuple[str, str]) -> str:
    if not math.isfinite(estimate.value):
        return "not measured"
    words = by_place[lean(estimate)]
    text = words.get(estimate.statistic, words[""])
    return text.replace("{first}", sides[0]).replace("{second}", sides[1])


def result_reading(result: AuditResult, estimate: Estimate) -> str:
    """What an estimate of a result says; that it says nothing if the model does not predict the tokens of the data."""
    if (failed := failure(result, estimate.data, estimate.measure)) == INVALID:
        return FAILED
    if result.is_baseline(estimate.measure):
        return BASELINE
    said = CANCEL if cancels(result, estimate) else reading(estimate, slot_sides(result, estimate.data))
    return f"{said} ({WEAK})" if failed else said


def short_reading(result: AuditResult, estimate: Estimate) -> str:
    """The same in a few words for a line of a table; a dagger marks that a check failed."""
    failed = failure(result, estimate.data, estimate.measure)
    sides = slot_sides(result, estimate.data)
    said = "words cancel" if cancels(result, estimate) else _words(SHORT, estimate, sides)
    said = "baseline" if result.is_baseline(estimate.measure) else said
    return "CHECK FAILED" if failed == INVALID else f"{said} †" if failed else said


def failure(result: Result, data: str, measure: str | None = None) -> str:
    """What failed checks make of the numbers of a dataset: `invalid`, `doubtful`, or empty if none failed.

    `measure`: only its numbers.
    """
    failed = [check for check in result.checks if not check.ok and (measure is None or concerns(check, measure))]
    own = [check.name for check in failed if check.name.rpartition("/")[0] in ("", data)]
    if any(part in name for name in own for part in INVALIDATING):
        return INVALID
    return DOUBTFUL if own else ""


def concerns(check: Check, measure: str) -> bool:
    """Whether a failed check makes the numbers of this measure doubtful."""
    return not check.measures or measure in check.measures


def failure_note(results: Iterable[Result], data: str | None = None) -> str:
    """The note of a table whose rows are marked with a dagger, naming what failed; empty if no check failed.

    `data`: only the checks of this dataset.
    """
    found: set[str] = set()
    failed: dict[str, None] = {}
    for each in results:
        names = [str(card.get("name")) for card in each.meta.get("data") or ()]
        wanted = [name for name in names if data in (None, name)]
        found |= {failure(each, name) for name in wanted}
        own = (check for check in each.checks if not check.ok and check.name.rpartition("/")[0] in ("", *wanted))
        failed |= {f"{check.name}: {check.detail}": None for check in own}
    rule = FAILED if INVALID in found else WEAK if DOUBTFUL in found else ""
    return f"† {rule} ({'; '.join(failed)})." if rule else ""


def checks_warning(*results: Result) -> str:
    """How many checks failed, and what not to do with the numbers; empty if none failed."""
    checks = [check for result in results for check in result.checks]
    failed = [check.name for check in checks if not check.ok]
    if not failed:
        return ""
    invalid = any(part in name for name in failed for part in INVALIDATING)
    them = "it" if len(failed) == 1 else "them"
    rule = "do not interpret these numbers" if invalid else f"do not quote these numbers without {them}"
    return f"{len(failed)} of {len(checks)} checks failed: {rule}"


def size_of_words(result: Result, estimate: Estimate) -> Estimate | None:
    """The mean absolute lean of a word, of the same measure and data; None if the result has none."""
    wanted = (estimate.measure, estimate.data, f"{OF_WORDS}{estimate.statistic}")
    return next((e for e in result.estimates if (e.measure, e.data, e.statistic) == wanted), None)


def all_pairs(result: Result, estimate: Estimate) -> Estimate | None:
    """The bias score over all pairs, as published, beside one that counts both directions alike; else None."""
    wanted = (estimate.measure, estimate.data, estimate.group, "bias-score")
    plain = (each for each in result.estimates if each.key == wanted and each.model == estimate.model)
    return next(plain, None) if estimate.statistic == BALANCED_SCORE else None


def with_companions(result: Result, estimates: Iterable[Estimate]) -> list[Estimate]:
    """The estimates, each followed by what is read beside it: the score over all pairs, the size of words' leans."""
    beside = (all_pairs, size_of_words)
    return [each for e in estimates for each in (e, *(find(result, e) for find in beside)) if each is not None]


def cancels(result: Result, estimate: Estimate) -> bool:
    """Whether no lean is found on average although words lean differently: to both sides."""
    words = size_of_words(result, estimate) if estimate.group == "all" else None
    return words is not None and lean(estimate) == "within" and words.p is not None and words.p < ALPHA


def slot_sides(result: Result, data: str) -> tuple[str, str]:
    """What the two sides of templates are called: men and women, or the words of the user's own slots."""
    card: Mapping[str, Any] = next((each for each in result.meta.get("data") or () if each.get("name") == data), {})
    return (f"“{card['sides'][0]}”", f"“{card['sides'][1]}”") if card.get("sides") else GENDER


def side_words(sides: tuple[str, str]) -> tuple[str, str]:
    """The words of the two sides: the masculine and the feminine word, or the user's own."""
    return ("the masculine word", "the feminine word") if sides == GENDER else sides


def stars(result: Result, estimate: Estimate) -> str:
    """Stars of a headline or a group that differs from the null after Holm's correction, as its verdict says.

    None for a baseline, or if a failed check forbids to interpret the number.
    """
    p, whole = estimate.p_holm, estimate.group == "all"
    if p is None or (whole and lean(estimate) not in ("above", "below")) or result.is_baseline(estimate.measure):
        return ""
    if failure(result, estimate.data, estimate.measure) == INVALID:
        return ""
    return next((mark for most, mark in STARS if p < most), "")


def count_tested(result: Result, data: str) -> int:
    """The number of headlines of a dataset that are tested together."""
    return sum(each.data == data and each.p_holm is not None for each in result.headlines())


def stars_note(results: Iterable[Result], data: str | None = None) -> str:
    """What the stars of headlines mean, with the number of tests of each family; empty if nothing was tested.

    `data`: only those of this dataset.
    """
    counts: dict[str, int] = {}
    for result in results:
        for name in dict.fromkeys(each.data for each in result.headlines()):
            counts[name] = max(counts.get(name, 0), count_tested(result, name))
    known = [(name, n) for name, n in counts.items() if n and data in (None, name)]
    listed = ", ".join(f"{n} measure{'' if n == 1 else 's'} on {name}" for name, n in known)
    return HOLM_STARS.format(f"the headlines of a dataset ({listed})") if known else ""


def holm(estimate: Estimate) -> str:
    """Whether a group differs from the null after Holm's correction."""
    if estimate.p_holm is None or not math.isfinite(estimate.p_holm):
        return UNTESTED
    return DIFFERS if estimate.p_holm < ALPHA else SAME
