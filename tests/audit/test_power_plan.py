"""Planning: a wrong number of pairs would be a study that cannot see what it is for."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import unmask
from unmask.audit.plan import PlanSettings
from unmask.core.errors import DataError
from unmask.stats.power import detectable_between, detectable_effect, required_pairs, required_pairs_between
from unmask.stats.units import Components, crossed_components, units_of

from .gated import leans, save
from .gated import pairs as made_pairs


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """120 pairs of 12 writers, ten each."""
    path = tmp_path / "mine.csv"
    lines = [f"He is a doctor {n}.,She is a doctor {n}.,w{n // 10}" for n in range(120)]
    path.write_text("\n".join(["more,less,writer", *lines]) + "\n", encoding="utf-8")
    return path


def detectable(result: unmask.Result, versus: str) -> float:
    (found,) = [each for each in result.estimates if each.statistic.endswith(f"versus-{versus}")]
    return found.value


def test_a_plan_from_data_by_hand(pairs: Path) -> None:
    """Design effect 1 + (10 − 1) · 0.05 = 1.45: 120 pairs are worth 82.8."""
    result = unmask.plan(data=pairs, icc=0.05, effect=10)
    assert (result.kind, result.estimates[0].unit) == ("plan", "writer")
    assert result.estimates[0].design_effect == pytest.approx(1.45)
    assert detectable(result, "null") == pytest.approx(detectable_effect(120 / 1.45))
    needed = result.findings[0].finding.tables[1].rows[0]
    alone = required_pairs(10, design_effect=1.45)
    assert alone is not None
    assert needed[2:6] == (
        10.0,
        alone,
        f"{math.ceil(alone / 10)} writers",
        required_pairs_between(10, 0.5, design_effect=1.45),
    )


def test_the_given_design_effect_and_disagreement_are_used(pairs: Path) -> None:
    result = unmask.plan(data=pairs, design_effect=3.0, disagree=0.2, effect=10, power=0.9)
    assert detectable(result, "null") == pytest.approx(detectable_effect(120 / 3, power=0.9))
    assert detectable(result, "model") == pytest.approx(
        detectable_between(120, 0.2, design_effect=3.0, power=0.9), nan_ok=True
    )


def test_the_curve_passes_the_power_where_the_pairs_are_enough(pairs: Path) -> None:
    result = unmask.plan(data=pairs, icc=0.0, effect=10)
    (plot,) = result.findings[0].finding.plots
    rows = [row for each in plot.chart.to_dict()["datasets"].values() for row in each if row["series"].endswith("50")]
    needed = required_pairs(10)
    assert needed is not None
    powers = np.interp(needed, [row["x"] for row in rows], [row["y"] for row in rows])
    assert powers == pytest.approx(80, abs=2)  # a saw-tooth between the points of the curve


def test_a_plan_from_one_and_two_runs(tmp_path: Path) -> None:
    """The second wins 20 of 200 pairs more: the models disagree on a tenth."""
    runs = [save(tmp_path / str(won), made_pairs(won, 200)) for won in (110, 130)]
    one, two = unmask.plan(runs[0], effect=5), unmask.plan(*runs, effect=5)
    assert detectable(one, "null") == pytest.approx(detectable_effect(200))
    assert detectable(two, "model") == pytest.approx(detectable_between(200, 0.1))
    assert detectable(two, "model") < detectable(one, "model")


def test_a_pilot_gives_the_design_effect_of_the_score_over_all_pairs(tmp_path: Path) -> None:
    """Twelve writers of ten pairs, nine in one direction: the mean of both directions has no design effect."""
    rows = [
        row | {"writer": f"w{n // 10:02}", "direction": "antistereo" if n % 10 == 9 else "stereo"}
        for n, row in enumerate(made_pairs(60, 120))
    ]
    run = save(tmp_path / "run", rows)
    assert unmask.load(run).headlines()[0].statistic == "balanced-bias-score"
    (planned,) = [each for each in unmask.plan(run).estimates if each.statistic.endswith("versus-null")]
    assert planned.statistic == "detectable-bias-score-versus-null"
    assert planned.design_effect == pytest.approx(119 / 11)  # all pairs of a writer alike: ¼ / 11 over ¼ / 119
    assert planned.value == pytest.approx(detectable_effect(120 * 11 / 119))


def test_where_a_pilot_has_no_design_effect_every_unit_is_one_pair(tmp_path: Path) -> None:
    rows = [row | {"writer": f"w{n // 10:02}"} for n, row in enumerate(made_pairs(120, 120))]
    run = save(tmp_path / "run", rows)
    assert {each.design_effect for each in unmask.plan(run).estimates} == {10.0}


def test_a_plan_for_words_and_templates(tmp_path: Path) -> None:
    """Twice as many words show less than twice as many templates where words differ and templates hardly do."""
    run = save(tmp_path / "run", leans({"nurse": -0.2, "engineer": 0.3, "clerk": 0.1, "pilot": 0.4, "maid": -0.3}))
    result = unmask.plan(run, effect={"appd": 0.2})
    (table,) = [each for each in result.findings[0].finding.tables if each.title == "Words and templates"]
    by_shape = {row[2:4]: row[4] for row in table.rows}
    assert by_shape[10, 6] == pytest.approx(by_shape[5, 6] / math.sqrt(2), rel=0.02)
    assert by_shape[5, 12] == pytest.approx(by_shape[5, 6], rel=0.02)
    assert {row[5] for row in table.rows} <= {"yes", "no"}


def test_components_of_words_and_templates() -> None:
    """Without noise the components are the variances of the effects."""
    words, templates = np.array([3.0, 1.0, -1.0, -3.0]), np.array([1.0, 0.5, -0.5, -1.0])
    table = words[:, None] + templates
    labels = np.indices((4, 4)).reshape(2, -1).astype(str)
    found = crossed_components(table.ravel(), units_of({"word": labels[0], "template": labels[1]}))
    assert found is not None
    assert (found.words, found.templates, found.rest) == pytest.approx((20 / 3, 2.5 / 3, 0.0), abs=1e-9)
    assert Components(4.0, 1.0, 0.0).error(16, 4) == pytest.approx(math.sqrt(4 / 16 + 1 / 4))


def test_what_is_refused(tmp_path: Path, pairs: Path) -> None:
    with pytest.raises(DataError, match="effect is 0, expected more than 0"):
        PlanSettings(effect=0)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="power is 1"):
        unmask.plan(data=pairs, power=1.0)
    run = save(tmp_path / "a", made_pairs(1, 2))
    with pytest.raises(DataError, match="give runs or data, not both"):
        unmask.plan(run, data=pairs)
    with pytest.raises(DataError, match="3 runs given"):
        unmask.plan(run, run, run)


def test_it_can_be_written_and_loaded(tmp_path: Path, pairs: Path) -> None:
    result = unmask.plan(data=pairs, out=tmp_path / "plan")
    again = unmask.load(tmp_path / "plan")
    assert again.kind == "plan"
    assert json.dumps(again.meta["estimates"]) == json.dumps(result.meta["estimates"])
    assert "120 pairs of 12 writers" in str(again)
