"""One result format: what a command computed comes back from its folder, and old folders are still read."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import altair as alt
import jsonschema
import pytest

import unmask
from unmask.core.errors import ResultError
from unmask.core.estimate import Estimate, Value
from unmask.core.types import Check
from unmask.findings import Finding, Plot, Section, Table
from unmask.findings.envelope import build
from unmask.findings.folder import create

SCHEMA = json.loads((resources.files("unmask.findings") / "result.schema.json").read_text("utf-8"))


def whole() -> dict[str, Any]:
    """A result that uses every part of the format."""
    table = Table("Shares", ("who", "share", "n", "p"), (("she", Value(0.25, 0.1, 0.4, "wilson"), 8, 0.03),
                  ("he", Value(0.5), 0, None)), note="of all", digits=3)  # fmt: skip
    chart = alt.layer(alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q"))
    finding = Finding(("It leans.",), (table,), (Plot("one", "One", "One point.", chart),), ("a note",))
    return build(
        "task",
        title="A title",
        lead="A question?",
        models=[{"id": "a"}, {"id": "b"}],
        data=[{"name": "made", "sha256": None, "n": 3}],
        options={"file": Path("/home/someone/secret/train.csv"), "rate": 1e-5},
        estimates=[Estimate(1.5, 1.0, math.inf, "bca", "gap", "made", null=0.0, n=8, model="a")],
        findings=[Section("gap", "Gap", "How large?", finding, "from a file")],
        checks=[Check("ok", True, "fine")],
        details={"losses": [math.nan, 1.0]},
    )


def test_every_part_satisfies_the_json_schema() -> None:
    jsonschema.validate(whole(), SCHEMA)


def test_a_result_comes_back_from_its_folder_as_it_was(tmp_path: Path) -> None:
    made = create(whole(), tmp_path / "run")
    read = unmask.load(tmp_path / "run")
    assert read.meta == made.meta
    assert read.kind == "task"
    assert [model["id"] for model in read.models] == ["a", "b"]
    (estimate,) = read.estimates
    assert (estimate.value, estimate.low, estimate.model, estimate.signed) == (1.5, 1.0, "a", 1.5)
    assert math.isnan(estimate.high)  # infinity is no JSON number
    (section,) = read.findings
    (original,) = create(whole(), None).findings
    assert section.finding.tables[0].rows[0] == ("she", Value(0.25, 0.1, 0.4, "wilson"), 8, 0.03)
    assert math.isnan(section.finding.tables[0].rows[1][1].low)  # type: ignore[union-attr]
    assert (section.title, section.finding.tables[0].digits) == (original.title, 3)
    assert section.finding.plots[0].chart.to_dict() == original.finding.plots[0].chart.to_dict()


def test_plots_of_one_id_are_told_apart() -> None:
    """Otherwise a page that joins results would draw the last chart in the place of every other."""
    charts = [alt.layer(alt.Chart(alt.InlineData(values=[{"x": x}])).mark_point().encode(x="x:Q")) for x in (1, 2)]
    sections = [Section(str(x), "", "", Finding((), (), (Plot("same", "S", "S", charts[x]),))) for x in (0, 1)]
    stored = build("study", findings=sections)["findings"]
    assert [plot["id"] for section in stored for plot in section["plots"]] == ["same", "same-2"]
    assert '"x": 1' in json.dumps(stored[0]) and '"x": 2' in json.dumps(stored[1])  # noqa: PT018


def test_no_path_of_the_machine_is_in_the_result() -> None:
    text = json.dumps(whole())
    assert "train.csv" in text
    assert "secret" not in text


def test_a_result_prints_its_answers_and_tables() -> None:
    text = str(create(whole(), None))
    assert "It leans." in text
    assert "0.250 (0.100 to 0.400)" in text
    html = create(whole(), None)._repr_html_()
    assert "It leans." in html
    assert "<svg" in html
    assert "<script" not in html


def test_a_result_shows_itself_in_fifteen_lines_however_many_estimates_it_has() -> None:
    checks = [Check("head", True, "ok"), Check("length", False, "all of them")]
    one = Estimate(56.66, 46.36, 66.42, "wilson", "cps", "made", statistic="bias-score", null=50.0, n=90)
    data = [{"name": "made", "sha256": None, "n": 90, "subset_of": 360}]
    few = create(build("task", models=[{"id": "a"}], data=data, estimates=[one], checks=checks), None)
    assert repr(few).splitlines() == [
        "Result (task): a; made (90 of 360 items, a subset)",
        "  made  cps  bias-score  56.7  (46.4 to 66.4)  reference value 50  n 90",
        "checks: 1 of 2 FAILED: length. print(result) says what that means",
    ]
    many = [replace(one, measure=f"m{number}") for number in range(40)]
    lines = repr(create(build("task", models=[{"id": "a"}], estimates=many, checks=checks), None)).splitlines()
    assert len(lines) <= 15
    assert "  and 29 more; table() has all estimates as a data frame" in lines


def test_the_table_of_a_result_has_a_row_for_every_estimate() -> None:
    made = create(whole(), None)
    table = made.table()
    assert len(table) == len(made.estimates) == 1
    assert dict(table.iloc[0][["model", "measure", "value", "low", "null", "n"]]) == {
        **{"model": "a", "measure": "gap", "value": 1.5},
        **{"low": 1.0, "null": 0.0, "n": 8},
    }
    assert create(build("task"), None).table().empty


def test_a_saved_copy_equals_the_result(tmp_path: Path) -> None:
    made = create(whole(), None)
    assert made.save(tmp_path / "copy").meta == made.meta
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(ResultError, match="holds other files"):
        made.save(tmp_path / "full")


def test_another_schema_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"schema": 2}')
    with pytest.raises(ResultError, match="has schema 2; this unmask reads schema 1"):
        unmask.load(tmp_path)
