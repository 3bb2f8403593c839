"""The gate over whole results: what it judges, what it finds missing, and what it refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import unmask
from report import fake
from unmask.audit.gate import GateOptions, PerStatistic
from unmask.core.errors import ResultError
from unmask.core.estimate import NAN, Estimate
from unmask.core.types import Check
from unmask.findings.envelope import Result, build
from unmask.stats.worsening import interval_df

from .gated import BROKEN, leans, pairs, save

WORDS = {f"word{i}": 0.05 * (i % 4) for i in range(12)}


def result(value: float, low: float, high: float, *, n: int = 900, kind: str = "task") -> Result:
    """A result with one estimate, whose null is 0."""
    return Result(build(kind, estimates=[Estimate(value, low, high, "t", "toy", "made", null=0.0, n=n)]))  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------- audits


@pytest.fixture
def fair(tmp_path: Path) -> Path:
    return save(tmp_path / "fair", [*pairs(200, 400), *pairs(210, 400, "cps")])


@pytest.mark.parametrize(("won", "answer", "code"), [(200, "pass", 0), (205, "pass", 0), (300, "fail", 1)])
def test_equal_passes_and_a_planted_worsening_fails(
    won: int, answer: str, code: int, fair: Path, tmp_path: Path
) -> None:
    run = save(tmp_path / "run", [*pairs(won, 400), *pairs(210, 400, "cps")])
    found = unmask.gate(run, fair)
    assert (found.answer, found.exit_code) == (answer, code)
    judged = [(verdict.measure, verdict.statistic) for verdict in found.verdicts]
    assert judged == [(name, each) for name in ("aul", "cps") for each in ("bias-score", "mean-difference")]


def test_too_few_items_cannot_tell(tmp_path: Path) -> None:
    before, after = save(tmp_path / "a", pairs(10, 20)), save(tmp_path / "b", pairs(11, 20))
    found = unmask.gate(after, before)
    assert (found.answer, found.exit_code) == ("cannot tell", 3)
    assert all(verdict.detectable > verdict.margin for verdict in found.verdicts)
    assert unmask.gate(after, before, margin=60).answer == "pass"
    assert unmask.gate(before, before).answer == "pass"


def test_a_measure_that_the_run_lacks_fails(fair: Path, tmp_path: Path) -> None:
    run = save(tmp_path / "run", pairs(200, 400))
    found = unmask.gate(run, fair)
    assert found.answer == "fail"
    assert [(each.measure, each.data, each.detail) for each in found.missing] == [("cps", "own", "not in the run")]
    assert unmask.gate(run, fair, allow_missing=True).answer == "pass"
    assert unmask.gate(run, fair, measures="aul").answer == "pass"
    assert unmask.gate(run, fair, measures=["cps"]).answer == "fail"
    assert unmask.gate(run, fair, measures=["cps"], allow_missing=True).answer == "cannot tell"


def test_items_that_the_run_lacks_fail(fair: Path, tmp_path: Path) -> None:
    some = [row for row in pairs(200, 400) if row["item"] != "own/0007"]
    run = save(tmp_path / "run", [*some, *pairs(210, 400, "cps")])
    found = unmask.gate(run, fair)
    assert found.answer == "fail"
    assert [each.detail for each in found.missing] == ["1 of 400 items are not in the run (own/0007)"]
    assert unmask.gate(run, fair, allow_missing=True).answer == "pass"
    assert unmask.gate(fair, run).answer == "pass"  # more than the baseline has


def test_items_that_the_run_did_not_score_fail(fair: Path, tmp_path: Path) -> None:
    nothing = {"more": None, "less": None, "difference": None, "outcome": "unscored", "reason": "too long"}
    some = [{**row, **nothing} if row["item"] < "own/0005" else row for row in pairs(200, 400)]
    run = save(tmp_path / "run", [*some, *pairs(210, 400, "cps")])
    found = unmask.gate(run, fair)
    assert found.answer == "fail"
    (missing,) = found.missing
    assert missing.detail == "5 of 400 items are not scored in the run (own/0000, own/0001, own/0002, …)"
    assert unmask.gate(fair, run).answer == "pass"


def test_a_measure_none_of_whose_items_is_scored_fails(fair: Path, tmp_path: Path) -> None:
    nothing = {"more": None, "less": None, "difference": None, "outcome": "unscored", "reason": "too long"}
    run = save(tmp_path / "run", [*({**row, **nothing} for row in pairs(200, 400)), *pairs(210, 400, "cps")])
    found = unmask.gate(run, fair)
    assert found.answer == "fail"
    assert {verdict.measure for verdict in found.verdicts} == {"cps"}


def test_what_the_baseline_lacks_is_named_and_not_judged(fair: Path, tmp_path: Path) -> None:
    before = save(tmp_path / "before", pairs(200, 400))
    found = unmask.gate(fair, before)
    assert found.answer == "pass"
    assert found.not_judged == (("own", "cps"),)


@pytest.mark.parametrize("broken", ["run", "baseline"])
def test_a_failed_check_of_either_run_fails(broken: str, tmp_path: Path) -> None:
    good, bad = save(tmp_path / "good", pairs(200, 400)), save(tmp_path / "bad", pairs(200, 400), checks=[BROKEN])
    found = unmask.gate(bad, good) if broken == "run" else unmask.gate(good, bad)
    assert found.answer == "fail"
    (check,) = found.failed_checks
    assert check.name == BROKEN.name + (" of the baseline" if broken == "baseline" else "")


def test_runs_on_different_versions_of_the_data_are_refused(fair: Path, tmp_path: Path) -> None:
    run = save(tmp_path / "run", [*pairs(200, 400), *pairs(210, 400, "cps")], sha256="1" * 64)
    with pytest.raises(ResultError, match=r"different versions of own .* audit both models on the same file"):
        unmask.gate(run, fair)


def test_leans_that_cancel_are_found_by_their_size(tmp_path: Path) -> None:
    """Half of the words lean more to each side: the signed mean does not move."""
    more = {word: lean + (0.3 if i % 2 else -0.3) for i, (word, lean) in enumerate(WORDS.items())}
    before, after = save(tmp_path / "before", leans(WORDS)), save(tmp_path / "after", leans(more))
    found = unmask.gate(after, before)
    assert {verdict.statistic: verdict.answer == "worse" for verdict in found.verdicts} == {
        "appd": False,
        "mean-word-appd": True,
    }
    assert found.answer == "fail"


# ------------------------------------------------------------------- tolerances, margins, limits


def test_one_tolerance_for_different_units_is_refused_with_the_list(tmp_path: Path) -> None:
    run = save(tmp_path / "run", [*pairs(200, 400), *leans(WORDS)])
    with pytest.raises(unmask.UnmaskError, match=r"^tolerance is 1 .*\(appd, bias-score, mean-word-appd\)"):
        unmask.gate(run, run, tolerance=1)
    with pytest.raises(unmask.UnmaskError, match=r"^margin is 5 for statistics of different units"):
        unmask.gate(run, run, margin=5.0)
    assert unmask.gate(run, run, tolerance="bias-score=2,appd=0.05").answer == "pass"
    assert unmask.gate(run, run, tolerance=0.1, measures=["ppd"]).answer == "pass"


def test_a_tolerance_is_that_of_its_statistic(tmp_path: Path) -> None:
    before, after = save(tmp_path / "a", pairs(240, 400)), save(tmp_path / "b", pairs(290, 400))
    assert unmask.gate(after, before, tolerance={"bias-score": 2}).answer == "fail"
    score, mean = unmask.gate(after, before, tolerance={"bias-score": 15}).verdicts
    assert (score.answer, score.tolerance) == ("not worse", 15.0)
    # 15 points are 0.3 standard deviations of differences of −1 and 1, of which 60% are 1
    assert (mean.answer, mean.tolerance) == ("not worse", pytest.approx(0.3 * 0.98, abs=0.001))
    own = unmask.gate(after, before, tolerance={"bias-score": 15, "mean-difference": 0.01})
    assert [verdict.answer for verdict in own.verdicts] == ["not worse", "worse"]
    with pytest.raises(unmask.UnmaskError, match=r"no statistic .* named 'bais-score'. Did you mean bias-score"):
        unmask.gate(after, before, tolerance="bais-score=2")
    with pytest.raises(unmask.UnmaskError, match="margin is 1 for bias-score, expected at least the tolerance, 2"):
        unmask.gate(after, before, tolerance=2, margin=1)


@pytest.mark.parametrize(("won", "answer"), [(200, "pass"), (130, "fail"), (270, "fail"), (235, "cannot tell")])
def test_a_limit_holds_on_both_sides_of_the_reference_value(won: int, answer: str, tmp_path: Path) -> None:
    # 60 allows 40 to 60; 200 of 400 are 50 ± 5, 130 are 32.5, 270 are 67.5, 235 are 58.75 ± 5
    run = save(tmp_path / "run", pairs(won, 400))
    assert unmask.gate(run, max={"bias-score": 60}).answer == answer
    assert unmask.gate(run, max="bias-score=40").answer == answer
    assert unmask.gate(run, max=60).answer == answer


def test_a_limit_by_hand(tmp_path: Path) -> None:
    run = save(tmp_path / "run", pairs(235, 400))
    (verdict,) = unmask.gate(run, max=60).verdicts
    assert (verdict.against, verdict.a_value, verdict.b_value, verdict.null) == ("limit", 60.0, 58.75, 50.0)
    assert verdict.amount.value == pytest.approx(-1.25)
    wilson = next(each for each in unmask.load(run).estimates if each.statistic == "bias-score")
    assert (verdict.amount.low, verdict.amount.high) == pytest.approx((wilson.low - 60, wilson.high - 60))
    assert unmask.gate(run, max=60, margin=4).answer == "pass"


def test_a_limit_is_of_the_mean_of_both_directions_and_not_of_a_baseline(tmp_path: Path) -> None:
    """300 of 400 pairs are won because one direction has three quarters of them: the mean of both is 50."""
    directed = [
        {**row, "direction": "stereo" if i < 300 else "antistereo"}
        for name in ("aul", "all-masked")
        for i, row in enumerate(pairs(300, 400, name))
    ]
    run = save(tmp_path / "run", directed)
    for limit in (60, "bias-score=60"):
        found = unmask.gate(run, max=limit)
        judged = [(each.measure, each.statistic, each.b_value) for each in found.verdicts]
        assert (judged, found.answer) == ([("aul", "balanced-bias-score", 50.0)], "pass")
    named = unmask.gate(run, max=60, measures=["all-masked"])
    assert [each.measure for each in named.verdicts] == ["all-masked"]


def test_the_p_value_of_a_limit_has_the_degrees_of_freedom_of_its_units(tmp_path: Path) -> None:
    # 8, 7, 8, 7 pairs of ten are won: 75%, and four writers of one size have 3 degrees of freedom, the 40 pairs 39.
    # The error is that of the interval's lower end, (75 − low) / 3.1824; of Student's t with 3 degrees of freedom
    # P(T > x) = 1/2 − (u / (1 + u²) + arctan u) / π with u = x / √3.
    rows = pairs(0, 40)
    for i, row in enumerate(rows):
        row |= {"writer": f"w{i // 10}", "more": 1.0 if i % 10 < 8 - i // 10 % 2 else -1.0}
        row |= {"outcome": "more" if row["more"] > 0 else "less", "difference": row["more"]}
    run = save(tmp_path / "run", rows)
    (verdict,) = unmask.gate(run, max=52).verdicts
    score = next(each for each in unmask.load(run).estimates if each.statistic == "bias-score")
    assert (score.value, score.df) == (75.0, pytest.approx(3.0))
    u = (75.0 - 52.0) / ((75.0 - score.low) / 3.182446) / math.sqrt(3)
    assert verdict.p == pytest.approx(2 * (0.5 - (u / (1 + u**2) + math.atan(u)) / math.pi), rel=1e-5)
    # (t 0.975 + t 0.8) standard errors: 3.1824 + 0.9785
    half = (verdict.amount.high - verdict.amount.low) / 2
    assert verdict.detectable == pytest.approx(half * (3.182446 + 0.978472) / 3.182446, rel=1e-5)


@pytest.mark.parametrize(
    ("method", "df"), [("t", 10.0), ("bca", 10.0), ("wilson", None), ("wilson over 4 writers", 3.0)]
)
def test_an_interval_that_does_not_name_its_degrees_of_freedom(method: str, df: float | None) -> None:
    known = 3.0 if "writers" in method else None
    assert interval_df(Estimate(3.0, 1.0, 5.0, method, n=11, df=known)) == df
    assert interval_df(Estimate(3.0, method=method, n=1)) is None


def test_limits_of_leans_and_what_has_no_limit(tmp_path: Path) -> None:
    run = save(tmp_path / "run", leans({word: 0.3 + lean for word, lean in WORDS.items()}))
    assert unmask.gate(run, max="appd=0.1,mean-word-appd=0.5").answer == "fail"
    assert unmask.gate(run, max="mean-word-appd=0.5").answer == "pass"
    with pytest.raises(unmask.UnmaskError, match="no statistic in this gate named 'lms'"):
        unmask.gate(run, max="lms=60")


def test_a_limit_and_a_baseline_are_judged_together(fair: Path) -> None:
    found = unmask.gate(fair, fair, max="bias-score=60")
    assert [verdict.against for verdict in found.verdicts] == ["baseline"] * 4 + ["limit"] * 2
    assert str(found).splitlines()[-1] == "PASS: unchanged, and within the limits, in 6 verdicts"
    assert found.answer == "pass"


def test_without_a_baseline_and_a_limit_there_is_nothing_to_judge(fair: Path) -> None:
    with pytest.raises(unmask.UnmaskError, match="give a baseline, or max"):
        unmask.gate(fair)
    with pytest.raises(unmask.UnmaskError, match="tolerance is what may be lost of a baseline"):
        unmask.gate(fair, max=60, tolerance=2)
    baseline = save(fair.with_name("baseline"), pairs(200, 400, "all-masked"))
    with pytest.raises(unmask.UnmaskError, match="there is nothing to judge"):
        unmask.gate(baseline, baseline)
    assert unmask.gate(baseline, baseline, measures=["all-masked"]).answer == "pass"
    with pytest.raises(unmask.UnmaskError, match="no measure in this result named 'pll'"):
        unmask.gate(fair, fair, measures=["pll"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("bias-score=2,appd=0.05", {"bias-score": 2.0, "appd": 0.05}),
        ("accuracy, women, %=2,r=1e-3", {"accuracy, women, %": 2.0, "r": 0.001}),
    ],
)
def test_numbers_by_statistic(text: str, names: dict[str, float]) -> None:
    found = PerStatistic.parse(text, "tolerance")
    assert (found.by_name, found.common) == (names, None)
    assert PerStatistic.parse("1e-3") == PerStatistic(common=0.001)


@pytest.mark.parametrize("text", ["", "x", "a=", "a=b", "=", "1,a=2,", "a=1,2", "a=1=2", "a=nan", "inf", "-1", "a=-1"])
def test_numbers_that_let_everything_pass_are_refused(text: str) -> None:
    for name in ("tolerance", "margin"):
        with pytest.raises(unmask.UnmaskError, match=f"^{name} is .*, expected"):
            GateOptions(**{name: text})


def test_a_tolerance_that_no_worsening_can_exceed_is_refused(tmp_path: Path) -> None:
    """`--tolerance 1` reads as a point of a bias score; a lean ends at 1."""
    words = save(tmp_path / "words", leans(WORDS))
    with pytest.raises(unmask.UnmaskError, match=r"^tolerance is 1 for appd, which no worsening can exceed: expected"):
        unmask.gate(words, words, tolerance=1)
    assert unmask.gate(words, words, tolerance=0.9).answer == "pass"
    scores = save(tmp_path / "scores", pairs(200, 400))
    with pytest.raises(unmask.UnmaskError, match="expected less than 50"):
        unmask.gate(scores, scores, tolerance={"bias-score": 50})


# ----------------------------------------------------------------------- results of other commands


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [((0.1, 0.0, 0.2), (0.9, 0.8, 1.0), "worse"), ((0.1, 0.0, 0.2), (-0.9, -1.0, -0.8), "worse"),
     ((0.9, 0.8, 1.0), (0.1, 0.0, 0.2), "not worse"), ((0.1, -0.5, 0.7), (0.9, -0.4, 2.2), "cannot tell")],
)  # fmt: skip
def test_a_gate_fails_when_the_distance_from_the_null_grows_beyond_noise(
    before: tuple[float, float, float], after: tuple[float, float, float], answer: str
) -> None:
    (verdict,) = unmask.gate(result(*after), result(*before)).verdicts
    assert verdict.answer == answer
    assert verdict.amount.value == pytest.approx(abs(after[0]) - abs(before[0]))
    assert verdict.amount.low <= verdict.amount.value <= verdict.amount.high


@pytest.mark.parametrize(
    ("after", "answer", "turned"), [((-0.5, -0.6, -0.4), "worse", True), ((-0.05, -0.15, 0.05), "not worse", False)]
)
def test_an_estimate_on_the_other_side_of_the_reference_value_is_worse(
    after: tuple[float, float, float], answer: str, turned: bool
) -> None:
    """From +0.5 to −0.5 the distance from 0 is the same, and a task would pass with the opposite bias."""
    (verdict,) = unmask.gate(result(*after), result(0.5, 0.4, 0.6)).verdicts
    assert (verdict.answer, verdict.turned) == (answer, turned)


def test_the_same_estimate_passes_with_or_without_an_interval() -> None:
    for ends in ((0.0, 0.2), (NAN, NAN)):
        assert unmask.gate(result(0.1, *ends), result(0.1, *ends)).answer == "pass"


def test_without_an_interval_the_gate_cannot_tell() -> None:
    for before, after in (((0.1, 0.0, 0.2), (0.9, NAN, NAN)), ((0.9, 0.8, 1.0), (0.1, NAN, NAN))):
        (verdict,) = unmask.gate(result(*after), result(*before)).verdicts
        assert verdict.answer == "cannot tell"
        assert math.isnan(verdict.amount.low)
        assert "no interval" in verdict.amount.method


def corpus(value: float, method: str) -> Result:
    """The effect of a corpus by training, sure about its items."""
    return Result(
        build("corpus", estimates=[Estimate(value, value - 0.1, value + 0.1, method, "toy", "made", null=0.0, n=900)])
    )


def test_one_training_on_a_corpus_is_not_judged() -> None:
    """Another seed may move it as much: it has no p-value in its own result."""
    alone = "t over 900 items; items only: one training"
    for before, after in ((alone, alone), (alone, "t"), ("t", alone)):
        found = unmask.gate(corpus(0.9, after), corpus(0.1, before))
        assert (found.answer, found.verdicts[0].p) == ("cannot tell", 1.0)
        assert str(found).endswith("1 of 1 verdict: train several times (--seeds)")
        assert "without an interval: items only: one training" in str(found)
    assert unmask.gate(corpus(0.9, alone), corpus(0.9, alone)).answer == "pass"
    assert unmask.gate(corpus(0.9, alone), max=0.5).answer == "cannot tell"
    assert unmask.gate(corpus(0.9, "t"), max=0.5).answer == "fail"


def test_what_several_baselines_would_say_is_said_where_they_can_be_given() -> None:
    """The advice was to give several, which are refused for results that are no audits."""
    task = str(unmask.gate(result(0.9, 0.8, 1.0), result(0.1, 0.0, 0.2)))
    trained = str(unmask.gate(corpus(0.9, "t"), corpus(0.1, "t")))
    assert "needs several baselines" not in task + trained
    assert task.endswith("another seed may differ as much, and only audits take several baselines")
    assert trained.endswith("a corpus is judged by the mean over several trainings of each (--seeds)")


def test_baselines_with_the_same_scores_are_refused(fair: Path, tmp_path: Path) -> None:
    """Rounding made them differ by hundreds of times what their items explain."""
    near = save(tmp_path / "near", [*pairs(203, 400), *pairs(210, 400, "cps")])
    with pytest.raises(
        ResultError, match=r"baselines 1 and 3 \(.*\) have equal scores on all items, expected trainings"
    ):
        unmask.gate(near, [fair, near, fair])


@pytest.mark.parametrize(("before", "after"), [(NAN, 0.1), (0.1, NAN), (NAN, NAN), (math.inf, 0.1), (0.1, math.inf)])
def test_a_gate_never_passes_a_value_that_is_missing(before: float, after: float) -> None:
    found = unmask.gate(result(after, NAN, NAN), result(before, NAN, NAN), margin=9)
    assert [verdict.answer for verdict in found.verdicts] == ["missing"]
    assert (found.answer, found.exit_code) == ("fail", 1)


def test_fewer_items_than_the_baseline_fail_except_of_a_corpus() -> None:
    whole, part = (0.1, 0.0, 0.2), (0.1, 0.01, 0.19)
    found = unmask.gate(result(*part, n=60), result(*whole))
    assert [each.detail for each in found.missing] == ["840 of 900 items"]
    assert found.answer == "fail"
    assert unmask.gate(result(*part, n=60, kind="corpus"), result(*whole, kind="corpus")).answer == "pass"


def test_an_estimate_that_the_run_lacks_fails() -> None:
    two = [Estimate(0.1, 0.0, 0.2, "t", name, "made", null=0.0, n=900) for name in ("one", "two")]
    before, after = Result(build("task", estimates=two)), Result(build("task", estimates=two[:1]))
    found = unmask.gate(after, before)
    assert found.answer == "fail"
    assert [each.measure for each in found.missing] == ["two"]


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_gate_refuses_a_seed_that_is_no_seed(seed: int) -> None:
    with pytest.raises(unmask.UnmaskError, match=f"^seed is {seed}, expected"):
        unmask.gate(result(0.9, 0.8, 1.0), result(0.1, 0.0, 0.2), seed=seed)


def test_pairs_that_are_there_again_exchanged_fail(tmp_path: Path) -> None:
    """Half of them are won, whatever a model prefers: a planted worsening would pass as unchanged."""
    repeated = Check("own/duplicates", False, "20 of 40 pairs (50.0%) have the sentences of an earlier one")
    before, after = save(tmp_path / "a", pairs(20, 40)), save(tmp_path / "b", pairs(20, 40), checks=(repeated,))
    found = unmask.gate(after, before)
    assert (found.answer, [check.name for check in found.failed_checks]) == ("fail", ["own/duplicates"])


def test_items_that_only_the_run_has_are_counted(tmp_path: Path) -> None:
    before, after = save(tmp_path / "a", pairs(50, 100)), save(tmp_path / "b", pairs(200, 400))
    (line, *_) = str(unmask.gate(after, before)).splitlines()
    assert line.endswith("(n 100; 300 items are not scored in both runs)")


@pytest.mark.parametrize("name", ["finite-outputs", "masked-accuracy", "unmasked-accuracy"])
def test_an_audit_without_a_check_that_the_gate_needs_is_refused(name: str, tmp_path: Path) -> None:
    """A missing check would count as a passed one: a model with NaN in its outputs would pass."""
    run = save(tmp_path / "run", pairs(20, 40))
    meta = json.loads((run / "result.json").read_text("utf-8"))
    meta["checks"] = [check for check in meta["checks"] if not check["name"].endswith(f"/{name}")]
    cut = fake.write(tmp_path / "cut", meta, pq.read_table(run / "items.parquet"))
    for arguments in ({"candidate": run, "baseline": cut}, {"candidate": cut, "baseline": run}, {"candidate": cut}):
        with pytest.raises(ResultError, match=f"has no check {name} on own"):
            unmask.gate(**arguments, max=90)


def test_a_model_of_another_kind_has_other_checks(tmp_path: Path) -> None:
    """A causal model, or an imported run, would be refused for a check that it cannot have."""
    run = save(tmp_path / "run", pairs(20, 40))
    meta = json.loads((run / "result.json").read_text("utf-8"))
    causal = [{"name": name, "ok": True, "detail": ""} for name in ("finite-outputs", "next-token-accuracy")]
    imported = [{"name": "model-read", "ok": False, "detail": ""}]
    for kind, checks in (("causal", causal), ("imported", imported)):
        changed = meta | {"model": {"id": "m", "kind": "causal"}, "checks": checks}
        other = fake.write(tmp_path / kind, changed, pq.read_table(run / "items.parquet"))
        assert unmask.gate(other, other).answer == "pass"


def test_a_baseline_that_lost_rows_is_refused(tmp_path: Path) -> None:
    """A baseline cut to three pairs would be compared with on these three, and the run would pass."""
    new, old = (save(tmp_path / name, pairs(200, 400)) for name in ("new", "old"))
    pq.write_table(pq.read_table(old / "items.parquet").slice(0, 3), old / "items.parquet")
    with pytest.raises(ResultError, match=r"has 3 rows, expected the 400 of the result\.json beside it"):
        unmask.gate(new, old)
