"""Texts of the data in charts, the script of the pages, and drawing that fails."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import version
from pathlib import Path
from typing import Any

import altair as alt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unmask.core.errors import OutputError
from unmask.core.files import cache_dir
from unmask.findings import charts, figure
from unmask.findings.assets import legible, template

HOSTILE = ("race\vcolor", "\0", "\x1b[31mred", "\ufffe", "\uffff", "\ud800", "😀" * 30, "x" + "😀" * 30, "\u202egnol")
WEB = "http://127.0.0.1:9/a.json"
TEXTS = st.text(st.characters(exclude_categories=())) | st.sampled_from(HOSTILE)
TEXTS |= st.lists(st.sampled_from((*HOSTILE, "\u200d", "\u0301", "ﷺ", "𒐫", "<b>", "'", "{")), max_size=30).map("".join)


class _To16Bits(dict[int, int]):
    def __missing__(self, code: int) -> int:
        """A character of the basic plane, surrogates among them, for any other."""
        return code & 0xFFFF


TO_16_BITS = _To16Bits()


def draw(*labels: str) -> figure.Figure:
    rows = [{"label": label, "series": label, "value": 1.0, "low": 0.5, "high": 1.5} for label in labels]
    return figure.figure("a", "Title", charts.intervals(rows, axis="value"), " ".join(labels))


def texts(svg: str) -> list[str]:
    return ["".join(found.itertext()) for found in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("label", HOSTILE)
def test_no_label_makes_drawing_fail(label: str) -> None:
    shown = texts(draw(label, "other").svg)
    assert "other" in shown
    assert legible(label)[:1] in {text[:1] for text in shown}


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_any_text_can_be_drawn(labels: list[str]) -> None:
    assert texts(draw(*labels).svg)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(TEXTS, min_size=60, max_size=100), st.booleans())
def test_any_text_can_be_drawn_thoroughly(labels: list[str], beyond: bool) -> None:
    """Some 3,000 texts; half of the charts without characters beyond U+FFFF, whose labels Vega cuts."""
    kept = labels if beyond else [label.translate(TO_16_BITS) for label in labels]
    assert len(texts(draw(*kept).svg)) >= len(set(kept))


def test_hidden_characters_are_visible() -> None:
    assert "race\\x0bcolor" in texts(draw("race\vcolor").svg)
    assert "\\u202egnol" in texts(draw("\u202egnol").svg)


def test_a_long_label_is_cut_but_stays_distinct() -> None:
    first, second = "a" * 70_000 + "1", "a" * 70_000 + "2"
    spec = draw(first, second).spec
    labels = {row["label"] for rows in spec["datasets"].values() for row in rows if "label" in row}
    assert len(labels) == 2
    assert max(map(len, labels)) < 210


def test_characters_beyond_16_bits_are_not_cut_in_two() -> None:
    shown = texts(draw("😀" * 30).svg)
    assert "😀" * 23 + "…" in shown


def test_short_labels_and_expressions_stay_as_they_are() -> None:
    spec: dict[str, Any] = {"config": {"axis": {}, "legend": {}, "header": {}}, "labelExpr": "x" * 300, "values": ["a"]}
    assert figure.drawable(spec) == spec


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=())))
def test_a_page_holds_no_hidden_characters(text: str) -> None:
    shown = template("macros.html.jinja").module.limits([text])  # type: ignore[attr-defined]
    assert not re.search(
        "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]", shown
    )
    shown.encode()


@pytest.mark.parametrize(
    "address",
    ["{path}", pytest.param("file://{path}", marks=pytest.mark.slow), pytest.param(WEB, marks=pytest.mark.slow)],
)
def test_a_stored_chart_loads_nothing(address: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"a": "SECRET"}]', encoding="utf-8")
    spec = {"data": {"url": address.format(path=path)}, "mark": "text", "encoding": {"text": {"field": "a"}}}
    assert "SECRET" not in figure.figure("a", "T", alt.Chart.from_dict(spec), "T").svg


def test_the_script_of_the_installed_release_is_pinned() -> None:
    assert version("vl-convert-python") in figure.SCRIPTS, "pin the sha256 of its script in unmask.findings.figure"


def test_a_changed_script_in_the_cache_is_not_used() -> None:
    figure.library.cache_clear()
    path = cache_dir() / f"vega-{version('vl-convert-python')}.js"
    script = figure.library()
    assert path.read_text(encoding="utf-8") == script
    for content in (b"\xff", script.encode() + b" "):
        path.write_bytes(content)
        figure.library.cache_clear()
        assert figure.library() == script
        assert path.read_text(encoding="utf-8") == script  # repaired


def test_an_unknown_release_takes_nothing_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure, "SCRIPTS", {})
    path = cache_dir() / f"vega-{version('vl-convert-python')}.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("alert(1)", encoding="utf-8")
    figure.library.cache_clear()
    assert "alert(1)" not in figure.library()
    figure.library.cache_clear()


def test_a_crash_costs_the_figure_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(figure, "legible", lambda text: text)
        lost = draw("\0")  # vl-convert aborts
    assert lost.svg == ""
    assert draw("a").svg
    page = template("macros.html.jinja").module.figure(lost)  # type: ignore[attr-defined]
    assert "could not be drawn" in page
    with pytest.raises(OutputError, match="figure a cannot be drawn"):
        figure.export([lost], tmp_path)


def test_a_page_is_made_where_memory_is_limited() -> None:
    program = (
        "from unmask.findings import charts, figure, html\n"
        "rows = [{'label': 'a', 'value': 1.0, 'low': 0.5, 'high': 1.5}]\n"
        "made = figure.figure('a', 'T', charts.intervals(rows, axis='x'), 'T')\n"
        "print(len(made.svg), len(html.page_policy()) > 100)\n"
    )
    limit = 8_000_000 * 1024
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 True\n", "")
