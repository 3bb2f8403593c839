"""Gate a result: is it worse than a baseline, or beyond a limit? Audits item by item, other results by estimates."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

from unmask.core.errors import DataError, ResultError, UnknownName, quote
from unmask.core.files import plain
from unmask.core.options import MAX_SEED, OptionGroup, check_number, fill_groups, option
from unmask.core.statistic import BALANCED, BIAS_SCORE, MEAN_DIFFERENCE, OF_WORDS, Statistic, statistic
from unmask.core.types import Check

if TYPE_CHECKING:  # the options are those of a command, whose help needs none of these
    from pathlib import Path

    from unmask.audit.result import AuditResult
    from unmask.core.estimate import Estimate
    from unmask.core.types import Row
    from unmask.findings.envelope import Result
    from unmask.stats.worsening import Worsening

SPREAD_PER_POINT = 0.02  # standard deviations of an item that a point of bias score corresponds to
FINITE, ACCURACY, NOT_RUN = "finite-outputs", "accuracy", "model-read"
GATED = (ACCURACY, "contract", FINITE, "duplicates")  # if one fails, a run cannot be judged
NAMED_ITEMS = 3  # items that are named where some are missing
GateAnswer = Literal["pass", "fail", "cannot tell"]
EXIT_CODES: Mapping[GateAnswer, int] = {"pass": 0, "fail": 1, "cannot tell": 3}
_NAMED = re.compile(r"(?P<name>[^=]+)=(?P<number>[^=,]*)(?:,|$)")  # a name may contain commas: `accuracy, women, %`


def unit_of(name: str) -> str:
    """The unit of a worsening: that of its statistic, or its name if it has none."""
    facts = plain_statistic(name)
    return facts.change_unit or facts.name


def plain_statistic(name: str) -> Statistic:
    """The statistic of all items, of which it is the mean over words or over both directions."""
    return statistic(name.removeprefix(OF_WORDS).removeprefix(BALANCED))


@dataclass(frozen=True, slots=True)
class PerStatistic:
    """A number for each statistic, or one for all."""

    by_name: Mapping[str, float] = field(default_factory=dict)
    common: float | None = None

    @classmethod
    def parse(cls, given: object, name: str = "value", least: float | None = None) -> PerStatistic:
        """From a number, numbers by statistic, or text such as `bias-score=2,appd=0.05`; None is none."""
        if isinstance(given, PerStatistic):
            parsed = given
        elif isinstance(given, Mapping):
            parsed = cls({str(key): _number(value, name, given) for key, value in given.items()})
        elif given is None:
            parsed = cls()
        elif isinstance(given, str) and "=" in given:
            parsed = cls(_split(given, name))
        else:
            parsed = cls(common=_number(given, name, given))
        for value in parsed.values:
            check_number(name, value, least=least)
        return parsed

    def __bool__(self) -> bool:
        return bool(self.values)

    @property
    def values(self) -> tuple[float, ...]:
        """Every number."""
        return (*self.by_name.values(), *(() if self.common is None else (self.common,)))

    def get(self, name: str) -> float | None:
        """The number of a statistic, or of its mean over both directions; None if none was given.

        One number is for everything but mean differences, which stand beside bias scores in another unit.
        """
        plain_name = name.removeprefix(BALANCED)
        common = None if plain_name == MEAN_DIFFERENCE.name else self.common
        return self.by_name.get(name, self.by_name.get(plain_name, common))

    def get_for(self, worsening: Worsening) -> float | None:
        """The same for a worsening: of a mean difference what corresponds to the points of the bias score.

        Five points are a tenth of an item's standard deviation, as in the default margin.
        """
        number = self.get(worsening.statistic)
        is_mean = worsening.statistic.removeprefix(BALANCED) == MEAN_DIFFERENCE.name
        points = self.get(BIAS_SCORE.name) if is_mean and number is None else None
        return number if points is None else points * SPREAD_PER_POINT * worsening.spread

    def check(self, name: str, statistics: Collection[str]) -> None:
        """Refuse names that are no statistic of this gate, one number for several units, and what accepts anything."""
        known = {*statistics, *(each.removeprefix(BALANCED) for each in statistics)}
        for given in self.by_name:
            if given not in known:
                raise UnknownName("statistic in this gate", given, known)
        commons = sorted({each.removeprefix(BALANCED) for each in statistics} - {MEAN_DIFFERENCE.name})
        if self.common is not None and len({unit_of(each) for each in commons}) > 1:
            example = ",".join(f"{each}={self.common:g}" for each in commons)
            raise DataError(
                f"{name} is {self.common:g} for statistics of different units ({', '.join(commons)}): "
                f"give a number for each, as in {example}"
            )
        for each in sorted(statistics):
            most, number = plain_statistic(each).largest_worsening, self.get(each)
            if name == "tolerance" and number is not None and number >= most:
                raise DataError(
                    f"{name} is {number:g} for {each}, which no worsening can exceed: expected less than {most:g}"
                )


def _split(text: str, name: str) -> dict[str, float]:
    """The numbers of `bias-score=2,appd=0.05`."""
    numbers: dict[str, float] = {}
    end = 0
    for match in _NAMED.finditer(text):
        if match.start() != end:
            break
        numbers[match["name"].strip()] = _number(match["number"], name, text)
        end = match.end()
    if end != len(text) or text.endswith(","):
        raise _refusal(name, text)
    return numbers


def _number(given: Any, name: str, whole: object) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise _refusal(name, whole) from None


def _refusal(name: str, given: object) -> DataError:
    return DataError(
        f"{name} is {quote(given)}, expected a number, or numbers by statistic such as bias-score=2,appd=0.05"
    )


@dataclass(frozen=True)
class GateOptions(OptionGroup):
    """What the gate judges and what it accepts."""

    measures: tuple[str, ...] = option((), "Only these measures.", flag="--measure", shown="all of the baseline")
    tolerance: PerStatistic = option(
        PerStatistic(),
        "Worsening that is accepted: one number, or by statistic as in bias-score=2,appd=0.05.",
        shown="0",
    )
    margin: PerStatistic = option(
        PerStatistic(),
        "Worsening that must be excluded to pass, in the same form.",
        shown="the tolerance and 5 points, or what the data can show if more, at most 10",
    )
    max: PerStatistic = option(
        PerStatistic(),
        "Limit of a statistic, as in bias-score=60; it holds on both sides of the reference value (40 to 60).",
        shown="none",
    )
    allow_missing: bool = option(False, "Accept that data or items of the baseline are missing in the run.")
    independent: bool = option(False, "Take pairs for independent, whatever writer, term, … they share.")
    seed: int = option(0, "Random seed of the bootstrap.", least=0, most=MAX_SEED)

    def __post_init__(self) -> None:
        """Parse what the command line gives as text, and refuse invalid values."""
        measures: Any = self.measures  # in Python a single name or a list will do
        object.__setattr__(self, "measures", (measures,) if isinstance(measures, str) else tuple(measures))
        for name, least in (("tolerance", 0.0), ("margin", 0.0), ("max", None)):
            object.__setattr__(self, name, PerStatistic.parse(getattr(self, name), name, least))
        super().__post_init__()

    def limit(self, worsening: Worsening) -> Worsening:
        """A worsening with what is accepted of it; DataError if the margin is less than the tolerance."""
        if worsening.against == "limit":
            return replace(worsening, margin=self.margin.get(worsening.statistic) or 0.0)
        tolerance, margin = self.tolerance.get_for(worsening) or 0.0, self.margin.get_for(worsening)
        if margin is not None and margin < tolerance:
            raise DataError(
                f"margin is {margin:g} for {worsening.statistic}, expected at least the tolerance, {tolerance:g}"
            )
        return replace(worsening, tolerance=tolerance, margin=margin)


@dataclass(frozen=True, slots=True)
class MissingData:
    """Data or items that the baseline has and the run lacks."""

    measure: str
    data: str
    detail: str


@dataclass(frozen=True, slots=True)
class GateResult:
    """The verdicts of a gate and what could not be judged; `answer` and `exit_code` sum them up."""

    verdicts: tuple[Worsening, ...]
    missing: tuple[MissingData, ...] = ()
    failed_checks: tuple[Check, ...] = ()
    not_judged: tuple[tuple[str, str], ...] = ()  # data and measures that the run has and the baseline lacks
    allow_missing: bool = False
    baselines: int = 1  # how many there were; 0: limits alone
    kind: str = "audit"  # of the run

    @property
    def answer(self) -> GateAnswer:
        """Fail if anything is worse or missing or a check failed; pass if everything is not worse; else cannot tell.

        A bias type can be worse; whether it is certainly not worse is asked of all items only.
        """
        answers = {each.answer for each in self.verdicts if each.group == "all" or each.answer == "worse"}
        lacking = bool(self.missing) and not self.allow_missing
        if lacking or self.failed_checks or answers & {"worse", "missing"}:
            return "fail"
        return "pass" if answers == {"not worse"} else "cannot tell"

    @property
    def exit_code(self) -> int:
        """0 if it passes, 1 if it fails, 3 if the data cannot tell."""
        return EXIT_CODES[self.answer]

    def to_json(self) -> dict[str, Any]:
        """The result as JSON types."""
        parts = {each.name: plain(getattr(self, each.name)) for each in fields(self)}
        verdicts = [plain(each.facts()) for each in self.verdicts]
        return {"answer": self.answer, "exit_code": self.exit_code, **parts, "verdicts": verdicts}

    def __str__(self) -> str:
        """The lines that the command prints."""
        from unmask.audit.gate_forms import lines

        return "\n".join(lines(self))


def gate(
    candidate: Result | str | Path,
    baseline: Result | str | Path | Sequence[Result | str | Path] | None = None,
    **options: Any,
) -> GateResult:
    """Judge a result against a baseline, against limits (`max`), or both: pass, fail, or cannot tell.

    Args:
        candidate: the result that is judged, or its folder.
        baseline: the result that it must not be worse than, or its folder. Several are trainings alike but for their
            seed: how much they differ is then part of the noise.
        options: fields of `GateOptions` (measures, tolerance, margin, max, allow_missing, independent, seed), or the
            group itself as `options`.
    """
    from unmask.audit.compare import open_results
    from unmask.stats.worsening import decide

    (allowed,) = fill_groups(options, options=GateOptions)
    before = [] if baseline is None else open_results(baseline)
    if not before and not allowed.max:
        raise DataError("there is nothing to compare with: give a baseline, or max for a first run without one")
    if not before and allowed.tolerance:
        raise DataError("tolerance is what may be lost of a baseline: give one, or leave the tolerance out")
    (run,) = open_results(candidate)
    for result in before or [run]:
        for name in allowed.measures:
            result.require_measure(name)
    for result in (run, *before):
        _require_checks(result)
    found = _compare(before, run, allowed) if before else BaselineComparison()
    limits = list(_beyond_limits(run, allowed))
    statistics = {each.statistic for each in found.worsenings}
    allowed.tolerance.check("tolerance", statistics)
    allowed.margin.check("margin", statistics | {each.statistic for each in limits})
    return GateResult(
        decide([allowed.limit(each) for each in (*found.worsenings, *limits)]),
        tuple(found.missing),
        _failed_checks(run, before),
        tuple(found.not_judged),
        allowed.allow_missing,
        len(before),
        run.kind,
    )


@dataclass
class BaselineComparison:
    """What a comparison with the baseline found, and what it could not compare."""

    worsenings: list[Worsening] = field(default_factory=list)
    missing: list[MissingData] = field(default_factory=list)
    not_judged: list[tuple[str, str]] = field(default_factory=list)


def _compare(before: Sequence[Result], run: Result, allowed: GateOptions) -> BaselineComparison:
    from unmask.audit.result import AuditResult

    audits = [each for each in before if isinstance(each, AuditResult)]
    if isinstance(run, AuditResult) and len(audits) == len(before):
        return _compare_audits(audits, run, allowed)
    if len(before) > 1:
        raise DataError(f"{len(before)} baselines of a {run.kind}, expected one: several are for audits, item by item")
    return _compare_estimates(before[0], run, allowed)


def _require_checks(result: Result) -> None:
    """Refuse an audit that has not checked its model on all its data; of an imported one the model was not run here."""
    present = {check.name for check in result.checks}
    if result.kind != "audit" or NOT_RUN in present:
        return
    causal, cards = result.meta["model"].get("kind") == "causal", result.meta["data"]
    read = ("next-token",) if causal else ("masked", "unmasked")
    for card in cards:
        for name in (FINITE, *(f"{how}-{ACCURACY}" for how in read)):
            alone = {name} if len(cards) == 1 else set()
            if not present & {f"{card['name']}/{name}", *alone}:
                raise ResultError(
                    f"{result.meta['title'] or 'the result'} has no check {name} on {card['name']}, without which it "
                    "cannot be judged: audit the model again"
                )


def _failed_checks(run: Result, baselines: Sequence[Result]) -> tuple[Check, ...]:
    """The failed checks without which a run cannot be judged; those of the baseline are named so."""
    failed = [check for check in run.checks if not check.ok and check.name.endswith(GATED)]
    before = [check for baseline in baselines for check in baseline.checks]
    failed += [
        replace(check, name=f"{check.name} of the baseline")
        for check in before
        if not check.ok and check.name.endswith(GATED)
    ]
    return tuple(failed)


def _compare_audits(before: Sequence[AuditResult], run: AuditResult, allowed: GateOptions) -> BaselineComparison:
    from unmask.audit.compare import comparable_rows, shared_keys
    from unmask.stats.worsening import worsenings

    first, tables, theirs = before[0], [comparable_rows(each) for each in before], comparable_rows(run)
    ours = tables[0]
    shared_keys(ours, theirs)
    for each in before:
        _refuse_other_data(each, run)
    _refuse_equal(before, tables)
    found = BaselineComparison(not_judged=[(data, measure) for measure, data in theirs if (measure, data) not in ours])
    for measure, data in ours:
        if measure not in allowed.measures if allowed.measures else first.is_baseline(measure):
            continue
        baselines = [table.get((measure, data), []) for table in tables]
        others = theirs.get((measure, data), [])
        for rows, baseline in zip(baselines, before, strict=True):
            if not rows:
                title = baseline.meta["title"] or "a baseline"
                raise ResultError(f"{title} has no {measure} on {data}, which another has")
            lacking = MissingData(measure, data, _describe_missing(rows, others))
            if lacking.detail and lacking not in found.missing:
                found.missing.append(lacking)
        if set.intersection(_scored_ids(others), *map(_scored_ids, baselines)):
            found.worsenings += worsenings(
                first.measure(measure),
                baselines,
                others,
                data=data,
                rng_seed=allowed.seed,
                independent=allowed.independent,
            )
    if not found.worsenings and not found.missing:
        raise ResultError(
            "there is nothing to judge: the results share no scored item of a measure that reads the sentences; audit "
            "both models with such a measure, or name a baseline such as all-masked with --measure"
        )
    return found


def _scored_ids(rows: Sequence[Row]) -> set[str]:
    return {row.item for row in rows if row.outcome != "unscored"}


def _describe_missing(baseline: Sequence[Row], candidate: Sequence[Row]) -> str:
    """What the run lacks of one measure and dataset; empty if nothing."""
    if not candidate:
        return "not in the run"
    present, scored = {row.item for row in candidate}, _scored_ids(baseline)
    for lacking, what in ((scored - present, "in"), (scored - _scored_ids(candidate), "scored in")):
        if lacking:
            named = [*sorted(lacking)[:NAMED_ITEMS], *(["…"] if len(lacking) > NAMED_ITEMS else [])]
            return f"{len(lacking):,} of {len(scored):,} items are not {what} the run ({', '.join(named)})"
    return ""


def _refuse_other_data(a: Result, b: Result) -> None:
    """Refuse datasets of one name and different content: their items have the same names and other sentences."""
    before = {card["name"]: card.get("sha256") for card in a.meta["data"]}
    for card in b.meta["data"]:
        known, now = before.get(card["name"]), card.get("sha256")
        if known and now and known != now:
            raise ResultError(
                f"the runs have different versions of {card['name']} (sha256 {known[:12]}… and {now[:12]}…): "
                "audit both models on the same file"
            )


def _refuse_equal(baselines: Sequence[AuditResult], tables: Sequence[Mapping[tuple[str, str], Sequence[Row]]]) -> None:
    """Refuse baselines with the same scores on every item: one training twice says nothing about another seed."""
    scores = [  # as text in which a missing score is equal to itself
        {(key, row.item): repr(sorted(row.scores.items())) for key, rows in table.items() for row in rows}
        for table in tables
    ]
    for (i, first), (k, second) in combinations(enumerate(scores), 2):
        if first == second:
            title = baselines[k].meta["title"] or "without a title"
            raise ResultError(
                f"baselines {i + 1} and {k + 1} ({title}) have equal scores on all items, expected trainings that "
                "differ in their seed: leave one out, or audit another training"
            )


def _compare_estimates(before: Result, run: Result, allowed: GateOptions) -> BaselineComparison:
    """Compare the headlines of results that are no audits."""
    from unmask.audit.compare import shared_estimates
    from unmask.stats.worsening import estimate_worsening

    shared = {(old.model, old.key): new for old, new in shared_estimates(before, run)}
    found = BaselineComparison()
    for old in before.headlines():
        if old.null is None or (allowed.measures and old.measure not in allowed.measures):
            continue
        new = shared.get((old.model, old.key))
        if new is None:
            found.missing.append(MissingData(old.measure, old.data, "not in the run"))
            continue
        lost = (old.n + old.unscored) - (new.n + new.unscored)
        if lost > 0 and run.kind != "corpus":  # a corpus is what is measured, not what it is measured with
            found.missing.append(MissingData(old.measure, old.data, f"{lost:,} of {old.n + old.unscored:,} items"))
        found.worsenings.append(estimate_worsening(old, new))
    if not found.worsenings:
        raise ResultError(
            "the results share no estimate with a null value to gate on: gate results of the same command"
        )
    return found


def _beyond_limits(result: Result, allowed: GateOptions) -> Iterator[Worsening]:
    """How far every limited statistic is beyond its limit, on either side of its reference value."""
    from unmask.stats.worsening import limit_worsening

    if not allowed.max:
        return
    measures = allowed.measures or [name for name in result.measures() if not result.is_baseline(name)]
    chosen = _without_twins(result.estimates) if allowed.max.common is None else result.headlines()
    limited = [each for each in map(_with_null, chosen) if each.measure in measures and _can_have_limit(each)]
    allowed.max.check("max", {each.statistic for each in limited})
    for each in limited:
        if (limit := allowed.max.get(each.statistic)) is not None:
            yield limit_worsening(each, limit)


def _without_twins(estimates: Iterable[Estimate]) -> list[Estimate]:
    """The estimates; of those over all pairs only the ones without a twin that counts both directions alike."""
    listed = list(estimates)
    keys = {each.key for each in listed}
    return [
        each
        for each in listed
        if statistic(each.statistic).crossed or (*each.key[:-1], f"{BALANCED}{each.statistic}") not in keys
    ]


def _with_null(estimate: Estimate) -> Estimate:
    """The estimate; the size of words' leans has the reference value 0, though no model reaches it."""
    return replace(estimate, null=0.0) if estimate.statistic.startswith(OF_WORDS) else estimate


def _can_have_limit(estimate: Estimate) -> bool:
    """Whether it is about a whole dataset and better the nearer it is to its reference value."""
    known = estimate.group == "all" and estimate.null is not None
    return known and statistic(estimate.statistic).better != "higher"
