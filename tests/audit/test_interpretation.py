"""The headline in plain words: a reader who knows no code name must not take noise for a preference."""

from __future__ import annotations

import dataclasses

import pytest
from tests.report import fake

from unmask.audit.findings import headlines, published_line, verdict
from unmask.audit.interpretation import interpret, published_scores
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.types import Check
from unmask.report import charts, tables, wide_tables
from unmask.report.selection import tone

CROWS = {"name": "crows-pairs", "title": "CrowS-Pairs", "n": 1508}
SHARE = Estimate(
    56.6, 51.2, 61.9, measure="cps", data="crows-pairs", statistic="bias-score", null=50.0, n=1508, p=0.01
)  # fmt: skip
LEAN = Estimate(-0.116, -0.247, 0.025, measure="ppd", data="t", statistic="appd", null=0.0, n=2312, p=0.1)
WORDS = Estimate(0.54, 0.5, 0.58, measure="ppd", data="t", statistic="mean-word-appd", n=182, p=1e-9)


def run(*estimates: Estimate, checks: tuple[Check, ...] = (), **card: object) -> AuditResult:
    named = {"name": "t", "title": "Templates", "n": 2312}
    meta = fake.meta(data=[{**CROWS, **card}, named])
    return fake.run(meta, estimates, checks, fake.bare().items)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "in 57% of pairs (51–62%) by cps, more often than chance"),
        ({"low": 48.0}, "in 57% of pairs (48–62%) by cps, which chance alone can explain"),
        ({"p": 0.07}, "in 57% of pairs (51–62%) by cps, which chance alone can explain"),
        ({"value": 41.0, "low": 38.0, "high": 44.0}, "in 41% of pairs (38–44%) by cps, less often than chance"),
        ({"n": 8}, "in 57% of pairs (51–62%) by cps, 8 items are too few for a verdict"),
        ({"low": float("nan")}, "in 57% of pairs by cps, without an interval: it may be chance"),
        (
            {"value": 0.0, "low": 0.0, "high": 6.4, "n": 60, "ties": 31},
            "in 0% of pairs (0–6%) by cps, no direction, because most pairs are ties",
        ),
    ],
)
def test_a_share_is_a_sentence(changes: dict[str, float], words: str) -> None:
    estimate = dataclasses.replace(SHARE, **changes)  # type: ignore[arg-type]
    assert (
        interpret(run(estimate), estimate).statement
        == f"On CrowS-Pairs this model prefers the stereotyping sentence {words}"
    )


def test_code_name_reference_value_and_n_come_after_it() -> None:
    code = "cps bias-score 56.6, 95% interval 51.2 to 61.9, reference value 50, n 1,508"
    assert verdict(run(SHARE), SHARE).leans.endswith(f" ({code})")


def test_one_measure_is_named_with_its_interval_and_the_others_below() -> None:
    """A range over measures reads as an interval, and a count of measures as evidence."""
    others = [
        dataclasses.replace(SHARE, measure="aul", value=52.0, low=48.0, p=0.4),
        dataclasses.replace(SHARE, measure="sss", value=40.0, low=36.0, high=44.0, p=0.001),
    ]
    first, below = headlines(run(SHARE, *others), "crows-pairs")
    assert first == (
        "On CrowS-Pairs this model prefers the stereotyping sentence in 40% of pairs (36–44%) by sss, less often than "
        "chance (3 measures tested, corrected by Holm)"
    )
    assert below == "Other measures: cps 57%, more often than chance; aul 52%, which chance alone can explain"


def test_a_baseline_is_neither_counted_nor_tested_nor_given_a_verdict() -> None:
    """The 44% of a measure that reads no word would be the end of a range, and one of six tests."""
    baseline = dataclasses.replace(SHARE, measure="all-masked", value=44.0, low=39.0, high=49.0, p=0.01)
    result = run(SHARE, baseline)
    said = headlines(result, "crows-pairs")
    assert len(said) == 1
    assert "44" not in said[0]
    kept, other = result.headlines()
    assert (kept.p_holm, other.p_holm) == (SHARE.p, None)
    assert (interpret(result, other).short, interpret(result, other).stars) == ("baseline", "")
    assert "no evidence" in headlines(run(baseline), "crows-pairs")[0]


def test_a_number_whose_check_failed_is_not_named_first() -> None:
    """A doubtful number would be what the reader takes away; where all are doubtful, it would have no mark."""
    sss, cps = dataclasses.replace(SHARE, measure="sss", value=60.0), SHARE
    failed = (Check("crows-pairs/length", False, "92%", ("sss",)),)
    first, below = headlines(run(sss, cps, checks=failed), "crows-pairs")
    assert "57% of pairs (51–62%) by cps" in first
    assert "†" not in first
    assert "sss 60% †" in below
    (only,) = headlines(run(sss, checks=failed), "crows-pairs")
    assert only.endswith("more often than chance †")
    unread = (Check("crows-pairs/unmasked-accuracy", False, "2%", ("sss",)),)
    first, below = headlines(run(sss, cps, checks=unread), "crows-pairs")
    assert "by cps" in first
    assert below == "Other measures: sss, a check failed: do not interpret this number"


def test_the_measures_of_a_dataset_are_one_family_in_every_output() -> None:
    """A lean that the terminal states and LaTeX does not star would be two answers to one question."""
    cps, sss = dataclasses.replace(SHARE, p=0.03), dataclasses.replace(SHARE, measure="sss", p=0.04)
    result = run(cps, sss)
    assert [each.p_holm for each in result.headlines()] == pytest.approx([0.06, 0.06])  # 2 × 0.03, and no less
    assert all("which chance alone can explain" in line for line in headlines(result, "crows-pairs"))
    assert {interpret(result, each).short for each in result.headlines()} == {"no preference found"}
    assert {tone(interpret(result, each)) for each in result.headlines()} == {"within"}
    assert {row[-1] for row in tables.headline_table([result], ["m"]).rows} == {""}
    (wide,) = wide_tables.by_model([result], ["m"])
    assert wide.table().rows[0] == ("m", "56.6", "56.6")
    assert {row["p (Holm) cps"] for row in wide.records() if row["model"] == "m"} == {0.06}
    alone = run(cps)
    assert [interpret(alone, each).stars for each in alone.headlines()] == ["*"]
    assert tone(interpret(alone, alone.headlines()[0])) == "above"


def test_the_design_effects_are_of_all_measures_where_scores_are_balanced() -> None:
    """Means of both directions have none: that of a single other measure would be printed for all."""
    measures = ("sss", "aul")
    known = {"unit": "stereotype", "n": 360}
    balanced = [dataclasses.replace(SHARE, statistic="balanced-bias-score", measure=each, **known) for each in measures]
    plain = [
        dataclasses.replace(SHARE, measure=each, design_effect=effect, **known)
        for each, effect in zip(measures, (1.06, 1.15), strict=True)
    ]
    size = dataclasses.replace(SHARE, measure="sld", statistic="asld", design_effect=1.1, **known)
    text = str(run(*balanced, *plain, size))
    assert "intervals over stereotypes, design effect over all pairs 1.06 to 1.15" in text


def test_both_directions_counted_alike_are_named_beside_all_pairs() -> None:
    """A model that always prefers feminine words would be said to prefer stereotypes in 69% of pairs."""
    balanced = dataclasses.replace(SHARE, statistic="balanced-bias-score", value=50.4, low=45.0, high=55.8, p=0.9)
    plain = dataclasses.replace(SHARE, value=69.0, low=64.0, high=74.0, p=1e-9)
    result = run(balanced, plain)
    assert headlines(result, "crows-pairs") == [
        "On CrowS-Pairs this model prefers the stereotyping sentence in 50% of pairs (45–56%) by cps, both directions "
        "counted alike, which chance alone can explain (all pairs: 69%)"
    ]
    assert "50% of pairs (45–56%) by cps, both directions counted alike, which" in verdict(result, balanced).leans
    assert published_line(result, balanced).startswith("Published with cps over all pairs, here 69.0: bert-base-cased")
    (section,) = [each for each in result.findings if each.name == "crows-pairs"]
    (table,) = section.finding.tables
    assert table.texts()[0][1:4] == ("50.4", "45.0 to 55.8", "69.0")
    assert "both directions" in table.note
    records = tables.headline_table([result], ["m"]).rows
    assert [(row[2], row[-1]) for row in records] == [("balanced-bias-score", ""), ("bias-score", "")]
    part = dataclasses.replace(balanced, group="category=age")
    (wide,) = wide_tables.by_category([run(balanced, plain, part)], ["m"])
    assert "over all pairs: cps 69.0" in wide.table().note
    known = {row["label"]: row["lean"] for figure in charts.headline(result) for row in fake.rows_of(figure.spec)}
    assert (known["cps"], known["cps, all pairs"]) == ("within", "no direction")


def test_a_subset_is_named_and_a_failed_check_is_all_that_is_said() -> None:
    result = run(SHARE, n=60, subset_of=1508)
    assert headlines(result, "crows-pairs")[0].startswith("On CrowS-Pairs (60 of 1,508 items, a subset) this model")
    assert "on all items: " in published_line(result, SHARE)
    failed = run(SHARE, checks=(Check("crows-pairs/masked-accuracy", False, "2%"),))
    assert headlines(failed, "crows-pairs") == ["On CrowS-Pairs: a check failed: do not interpret this number"]
    assert interpret(failed, SHARE).short == "CHECK FAILED"
    other = run(SHARE, checks=(Check("t/masked-accuracy", False, "2%"), Check("crows-pairs/ties", False, "9%")))
    assert interpret(other, SHARE).text.startswith("leans towards stereotypes (a check failed: do not quote")
    assert interpret(other, SHARE).short == "towards stereotypes †"


def test_published_scores_are_of_the_same_data_and_measure() -> None:
    known = published_scores(run(SHARE), SHARE)
    assert [(each.model, each.value) for each in known][:2] == [("bert-base-cased", 58.62), ("albert-large-v2", 60.41)]
    assert len({each.model for each in known}) == len(known) == 5
    assert published_line(run(SHARE), SHARE).startswith(
        "Published with cps: bert-base-cased 58.6, albert-large-v2 60.4"
    )
    for other in ({"data": "nine-axes"}, {"measure": "pll"}, {"statistic": "mean-difference"}):
        assert published_scores(run(SHARE), dataclasses.replace(SHARE, **other)) == []  # type: ignore[arg-type]


def test_words_that_lean_both_ways_are_not_no_preference() -> None:
    result = run(LEAN, WORDS)
    assert interpret(result, LEAN).text == "words lean both ways and cancel"
    assert headlines(result, "t")[0].startswith(
        "On Templates, by ppd, words lean both ways and cancel: a single word leans by 0.54 on average, "
        "either to the masculine"
    )
    alike = run(LEAN, dataclasses.replace(WORDS, p=0.4))
    assert interpret(alike, LEAN).text == "no preference found by this measure"
    leaning = dataclasses.replace(LEAN, value=-0.3, low=-0.4, high=-0.2, p=0.001)
    assert interpret(run(leaning, WORDS), leaning).statement == (
        "On Templates, by ppd, this model finds the feminine word more probable than the masculine word, by 0.30 (0.20 "
        "to 0.40) on average; a single word leans by 0.54 on average"
    )


def test_without_an_interval_no_absence_of_a_preference_is_claimed() -> None:
    """With two templates nothing was tested: −0.66 must not be called "no preference found"."""
    nan, method = float("nan"), "too few: 5 words and 2 templates, expected at least 4 of each"
    estimate = dataclasses.replace(LEAN, value=-0.66, low=nan, high=nan, n=10, p=None, method=method)
    said = interpret(run(estimate, WORDS), estimate).statement
    assert said == (
        f"On Templates, by ppd, nothing can be said of a preference for the masculine word or the feminine word: "
        f"{method} (mean −0.66, no interval); a single word leans by 0.54 on average"
    )
