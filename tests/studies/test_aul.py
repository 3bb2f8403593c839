"""The parts of the study `aul` on results made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from unmask.core.errors import DataError
from unmask.core.estimate import Estimate, Value
from unmask.core.types import Outcome, Row
from unmask.findings import Finding, Plot, Section, charts
from unmask.findings.envelope import build
from unmask.findings.folder import create
from unmask.measures import find
from unmask.stats.table import ScoreTable
from unmask.studies import Runtime
from unmask.studies import find as study
from unmask.studies.results import aul
from unmask.studies.run import StudyPlan, plan_study
from unmask.studies.spec import StepContext
from unmask.studies.steps.diagnoses import load_diagnosis, run_diagnoses


def diagnosed(folder: Path, name: str, **content: object) -> Path:
    """The output folder of a step with one diagnosis."""
    found = {"findings": [Section(name, name, "", Finding((), ()))], **content}
    create(build("diagnosis", **found), folder / name)  # type: ignore[arg-type]
    return folder


def test_a_published_word_in_the_other_group_is_not_shared(tmp_path: Path) -> None:
    """*american* on the disadvantaged side is no agreement with the paper, which has it on the other."""
    top = [
        {"text": "american", "group": "disadvantaged", "count": 9, "log10": -4.0},
        {"text": "james", "group": "advantaged", "count": 5, "log10": -4.5},
        {"text": "other", "group": "advantaged", "count": 4, "log10": -5.0},
    ]
    words = {"crows-pairs": {"race-color": {"top": top}}, "nine-axes": {"race-color": {"top": top}}}
    folder = diagnosed(tmp_path, "frequency", details={"frequency": {"words": words}})
    outputs = {("diagnose", "m", "crows-pairs"): folder}
    (table,) = aul._words(outputs, None).tables
    assert not aul._words(outputs, 150).tables, "nor of its first pairs"
    assert [row[0] for row in table.rows] == ["crows-pairs"], "the paper's words are those of its data"
    assert table.rows[0][4:] == (1, "american")


def test_table_2_counts_words_in_the_corpus_that_is_given(tmp_path: Path) -> None:
    """The file is what the diagnosis reads, and its content is part of the step's key."""
    counts = tmp_path / "counts.tsv"
    counts.write_text("word\tcount\nold\t5\nyoung\t900\n")

    def planned() -> StudyPlan:
        options = dict(models=("builtin",), data=("nine-axes",), limit=30, **{"counts": str(counts)})
        return plan_study(study("aul"), options, Runtime(offline=True, threads=1))

    plan = planned()
    (name,) = [step.name for step in plan.steps if "frequency" in step.name]
    step = next(step for step in plan.steps if step.name == name)
    assert str(tmp_path) not in str(step.parameters), "no output has a path"
    small = {**step.parameters, "diagnoses": {"frequency": step.parameters["diagnoses"]["frequency"]}}
    run_diagnoses(StepContext(replace(step, parameters=small), tmp_path / "out", {}, plan.runtime))
    result = load_diagnosis(tmp_path / "out", "frequency")
    assert result is not None
    assert "nine-axes: frequencies from counts.tsv" in result.findings[0].finding.notes
    counts.write_text("word\tcount\nold\t900\nyoung\t5\n")
    assert planned().keys[name] != plan.keys[name]


def test_a_missing_file_of_counts_is_refused_before_anything_runs(tmp_path: Path) -> None:
    for given in (str(tmp_path / "none.tsv"), "none.tsv"):
        options = dict(models=("builtin",), data=("nine-axes",), **{"counts": given})
        with pytest.raises(DataError, match=r"counts: none\.tsv is not on this machine"):
            plan_study(study("aul"), options, Runtime(offline=True, threads=1))


def scored(measure: str, differences: list[float], direction: str = "stereo", writers: int = 0) -> ScoreTable:
    """Pairs with these differences, in turn by so many writers; the outcome as the measure's decimals make it."""
    rows = []
    for place, difference in enumerate(differences):
        digits = find(measure).decimals
        shown = difference if digits is None else round(difference, digits)
        outcome: Outcome = "more" if shown > 0 else "less" if shown < 0 else "tie"
        groups = {"direction": direction} | ({"writer": f"w{place % writers}"} if writers else {})
        rows.append(
            Row(
                measure=measure, data="crows-pairs", item=f"p/{place:03}", outcome=outcome,
                scores={"more": difference, "less": 0.0}, groups=groups,
            )
        )  # fmt: skip
    return ScoreTable.of(find(measure), rows, data="crows-pairs")


def test_over_estimation_is_tested_pair_by_pair_as_published_and_as_corrected() -> None:
    """Rounded to three decimals, 20 of the pairs are ties that CPS has not won; unrounded it has won them."""
    tables = {
        "cps": scored("cps", [0.0004] * 20 + [1.0] * 30 + [-1.0] * 10),
        "aul": scored("aul", [-1.0] * 40 + [1.0] * 20),
    }
    published, corrected = aul._over_estimates("m", tables)
    assert published.value.value == pytest.approx(100 * (30 - 20) / 60)
    assert corrected.value.value == pytest.approx(100 * (50 - 20) / 60)
    assert (published.n, corrected.n) == (60, 60)
    assert published.value.low < published.value.value < published.value.high
    assert published.p == pytest.approx(0.0987, abs=1e-3)  # 20 pairs only of cps, 10 only of aul
    assert published.where.endswith("cps − aul, as published")
    assert corrected.answer(corrected.p) == "yes"
    assert published.answer(published.p) == "not decided"


def test_claims_are_tested_over_writers_whose_pairs_decide_alike() -> None:
    """Eight writers of eight pairs each are eight decisions, not 64: a test over pairs would decide by chance."""
    won, lost = ([sign] * 8 for sign in (1.0, -1.0))
    by_pair = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0] * 8  # pair by pair, so that a writer has one sign
    tables = {"cps": scored("cps", by_pair, writers=8), "aul": scored("aul", (won + lost) * 4)}
    apart = {"cps": scored("cps", by_pair), "aul": tables["aul"]}
    (alike, *_), (independent, *_) = (list(aul._over_estimates("m", each)) for each in (tables, apart))
    assert alike.value.value == independent.value.value == 25.0
    assert (alike.method, independent.method) == ("McNemar over writers", "exact McNemar")
    assert alike.value.low < independent.value.low
    preferred, apart_preferred = (next(iter(aul._preferences("m", each))) for each in (tables, apart))
    assert (preferred.method, apart_preferred.method) == ("sign test over writers", "exact sign test")
    assert preferred.p is not None
    assert apart_preferred.p is not None
    assert apart_preferred.p < 0.001, "48 of 64 pairs"
    assert preferred.p > 0.05, "six of eight writers"


def test_everything_masked_is_claimed_to_favour_the_advantaged() -> None:
    """Above for stereotypes of advantaged groups, below for those of disadvantaged ones."""
    for direction, expected in (("antistereo", "above"), ("stereo", "below")):
        won, lost = [1.0] * 45 + [-1.0] * 5, [1.0] * 25 + [-1.0] * 25
        first, second = (won, lost) if expected == "above" else (lost, won)
        tables = {name: scored(name, second, direction) for name in ("aul", "aula")}
        tests = list(aul._by_direction("m", {"all-masked": scored("all-masked", first, direction), **tables}))
        assert [test.expected for test in tests] == [expected] * 2
        assert [test.answer(test.p) for test in tests] == ["yes"] * 2


def question(claim: str) -> str:
    return aul.PAPER.text.claims[claim].question


def test_a_diagnosis_answers_a_claim_only_by_the_measures_it_is_about() -> None:
    def estimate(measure: str, statistic: str, group: str = "all") -> Estimate:
        value = Value(0.1, 0.05, 0.15)
        return Estimate.of(value, measure=measure, statistic=statistic, data="d", model="m", group=group, n=9, p=0.001)

    given = [
        estimate("human/aul/cps", "auc-difference"),
        estimate("human/cps/aula", "auc-difference", "votes=five annotators"),
        estimate("human/aul/aula", "auc-difference"),
        estimate("human/aul", "auc"),
        estimate("meaning/tokens-shuffled", "drop"),
        estimate("meaning/tokens-shuffled", "drop", "counted=all tokens"),
        estimate("accuracy/aul/cps", "accuracy-difference"),
        estimate("accuracy/aul/pll", "accuracy-difference"),
        estimate("frequency/words", "log10-difference", "category=age"),
        estimate("frequency/aul", "slope"),
    ]
    tests = list(aul.diagnosis_claims(given))
    assert [(test.claim, test.expected) for test in tests] == [
        (question("human"), "above"),
        (question("human"), "below"),
        (question("meaning"), "above"),
        (question("accuracy"), "above"),
        (question("frequency"), "above"),
    ]
    assert tests[1].where == "m, d, cps − aula, five annotators"


@pytest.mark.parametrize(
    ("model", "data", "limit", "printed", "reason"),
    [
        ("bert-base-cased", "crows-pairs", None, 52.92, ""),
        ("bert-base-cased", "crows-pairs", 150, None, "a sample of 150 items only"),
        ("bert-base-cased", "nine-axes", None, None, "other data than crows-pairs"),
        ("builtin", "crows-pairs", None, None, "another model"),
    ],
)
def test_a_published_score_stands_only_beside_the_same_model_and_all_of_the_same_data(
    model: str, data: str, limit: int | None, printed: float | None, reason: str
) -> None:
    ours = Estimate.of(Value(52.0), measure="aul", statistic="bias-score", data=data, model=model, n=9)
    assert aul._published_score(ours, limit)[:2] == (printed, reason)
    gap = Estimate.of(Value(4.0), measure="direction/aul", statistic="direction-gap", data=data, model=model, n=9)
    assert aul._published(gap, limit)[:2] == (None if printed is None else 3.95, reason)


def test_pairs_of_low_agreement_are_listed_once_for_all_models(tmp_path: Path) -> None:
    from unmask.diagnose.human import LOW_AGREEMENT
    from unmask.findings import Table

    outputs = {}
    for model in ("a", "b"):
        finding = Finding((), (Table(LOW_AGREEMENT, ("data", "pair"), (("crows-pairs", "p/1"),)),))
        section = Section("human", "human", "", finding)
        outputs["diagnose", model, "d"] = diagnosed(tmp_path / model, "human", findings=[section])
    (table,) = aul._agreement(outputs).tables
    assert table.rows == (("crows-pairs", "p/1"),)


def test_plots_of_several_models_are_titled_by_what_they_show(tmp_path: Path) -> None:
    """Six plots of one title differed by their legends only."""
    outputs, chart = {}, charts.bars([charts.interval_row("m", Value(1.0, 0.5, 1.5), "s")], axis="x")
    for model in ("one", "two"):
        plots = (Plot("a", "Accuracy", "alt", chart), Plot("b", f"ROC of {model}", "alt", chart))
        made = build("diagnosis", findings=[Section("accuracy", "", "", Finding((), (), plots))], data=[{"name": "d"}])
        create(made, tmp_path / model / "accuracy")
        outputs["diagnose", model, "d"] = tmp_path / model
    titles = [plot.title for plot in aul._merged(outputs, "accuracy").plots]
    assert titles == ["Accuracy: one, d", "ROC of one", "Accuracy: two, d", "ROC of two"]
