"""The comparison page says what `compare` says, and what the items say."""

from __future__ import annotations

import base64
import csv
import io
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from unmask import data
from unmask.audit.compare import compare
from unmask.audit.result import load
from unmask.core.errors import ResultError
from unmask.core.types import Dataset
from unmask.findings.envelope import Result
from unmask.report import comparison_figures, comparison_page
from unmask.report.changes import read_change
from unmask.report.selection import model_names
from unmask.stats.paired import Comparison

from . import fake, made
from .htmls import Page

SECTIONS = ["changes", "findings", "categories", "templates", "checks", "spread", "pairs", "limits"]
SECTIONS += ["method", "downloads"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    folder = tmp_path_factory.mktemp("runs")
    pairs, slots = _some(data.load("nine-axes"), 120), _some(data.load("pronoun-templates"), 60)
    plan = [(pairs, ["cps", "sld"]), (slots, ["ppd"])]
    first = made.run(folder / "one", plan, model="plain", lean=6.0)
    return [first, made.run(folder / "two", plan, model="changed", lean=-2.0, seed=1)]


@pytest.fixture(scope="module")
def changes(runs: list[Result]) -> comparison_page.Changes:
    return comparison_page.compare_runs(runs)


@pytest.fixture(scope="module")
def page(runs: list[Result], changes: comparison_page.Changes) -> Page:
    return Page(comparison_page.page(runs, changes))


def _some(all_of: Dataset, count: int) -> Dataset:
    step = len(all_of.items) // count
    return Dataset(all_of.card, all_of.items[::step][:count], all_of.sha256, all_of.verified)


def test_sections_are_there_in_order(page: Page) -> None:
    assert [attributes["id"] for tag, attributes in page.tags if tag == "h2"] == SECTIONS


def test_changes_are_those_of_compare(runs: list[Result], changes: comparison_page.Changes) -> None:
    assert changes[0] == compare(*runs)
    assert changes[1] == tuple(one for one in compare(*runs, categories=True) if one.group != "all")
    assert {one.measure for one in changes[0]} == {"cps", "sld", "ppd"}


def test_the_page_prints_them(page: Page, changes: comparison_page.Changes) -> None:
    one = changes[0][0]
    assert f"cps · nine-axes (bias-score): {one.a_value:.1f} → {one.b_value:.1f} , change −" in page.text
    assert abs(one.b_value - 50) < abs(one.a_value - 50)
    assert "fell, nearer to its reference value" in page.text


def test_flipped_pairs_match_the_items(runs: list[Result]) -> None:
    head = runs[0].headlines()[0]
    sides = [{row["item"]: row for row in run.items.to_pylist() if row["measure"] == "cps"} for run in runs]
    turned = [key for key in sides[0] if sides[0][key]["outcome"] != sides[1][key]["outcome"]]
    moved = {key: abs(sides[1][key]["difference"] - sides[0][key]["difference"]) for key in turned}
    count, shown = comparison_page.flipped_pairs(runs[0], runs[1], head)
    assert count == len(turned) > 6
    assert [one["item"] for one in shown] == sorted(turned, key=lambda key: -moved[key])[:6]
    first = shown[0]
    assert first["more"] == sides[0][first["item"]]["text_more"]
    assert float(first["before"].replace("−", "-")) == pytest.approx(sides[0][first["item"]]["difference"], abs=5e-4)
    assert first["sides"] == ("stereotyping", "other")


def test_flips_agree_with_compare(runs: list[Result], changes: comparison_page.Changes) -> None:
    head = runs[0].headlines()[0]
    assert comparison_page.flipped_pairs(runs[0], runs[1], head)[0] == changes[0][0].flips


def test_scatter_is_every_word_before_and_after(runs: list[Result]) -> None:
    drawn = {figure.id: figure for figure in comparison_figures.templates(runs[0], runs[1], 1)}
    points = _rows(drawn["words-1-1"].spec)
    wanted = [{e.group: e.value for e in run.estimates if e.group.startswith("word=")} for run in runs]
    assert {(f"word={row['label']}", row["x"], row["y"]) for row in points} == {
        (group, wanted[0][group], wanted[1][group]) for group in wanted[0]
    }
    goals = {row["word"]: row["goal"] for row in runs[0].items.to_pylist() if row["measure"] == "ppd"}
    told = {"zero": "gender-neutral words", "female": "words for women", "male": "words for men"}
    assert all(row["series"] == told[goals[row["label"]]] for row in points)
    assert len(Counter(row["series"] for row in points)) > 1


def test_bars_show_every_category_before_and_after(runs: list[Result]) -> None:
    drawn = {figure.id: figure for figure in comparison_figures.templates(runs[0], runs[1], 1)}
    rows = _rows(drawn["bars-1-0"].spec)
    for name, run in (("A before", runs[0]), ("B after", runs[1])):
        values = {e.group: e.value for e in run.estimates if (e.measure, e.statistic) == ("ppd", "appd")}
        mine = {row["label"]: row["value"] for row in rows if row["series"] == name}
        assert mine["all gender-neutral words"] == values["all"]
        categories = {group: value for group, value in values.items() if group.startswith("category=")}
        assert {f"category={label}" for label in mine} >= categories.keys()
        assert all(mine[group.partition("=")[2]] == value for group, value in categories.items())


@pytest.mark.thorough
def test_headlines_of_both_models_are_drawn(runs: list[Result], changes: comparison_page.Changes) -> None:
    figures = comparison_page.draw_figures(runs, changes)["headline"]
    rows = [row for figure in figures for row in _rows(figure.spec)]
    wanted = {(f"{e.measure} · {e.data}", name): e.value
              for name, run in zip(("A plain", "B changed"), runs, strict=True)
              for e in run.headlines()}  # fmt: skip
    assert {(row["label"], row["series"]): row["value"] for row in rows} == wanted


def test_files_of_the_page_hold_the_numbers(page: Page, changes: comparison_page.Changes) -> None:
    links = {f["download"]: f["href"] for t, f in page.tags if t == "a" and "download" in f}
    assert list(links) == ["comparison.json", "changes.csv", "estimates.csv", "citations.bib"]
    content = {name: base64.b64decode(href.partition("base64,")[2]).decode() for name, href in links.items()}
    whole = json.loads(content["comparison.json"])
    assert [run["model"]["id"] for run in whole["runs"]] == ["plain", "changed"]
    rows = list(csv.DictReader(io.StringIO(content["changes.csv"])))
    compared = [*changes[0], *changes[1]]
    assert [float(row["change"]) for row in rows] == [one.change for one in compared]
    assert {(row["a"], row["b"]) for row in rows} == {("plain", "changed")}
    assert "@inproceedings{nangia-etal-2020-crows," in content["citations.bib"]


@pytest.mark.thorough
def test_three_runs_are_each_compared_with_the_first(runs: list[Result]) -> None:
    three = [*runs, runs[0]]
    changes = comparison_page.compare_runs(three)
    same = [one for one in changes[0] if one.run == 2]
    assert {one.change for one in same} == {0.0}
    page = Page(comparison_page.page(three, changes))
    assert "C plain (one) #3" in page.text
    assert "no significant change" in page.text


def _colours(spec: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Colour and shape of every series, which Vega takes in alphabetic order."""
    encoding = spec["layer"][-1]["encoding"]
    names = sorted({row["series"] for row in _rows(spec)})
    pairs = zip(*(encoding[channel]["scale"]["range"] for channel in ("color", "shape")), strict=True)
    return dict(zip(names, pairs, strict=False))


def test_a_run_has_one_colour_in_all_charts(runs: list[Result]) -> None:
    three = [*runs, runs[0]]
    figures = comparison_page.draw_figures(three, comparison_page.compare_runs(three))
    whole, changes = (_colours(figures[name][0].spec) for name in ("headline", "changes"))
    assert [name[0] for name in whole] == ["A", "B", "C"]
    assert [name[0] for name in changes] == ["B", "C"]
    assert changes.items() <= whole.items()


def test_runs_of_one_model_are_named_by_folder(runs: list[Result]) -> None:
    assert model_names(runs) == ["plain", "changed"]
    again = Result(runs[0].meta, runs[1].folder)
    assert model_names([runs[0], again]) == ["plain (one)", "plain (two)"]
    assert model_names([fake.bare(), fake.bare()]) == ["tiny-bert #1", "tiny-bert #2"]


@pytest.mark.thorough
def test_hostile_text_is_escaped_on_the_page(runs: list[Result], tmp_path: Path) -> None:
    bad = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    both = []
    for i, run in enumerate(runs):
        folder = tmp_path / str(i)
        run.save(folder)
        text = (folder / "result.json").read_text(encoding="utf-8")
        meta = json.loads(text)
        meta["model"]["id"] = f"{bad}{i}"
        meta["checks"] = [{"name": bad, "ok": False, "detail": bad}]
        meta["data"][0] |= {"title": bad, "problems": bad, "citation": f"@misc{{x,{bad}}}"}
        (folder / "result.json").write_text(json.dumps(meta), encoding="utf-8")
        both.append(load(folder))
    page = Page(comparison_page.page(both, comparison_page.compare_runs(both)))
    assert len(page.scripts) == 3
    assert not [tag for tag, _ in page.tags if tag == "img"]
    assert bad in page.text


def test_runs_that_share_nothing_cannot_be_compared(runs: list[Result], tmp_path: Path) -> None:
    other = made.run(tmp_path / "x", [(_some(data.load("nine-axes"), 20), ["aul"])])
    with pytest.raises(ResultError, match="share no measure"):
        comparison_page.compare_runs([runs[0], other])


def _comparison(**changes: Any) -> Comparison:
    known: dict[str, Any] = {
        "measure": "cps", "data": "d", "group": "all", "statistic": "bias-score", "a_value": 60.0,
        "b_value": 54.0, "change": -6.0, "low": -9.0, "high": -3.0, "n": 100, "flips": 9, "left_out": 0,
        "method": "bca", "p": 0.001, "p_holm": 0.002,
    }  # fmt: skip
    return Comparison(**{**known, **changes})


@pytest.mark.parametrize(
    ("changes", "null", "told"),
    [
        ({}, 50.0, "fell, nearer to its reference value"),
        ({"b_value": 45.0, "change": -15.0}, 50.0, "fell, to the other side of its reference value"),
        ({"b_value": 35.0, "change": -25.0}, 50.0, "fell, to the other side of its reference value"),
        ({"b_value": 66.0, "change": 6.0}, 50.0, "rose, further from its reference value (worse)"),
        ({"p_holm": 0.06}, 50.0, "no significant change after correction"),
        ({"p_holm": None, "low": -1.0, "high": 1.0}, 50.0, "no significant change"),
        ({"p_holm": None}, None, "fell"),
        ({"statistic": "lms", "b_value": 66.0, "change": 6.0}, 50.0, "rose: better by this statistic"),
        ({"change": math.nan}, 50.0, "not measured in both"),
        ({"tested": False}, 50.0, "not tested"),
    ],
)
def test_changes_in_words(changes: dict[str, Any], null: float | None, told: str) -> None:
    assert read_change(_comparison(**changes, null=null)) == told


def _rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows with a label of a chart made of layers."""
    sources = [*([spec["data"]] if "data" in spec else []), *(one["data"] for one in spec["layer"] if "data" in one)]
    tables = [one.get("values") or spec["datasets"][one["name"]] for one in sources]
    return [row for rows in tables for row in rows if "label" in row]
