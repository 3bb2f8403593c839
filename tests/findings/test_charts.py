"""What a reader sees of a chart: names in the order of the table, and legends that can be told apart."""

from __future__ import annotations

import re

import pytest

from unmask.core.estimate import Value
from unmask.findings import charts, figure

LONG = "the model, trained on as many harmless as harmful comments"


def drawn(chart: charts.Chart) -> list[str]:
    """The texts of the drawn chart, in the order of the file."""
    return re.findall(r"<text[^>]*>([^<]+)</text>", figure.figure("a", "Title", chart, "alt").svg)


@pytest.mark.parametrize("chart", [charts.bars, charts.intervals])
def test_series_stand_in_the_order_of_the_rows(chart) -> None:
    """Sorted by name, the legend would not follow the table: doses of −2 after those of +2."""
    names = ("zero", "minus", "plus")
    rows = [charts.interval_row(label, Value(1.0, 0.5, 1.5), name) for label in ("x", "y") for name in names]
    assert [text for text in drawn(chart(rows, axis="value")) if text in names] == list(names)


def test_a_legend_has_as_many_columns_as_its_names_leave_room_for() -> None:
    """Otherwise a long name is drawn over the next one."""

    def columns(*names: str) -> int:
        rows = [charts.interval_row("x", Value(1.0), name) for name in names]
        legend: int = charts.bars(rows, axis="value").to_dict()["layer"][0]["encoding"]["color"]["legend"]["columns"]
        return legend

    assert (columns("a", "b"), columns("a" * 30, "b"), columns(LONG, "b")) == (3, 2, 1)
    assert LONG in drawn(charts.bars([charts.interval_row("x", Value(1.0), LONG)], axis="value")), "it was cut"


def test_eight_series_of_points_are_all_different() -> None:
    """Two of eight once had one colour and one shape."""
    assert len(charts.COLOURS) != len(charts.SHAPES)
    marks = {(charts.COLOURS[n % len(charts.COLOURS)], charts.SHAPES[n % len(charts.SHAPES)]) for n in range(12)}
    assert len(marks) == 12


def test_titles_of_panels_do_not_reach_into_the_next_panel() -> None:
    """Three in a row where they have room, else two."""

    def drawn_as(name: str) -> tuple[int, int]:
        rows = [{"value": 0.1, "series": f"{name} {kind}"} for kind in ("a", "b", "c", "d")]
        chart = charts.histograms(rows, axis="difference").to_dict()
        return chart["spec"]["width"], chart["columns"]

    assert drawn_as("short") == (205, 3)
    width, columns = drawn_as("a-model-with-a-dose · paraphrases, 92%")
    assert (width >= 7.5 * len("a-model-with-a-dose · paraphrases, 92% a"), columns) == (True, 3)
    assert drawn_as(LONG)[1] == 2


def test_few_bars_are_wide_enough_for_their_labels() -> None:
    steps = []
    for count in (3, 20, 60):
        rows = [charts.interval_row(f"model {number}", Value(1.0), "score") for number in range(count)]
        steps.append(charts.bars(rows, axis="value").to_dict()["width"]["step"])
    assert steps == [40, 21, 14]
