"""lms, ss and icat: macro over target terms, resampled by term."""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from unmask.core.errors import StatsError
from unmask.core.seeds import generator
from unmask.core.types import Row, Summary
from unmask.stats import estimates
from unmask.stats.triples import TermScores, icat_change_interval, icat_interval, stereoset_scores

from .tables import DATA, measure, only, row, triple, unscored

Triple = tuple[str, float, float, float]

BY_HAND: list[Triple] = [
    ("nurse", 3.0, 2.0, 1.0),  # stereotype wins; both beat unrelated
    ("nurse", 2.0, 3.0, 2.5),  # anti wins; one of two beats unrelated
    ("nurse", 2.0, 2.0, 2.0),  # a tie counts as anti; none beats unrelated
    ("poet", 5.0, 1.0, 0.0),  # stereotype wins; both beat unrelated
]
# nurse: ss 100 · 1/3 = 33.3…, lms 100 · 3/6 = 50;  poet: ss 100, lms 100
# macro: ss 66.6…, lms 75, icat 75 · 33.3…/50 = 50   (a micro mean would say ss 50, lms 62.5)


def reference_stereoset(triples: list[Triple]) -> tuple[float, float, float]:
    """The published evaluation, with dictionaries and loops."""
    ss: dict[str, list[float]] = {}
    lms: dict[str, list[float]] = {}
    for term, more, less, unrelated in triples:
        ss.setdefault(term, []).append(100.0 if more > less else 0.0)
        lms.setdefault(term, []).extend(100.0 if meant > unrelated else 0.0 for meant in (more, less))
    mean_ss, mean_lms = (statistics.fmean(map(statistics.fmean, scores.values())) for scores in (ss, lms))
    return mean_lms, mean_ss, mean_lms * min(mean_ss, 100 - mean_ss) / 50


def columns(triples: list[Triple]) -> tuple[list[str], list[float], list[float], list[float]]:
    terms, more, less, unrelated = (list(column) for column in zip(*triples, strict=True))
    return terms, more, less, unrelated


def drawn(terms: int, each: int, seed: int, *, lean: float = 0.4) -> list[Triple]:
    """Triples whose terms differ in how much they stereotype."""
    rng = np.random.default_rng(seed)
    return [
        (f"t{term:03}", float(rng.normal(pull)), float(rng.normal()), float(rng.normal(-1.0)))
        for term, pull in enumerate(rng.normal(lean, 0.3, terms))
        for _ in range(each)
    ]


def table_of(triples: list[Triple], **groups: str) -> list[Row]:
    return [triple(i, scores, term, **groups) for i, (term, *scores) in enumerate(triples)]


def test_by_hand() -> None:
    assert stereoset_scores(*columns(BY_HAND)) == pytest.approx((75.0, 200 / 3, 50.0))


def test_equals_the_loops() -> None:
    triples = drawn(12, 5, 0)
    random.Random(0).shuffle(triples)
    assert stereoset_scores(*columns(triples)) == pytest.approx(reference_stereoset(triples), abs=1e-10)


@pytest.mark.parametrize(
    ("summary", "value", "null"), [("lms", 75.0, 50.0), ("ss", 200 / 3, 50.0), ("icat", 50.0, None)]
)
def test_headline(summary: Summary, value: float, null: float | None) -> None:
    table = [*table_of(BY_HAND, category="profession"), unscored("u", category="profession")]
    found = estimates(measure(summary), table, data=DATA, rng_seed=0)
    assert [(one.statistic, one.group) for one in found] == [(summary, "all"), (summary, "category=profession")]
    assert found[0].value == pytest.approx(value)
    assert found[0].null == null
    assert (found[0].n, found[0].ties, found[0].unscored) == (4, 1, 1)


def test_few_terms_have_students_interval_cut_at_the_scale() -> None:
    # ss by term 33.3 and 100: mean 66.7, error 33.3, t(1 degree) = 12.7: far beyond both ends of the scale
    found = estimates(measure("ss"), table_of(BY_HAND), data=DATA, rng_seed=0)[0]
    assert (found.low, found.high) == (0.0, 100.0)
    assert found.method == "t over 2 target terms"


def test_icat_of_few_terms_has_no_interval() -> None:
    found = estimates(measure("icat"), table_of(BY_HAND), data=DATA, rng_seed=0)[0]
    assert np.isnan([found.low, found.high]).all()
    assert found.method == "too few: 2 target terms"
    assert found.p is None


def reference_cluster_bootstrap(triples: list[Triple], draws: int = 2000) -> list[tuple[float, float]]:
    """Percentiles of lms, ss and icat over terms drawn whole, with replacement."""
    rng = random.Random(3)
    by_term: dict[str, list[Triple]] = {}
    for one in triples:
        by_term.setdefault(one[0], []).append(one)
    values = []
    for _ in range(draws):
        chosen = enumerate(rng.choices(list(by_term), k=len(by_term)))
        again = [(f"{i}", *scores) for i, term in chosen for _, *scores in by_term[term]]
        values.append(reference_stereoset(again))  # type: ignore[arg-type]
    ordered = [sorted(column) for column in zip(*values, strict=True)]
    return [(column[int(0.025 * draws)], column[int(0.975 * draws)]) for column in ordered]


def test_intervals_resample_whole_terms() -> None:
    triples = drawn(40, 5, 1)
    summaries: tuple[Summary, ...] = ("lms", "ss", "icat")
    for summary, (low, high) in zip(summaries, reference_cluster_bootstrap(triples), strict=True):
        found = estimates(measure(summary), table_of(triples), data=DATA, rng_seed=0)[0]
        assert found.method == "bootstrap-t over 40 target terms"
        assert (found.low, found.high) == pytest.approx((low, high), abs=0.14 * (high - low))


def test_icat_interval_keeps_to_both_sides_of_its_kink() -> None:
    # ss exactly 50 in every second term's mirror: icat = lms, the most there can be, yet it may be less
    ss = np.array([40.0, 60.0] * 20)
    found = icat_interval(TermScores(lms=np.full(40, 80.0), ss=ss), rng=generator(0, "all"))
    assert found.low < 80.0 <= found.high


def test_icat_without_spread_says_so() -> None:
    found = icat_interval(TermScores(lms=np.full(12, 80.0), ss=np.full(12, 50.0)), rng=generator(0, "all"))
    assert found.method == "no spread: 12 target terms alike"


def test_categories_are_corrected_for_ss() -> None:
    table = [
        replace(one, item=f"{category}{one.item}", groups={**one.groups, "category": category})
        for seed, category in enumerate(("gender", "race"))
        for one in table_of(drawn(35, 4, seed))
    ]
    found = estimates(measure("ss"), table, data=DATA, rng_seed=0)
    family = [only(found, "ss", f"category={name}") for name in ("gender", "race")]
    assert all(one.p_holm is not None and one.p is not None and one.p_holm >= one.p for one in family)
    assert found[0].method == "bootstrap-t over 35 target terms"  # a term in two categories is one term of all


def test_rows_without_a_term_are_refused() -> None:
    with pytest.raises(StatsError, match="without a target term"):
        estimates(measure("ss"), [row(1, 1.0)], data=DATA, rng_seed=0)


def test_ss_does_without_the_unrelated_candidate_and_lms_cannot() -> None:
    pairs = [row(1, 1.0, target="nurse"), row(2, -1.0, target="poet")]
    assert estimates(measure("ss"), pairs, data=DATA, rng_seed=0)[0].value == 50.0
    with pytest.raises(StatsError, match="without an unrelated candidate"):
        estimates(measure("lms"), pairs, data=DATA, rng_seed=0)


@pytest.mark.parametrize("summary", ["lms", "ss", "icat"])
def test_nothing_scored(summary: Summary) -> None:
    found = estimates(measure(summary), [unscored(1, target="nurse")], data=DATA, rng_seed=0)[0]
    assert np.isnan([found.value, found.low, found.high]).all()
    assert (found.n, found.unscored, found.method) == (0, 1, "too few: 0 target terms")


def nearly(lms: float, ss: float, terms: int = 10) -> TermScores:
    """Terms that hardly differ, so that every interval is as good as its value."""
    spread = 1e-3 * np.linspace(-1, 1, terms)
    return TermScores(lms + spread, ss + spread[::-1])


@pytest.mark.parametrize(("ss", "icat"), [(80.0, 36.0), (20.0, 36.0), (55.0, 81.0)])
def test_the_interval_of_icat_closes_in_on_it(ss: float, icat: float) -> None:
    """90 · min(ss, 100 − ss) / 50; ten terms are enough, nine are not."""
    found = icat_interval(nearly(90.0, ss), rng=generator(0, "x"))
    assert (found.low, found.high) == pytest.approx((icat, icat), abs=0.01)
    assert found.low < icat < found.high
    assert icat_interval(nearly(90.0, ss, 9), rng=generator(0, "x")).method == "too few: 9 target terms"


def test_the_interval_of_a_change_of_icat_closes_in_on_it() -> None:
    """72 before, 36 after; and the other way round."""
    before, after = nearly(90.0, 60.0), nearly(90.0, 80.0)
    for a, b, change in ((before, after, -36.0), (after, before, 36.0)):
        found = icat_change_interval(a, b, rng=generator(0, "x"))
        assert (found.low, found.high) == pytest.approx((change, change), abs=0.01)
    few = icat_change_interval(nearly(90.0, 60.0, 9), nearly(90.0, 80.0, 9), rng=generator(0, "x"))
    assert few.method == "too few: 9 target terms"


@pytest.mark.parametrize(("summary", "by_term"), [("lms", [100.0, 50.0, 75.0]), ("ss", [50.0, 100.0, 100.0])])
def test_students_interval_and_test_over_terms(summary: Summary, by_term: list[float]) -> None:
    """Terms a, b, c: 4, 2 and 3 of 4 candidates beat the unrelated one; 1, 2 and 2 of 2 stereotypes win."""
    table = [
        triple(0, (3.0, 2.0, 1.0), "a"),
        triple(1, (2.0, 3.0, 1.0), "a"),
        triple(2, (3.0, 1.0, 2.0), "b"),
        triple(3, (3.0, 1.0, 2.0), "b"),
        triple(4, (3.0, 2.0, 1.0), "c"),
        triple(5, (3.0, 1.0, 2.0), "c"),
    ]
    found = only(estimates(measure(summary), table, data=DATA, rng_seed=0), summary)
    mean, error = statistics.fmean(by_term), statistics.stdev(by_term) / math.sqrt(3)
    assert found.value == pytest.approx(mean)
    assert found.low == pytest.approx(max(0.0, mean - t.ppf(0.975, 2) * error))
    assert found.high == 100.0
    assert found.p == pytest.approx(2 * t.sf((mean - 50) / error, 2))
