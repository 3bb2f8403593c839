"""`stability`: would other pairs, or fewer, have given the same score? (Barza 2023, Figure 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.options import option
from unmask.core.statistic import statistic
from unmask.diagnose.scores import observed_table, score_rows, template_reason
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, Observations, UnitOptions
from unmask.findings import Cell, Conclusion, Finding, Plot, Table
from unmask.measures import find

if TYPE_CHECKING:
    from unmask.core.types import Floats
    from unmask.stats.reliability import SampleScores

FEWEST = 5  # fewest draws of each size, as in the thesis
SPLITS = "none: describes the splits"
HALVED = (
    "SD of halves: standard deviation, over {:,} random splits of what is halved, of one half's score minus "
    "the other's; it describes the splits and has no interval. Halved are the units of the data (writers, target "
    "terms, …), each with all its pairs. ρ of rankings: do both halves rank the "
    "categories alike (Spearman)? Mean and middle 95% of the splits; `all` extrapolates the mean to "
    "all pairs by the Spearman–Brown formula. A dash: fewer than three categories of two units."
)
NEEDED = (
    "Needed: to detect a bias score {:g} points off 50 by a two-sided test at the 5% "
    "level with 80% power, given the same share of decided pairs and design effect. Least effect: what the "
    "decided pairs here can detect, in points, with the same power. Design effect: how many pairs of these are "
    "worth one independent pair, at least 1. A dash: too few units to know it. ASLD has no null value and is left "
    "out."
)
APART = (
    "Change: the other's bias score minus the model's; p by McNemar's test, over the units of the data. Needed: to "
    "detect {:g} points between them by that test with 80% power, if they disagree on the same "
    "share of pairs, with the same design effect. A dash: they disagree on too few pairs for such a difference, "
    "or there are too few units."
)
SAMPLED = (
    "{} samples of each size, drawn without replacement: near the full "
    "number they overlap and must agree. Units are drawn with all their pairs; pairs: how many that is on average. "
    "SD: standard deviation of the scores."
)


@dataclass(frozen=True)
class StabilityOptions(UnitOptions):
    """Options of `stability`."""

    draws: int = option(10, "Samples per sample size.", least=1, most=10_000)
    effect: float = option(5.0, "Difference of bias scores (in points) to detect; at most 50.", least=0.1, most=50)


@dataclass(frozen=True, slots=True)
class SampledScore:
    """A measure's score of one model on samples of the data."""

    observation: DiagnosisObservation
    scores: SampleScores

    @property
    def key(self) -> dict[str, Cell]:
        """The first cells of a row."""
        return {**self.observation.key, "measure": self.scores.measure}

    @property
    def is_share(self) -> bool:
        """Whether it is a bias score, whose reference value a number of pairs can be planned for."""
        return statistic(self.scores.statistic).is_percent

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the differences of halves."""
        return _deviation(self.scores.halves)

    @property
    def ranking(self) -> Value | None:
        """How alike halves rank the categories; None if they cannot be ranked."""
        import numpy as np

        values = self.scores.rankings
        if not values.size:
            return None
        low, high = np.quantile(values, [0.025, 0.975]).tolist()
        return Value(float(values.mean()), low, high, "middle 95% of splits", unit=self.scores.units.tag)

    @property
    def design_effect(self) -> float | None:
        """At least one: the pairs of a unit if all are won or lost; None with too few units."""
        if not self.scores.interval.has_interval:
            return None
        unknown = self.scores.n / min(self.scores.units.counts, default=self.scores.n)
        return max(1.0, self.scores.interval.design_effect or unknown)

    def sample_name(self, count: int) -> str:
        """What samples and halves are drawn from: `77 writers`."""
        from unmask.stats.units import WORD, plural

        units = self.scores.units
        name = WORD if len(units.codes) == 2 else units.name
        return f"{count:,} {plural('pair' if units.independent else name, count)}"

    def pairs(self, size: int) -> int:
        """How many pairs so many units have on average."""
        return round(size * self.scores.n / self.scores.n_units)

    def estimates(self) -> Iterator[Estimate]:
        """The standard deviation of the difference of halves, and how alike they rank the categories."""
        unit, name, n = self.scores.units.tag, f"stability/{self.scores.measure}", self.scores.n
        spread = NAN if self.deviation is None else self.deviation
        yield self.observation.estimate(name, "sd-of-halves", Value(spread, method=SPLITS, unit=unit), n=n)
        if self.ranking is not None:
            yield self.observation.estimate(name, "rank-correlation-of-halves", self.ranking, n=n)


def conclude(observations: Observations, options: StabilityOptions) -> Conclusion:
    """Variation of the score between halves and among samples, and the number of pairs needed."""
    from unmask.stats.reliability import HALVES, sample_scores

    draws = max(options.draws, FEWEST)
    samples, notes = [], []
    for observation in observations:
        tables = {name: observed_table(observation, name, options) for name in observation.result}
        scores = {name: sample_scores(table, draws, seed=options.seed) for name, table in tables.items()}
        samples += [SampledScore(observation, each) for each in scores.values() if each is not None]
        if lacking := [name for name, each in scores.items() if each is None]:
            notes.append(f"{observation.where}: nothing was scored by {', '.join(lacking)}")
    by_observation = [[each for each in samples if each.observation is observation] for observation in observations]
    return Conclusion(
        Finding(
            tuple(line for members in by_observation for line in _answers(members, options)),
            (
                Table.of("Two halves of the pairs", map(_half_record, samples), HALVED.format(HALVES)),
                Table.of(
                    f"Pairs needed to see {options.effect:g} points",
                    (_power_record(each, options) for each in samples if each.is_share),
                    NEEDED.format(options.effect),
                ),
                Table.of(
                    "Pairs needed to tell two models apart",
                    _comparison_records(observations, options),
                    APART.format(options.effect),
                ),
                Table.of(
                    "Score against the number of pairs",
                    (record for each in samples for record in _size_records(each)),
                    SAMPLED.format(draws),
                ),
            ),
            tuple(
                plot
                for number, members in enumerate(by_observation, start=1)
                for plot in _plots(members, f"-{number}" if len(observations) > 1 else "")
            ),
            tuple(notes),
        ),
        tuple(estimate for each in samples for estimate in each.estimates()),
    )


def _half_record(each: SampledScore) -> dict[str, Cell]:
    from unmask.stats.reliability import spearman_brown

    scores = each.scores
    return {
        **each.key,
        "statistic": scores.statistic,
        "pairs": scores.n,
        "halved": each.sample_name(scores.n_units),
        "score": scores.interval,
        "SD of halves": each.deviation,
        "ρ of rankings": each.ranking,
        "all": spearman_brown(each.ranking.value) if each.ranking else None,
    }


def _power_record(each: SampledScore, options: StabilityOptions) -> dict[str, Cell]:
    """Pairs needed to detect a bias score off 50."""
    from unmask.stats.power import detectable_effect, required_pairs

    scores, worth = each.scores, each.design_effect
    share = scores.decided / scores.n
    return {
        **each.key,
        "pairs": scores.n,
        "decided": scores.decided,
        "pairs needed": worth and required_pairs(options.effect, decided=share, design_effect=worth),
        "least effect seen": worth and detectable_effect(scores.decided / worth),
        "design effect": worth,
    }


def _comparison_records(observations: Observations, options: StabilityOptions) -> Iterator[dict[str, Cell]]:
    """Pairs needed to detect a difference between two models, by pair of models, dataset and measure."""
    from unmask.stats.paired import published_comparison
    from unmask.stats.power import required_pairs_between

    for a, b in combinations(observations, 2):
        (model, data), (other, other_data) = a.names, b.names
        shared = [name for name in a.result if name in b.result and find(name).summary == "share"]
        for name in shared if data == other_data else ():
            both = published_comparison(find(name), a.result[name], b.result[name], data=data, **options.sampling)
            disagree = both.flips / both.n if both.n else NAN
            known, worth = both.difference.has_interval, max(1.0, both.design_effect or 1.0)
            yield {
                "data": data,
                "measure": name,
                "model": model,
                "other": other,
                "change": both.difference,
                "pairs": both.n,
                "disagree, %": 100 * disagree,
                "p": both.p,
                "pairs needed": required_pairs_between(options.effect, disagree, design_effect=worth)
                if known
                else None,
            }


def _size_records(each: SampledScore) -> Iterator[dict[str, Cell]]:
    """One row per size of sample; all pairs give a single score."""
    scores = each.scores
    ranges = {size: x for size, x in scores.by_size.items() if size < scores.n_units}
    for size, x in ranges.items():
        ends = Value(float(x.mean()), float(x.min()), float(x.max()), "range")
        yield _size_record(each, size, each.pairs(size), ends, _deviation(x))
    yield _size_record(each, scores.n_units, scores.n, scores.score, None)


def _size_record(each: SampledScore, size: int, pairs: int, score: Cell, deviation: float | None) -> dict[str, Cell]:
    sampled: dict[str, Cell] = {"statistic": each.scores.statistic, "sampled": each.sample_name(size), "pairs": pairs}
    return {**each.key, **sampled, "mean (least to most)": score, "SD": deviation}


def _deviation(values: Floats) -> float | None:
    return float(values.std(ddof=1)) if values.size > 1 else None


def _answers(samples: Sequence[SampledScore], options: StabilityOptions) -> Iterator[str]:
    """How far the bias scores of halves differ, and what the decided pairs can detect."""
    from unmask.findings import sentences
    from unmask.stats.power import detectable_effect, required_pairs

    shares = [each for each in samples if each.is_share and each.deviation is not None]
    if not shares:
        return
    first = shares[0]
    of = "" if first.scores.units.independent else f" of {first.sample_name(first.scores.n_units)}"
    what = f"{first.observation.where}: standard deviation between halves of {first.scores.n:,} pairs{of}:"
    yield sentences.span(what, {each.scores.measure: each.deviation or 0.0 for each in shares}, "points")
    known = [worth for each in shares if (worth := each.design_effect) is not None]
    if known:
        decided, worth = max(each.scores.decided for each in shares), max(known)
        seen, needed = detectable_effect(decided / worth), required_pairs(options.effect, design_effect=worth)
        yield (
            f"{first.observation.where}: {decided:,} decided pairs detect a bias score {seen:.1f} points off 50 at 80% "
            f"power; to detect {options.effect:g} points takes {needed:,}"
        )


def _plots(samples: Sequence[SampledScore], number: str) -> Iterator[Plot]:
    """One plot for every statistic, as their scales differ."""
    from unmask.findings import charts

    for name in dict.fromkeys(each.scores.statistic for each in samples):
        rows = [
            {"panel": each.scores.measure, "x": each.pairs(size)}
            | {"y": float(x.mean()), "low": float(x.min()), "high": float(x.max())}
            for each in samples
            if each.scores.statistic == name
            for size, x in each.scores.by_size.items()
        ]
        if len({row["x"] for row in rows}) > 1:
            alt = "Mean score of samples against their size, by measure, with the range from least to most."
            title = f"{name} against the number of pairs: {samples[0].observation.where}"
            chart = charts.panels(rows, x="pairs in a sample", y=f"{name}, {statistic(name).unit}")
            yield Plot(f"stability-{name}{number}", title, alt, chart)


STABILITY = Diagnosis(
    name="stability",
    title="Stability and sample size",
    question="Would other pairs, or fewer, have given the same score, and how many pairs are enough?",
    observe=score_rows,
    conclude=conclude,
    options=StabilityOptions,
    unfit_reason=template_reason,
    citation="gbef-2023",
    order=7,
)
