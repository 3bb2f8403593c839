"""`agreement`: rankings made by plain loops over one sentence at a time, τ by scipy."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

import unmask
import zoo
from unmask import data as datasets
from unmask.core.errors import DataError
from unmask.core.types import Dataset, Outcome, Row
from unmask.diagnose import UnitOptions
from unmask.diagnose.agreement import AGREEMENT
from unmask.diagnose.spec import DiagnosisObservation
from unmask.findings import Section, Value

from .plainly import filled, run, slow_scores

MODELS = ("bert-uncased", "roberta", "xlm-roberta", "albert")
MEASURES = ("aul", "sss", "all-masked")
HARD, PAIRS = 16, 24


@cache
def part() -> Dataset:
    """The hard cases of the miniature CrowS-Pairs and others; of religion a single pair."""
    whole = datasets.load("crows-pairs", data_dir=zoo.MINIATURE)
    others = [item for item in whole.items[HARD:] if item.groups["category"] != "religion"]
    return replace(whole, items=(*whole.items[:HARD], *others[: PAIRS - HARD]))


@cache
def found_by(models: tuple[str, ...], measures: tuple[str, ...] = MEASURES) -> Section:
    options = unmask.Options(store=False)
    settings = UnitOptions(measures=measures)
    folders = [zoo.folder(model) for model in models]
    (found,) = run([AGREEMENT], folders, data=part(), settings=settings, options=options)
    return found


@cache
def differences(architecture: str, name: str) -> dict[str, float | None]:
    made: dict[str, float | None] = {}
    for item in part().items:
        scores = slow_scores(architecture, name, item)
        made[item.id] = None if scores is None else scores["more"] - scores["less"]
    return made


def score(architecture: str, name: str) -> float:
    """The bias score, empty spans of sss not won."""
    found = differences(architecture, name).values()
    counted = [one for one in found if one is not None or name == "sss"]
    return 100 * sum(one is not None and one > 0 for one in counted) / len(counted)


@pytest.mark.thorough
def test_models_are_ranked_as_by_plain_loops() -> None:
    table = found_by(MODELS).finding.tables[0]
    assert table.title == "Models ranked by two measures"
    assert [(row[1], row[2]) for row in table.rows] == [("aul", "sss"), ("aul", "all-masked"), ("sss", "all-masked")]
    exact = []
    for row in table.rows:
        a, b = ([score(model, str(name)) for model in MODELS] for name in row[1:3])
        cell = row[3]
        assert isinstance(cell, Value)
        assert cell.value == pytest.approx(kendalltau(a, b).statistic, abs=1e-9)
        assert cell.low <= cell.value <= cell.high
        assert cell.low < cell.high
        assert row[4] == len(MODELS)
        untied = len({*a}) == len({*b}) == len(MODELS)
        assert (row[7] == "exact") == untied
        if untied:
            exact.append(row[5])
            assert row[5] == pytest.approx(kendalltau(a, b, method="exact").pvalue)
    assert exact


@pytest.mark.parametrize("architecture", ["bert-uncased", "roberta"])
def test_bias_types_are_ranked_as_by_plain_loops(architecture: str) -> None:
    tables = {table.title: table for table in found_by(MODELS).finding.tables}
    means: dict[str, dict[str, float]] = {}
    categories = sorted({item.groups["category"] for item in part().items})
    for name in MEASURES:
        found = differences(architecture, name)
        for category in categories:
            own = [found[item.id] for item in part().items if item.groups["category"] == category]
            kept = [one for one in own if one is not None]
            means.setdefault(category, {})[name] = sum(kept) / len(kept) if len(kept) > 1 else float("nan")
    ranked = {category: by for category, by in means.items() if not np.isnan([*by.values()]).any()}
    assert 3 <= len(ranked) < len(categories)  # a type with one pair is left out
    rows = [row for row in tables["Rank of each bias type by mean difference"].rows if row[0] == _id(architecture)]
    assert [row[2] for row in rows] == list(ranked)
    for row in rows:
        for name, rank in zip(MEASURES, row[4:], strict=True):
            mine = ranked[str(row[2])][name]
            assert rank == 1 + sum(other[name] > mine for other in ranked.values())
    for row in tables["Bias types ranked by two measures"].rows:
        if row[0] == _id(architecture):
            a, b = ([by[str(name)] for by in ranked.values()] for name in row[2:4])
            assert row[4].value == pytest.approx(kendalltau(a, b).statistic)  # type: ignore[union-attr]
            assert row[6] == pytest.approx(kendalltau(a, b, method="exact").pvalue)


def _id(architecture: str) -> str:
    return zoo.folder(architecture).resolve().name


def test_a_causal_model_is_compared_where_measures_are_shared() -> None:
    found = found_by(("gpt2", "opt", "qwen2"), ("ll", "cll", "sld"))
    assert [(row[1], row[2], row[4]) for row in found.finding.tables[0].rows] == [
        ("ll", "cll", 3),
        ("ll", "sld", 3),
        ("cll", "sld", 3),
    ]


@pytest.mark.parametrize("models", [MODELS[:1], MODELS[:2]])
def test_too_few_models_get_a_note_instead(models: tuple[str, ...]) -> None:
    finding = found_by(models).finding
    assert "Models ranked by two measures" not in [table.title for table in finding.tables]
    assert f"{len(models)} model" in finding.notes[0]
    assert "give at least 3" in finding.notes[0]
    assert [plot.id for plot in finding.plots] == [f"agreement-{n + 1}" for n in range(len(models))]


def made(name: str, by_category: dict[str, list[float]]) -> list[Row]:
    rows = []
    for category, values in by_category.items():
        for place, value in enumerate(values):
            outcome: Outcome = "more" if value > 0 else "less"
            scores = {"more": value, "less": 0.0}
            rows.append(Row(name, "own", f"{category}-{place}", {"category": category}, scores, outcome))  # type: ignore[arg-type]
    return rows


def concluded(**measures: dict[str, list[float]]) -> Any:
    one = {name.replace("_", "-"): made(name.replace("_", "-"), by) for name, by in measures.items()}
    number = len(next(iter(one.values())))
    data = datasets.from_records([("a b", "a c")] * number, name="own")
    return AGREEMENT.conclude([DiagnosisObservation({"id": "m"}, data, one)], UnitOptions()).finding


def test_reverse_rankings_by_hand() -> None:
    up = {"age": [1.0, 1.1], "race": [2.0, 2.1], "sex": [3.0, 3.1]}
    down = {"age": [3.0, 3.1], "race": [2.0, 2.1], "sex": [1.0, 1.1]}
    finding = concluded(cps=up, aul=down)
    (row,) = filled(finding)[0].rows
    assert row[4].method == "decided orders over 6 pairs"
    assert (row[4].value, row[4].low, row[4].high) == pytest.approx((-1.0, -1.0, -1.0))
    assert [(row[2], row[4], row[5]) for row in filled(finding)[1].rows] == [
        ("age", 3, 1),
        ("race", 2, 2),
        ("sex", 1, 3),
    ]


def test_sizes_are_ranked_by_size() -> None:
    by = {"age": [4.0, -4.0], "race": [1.0, 1.0], "sex": [-2.0, -2.0]}
    finding = concluded(cps=by, sld=by)
    # cps: means 0, 1, -2; sld: sizes 4, 1, 2
    assert [row[4:] for row in filled(finding)[1].rows] == [(2, 1), (1, 3), (3, 2)]


def test_types_of_one_pair_are_not_ranked() -> None:
    by = {"age": [1.0, 2.0], "race": [2.0, 3.0], "sex": [3.0]}
    finding = concluded(cps=by, aul=by)
    assert not filled(finding)
    assert "fewer than 3 bias types" in finding.notes[1]


def by_writer(spread: float) -> Any:
    """Three types of ten pairs, of five writers who differ: two measures rank them alike."""
    rows = []
    for name in ("aul", "cps"):
        for level, category in enumerate(("age", "race", "sex")):
            for at in range(10):
                value = level + spread * (at // 2 - 2) + 0.01 * (at % 2)
                groups = {"category": category, "writer": f"{category} {at // 2}"}
                outcome: Outcome = "more" if value > 0 else "less"
                scores = {"more": value, "less": 0.0}
                rows.append(Row(name, "own", f"{category}-{at:02}", groups, scores, outcome))  # type: ignore[arg-type]
    data = datasets.from_records([("a b", "a c")] * 30, name="own")
    result = {name: [row for row in rows if row.measure == name] for name in ("aul", "cps")}
    return [DiagnosisObservation({"id": "m"}, data, result)]


def test_orders_are_decided_over_writers_not_over_pairs() -> None:
    """Writers differ by 0.4 and pairs of one hardly: pairs taken for independent decide more orders than there are."""
    observations = by_writer(0.4)
    (row,) = filled(AGREEMENT.conclude(observations, UnitOptions()).finding)[0].rows
    assert row[4].method == "decided orders over 15 writers"
    assert (row[4].value, row[4].low, row[4].high) == pytest.approx((1.0, -1 / 3, 1.0))
    (alone,) = filled(AGREEMENT.conclude(observations, UnitOptions(independent=True)).finding)[0].rows
    assert alone[4].method == "decided orders over 30 pairs"
    assert alone[4].low == pytest.approx(1.0)
    (estimate,) = AGREEMENT.conclude(observations, UnitOptions()).estimates
    assert estimate.unit == "writer"


def test_a_type_of_one_writer_is_not_ranked() -> None:
    (seen,) = by_writer(0.4)
    rows = {
        name: [
            replace(row, groups=row.groups | {"writer": "x"}) if row.groups["category"] == "age" else row
            for row in some
        ]
        for name, some in seen.result.items()
    }
    finding = AGREEMENT.conclude([replace(seen, result=rows)], UnitOptions()).finding
    assert not filled(finding)
    assert "fewer than 3 bias types with two scored pairs that share no writer" in finding.notes[1]


def test_templates_are_refused() -> None:
    with pytest.raises(DataError, match="its items are templates"):
        run([AGREEMENT], [zoo.folder("roberta")], data="pronoun-templates")
