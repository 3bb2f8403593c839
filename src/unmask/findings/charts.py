"""Charts of findings: intervals, bars, scatter plots, curves, histograms, heat maps, panels.

Rows are plain records. Text of the data goes into data fields only: Vega evaluates titles as expressions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

Chart = alt.LayerChart | alt.FacetChart | alt.ConcatChart
Row = dict[str, Any]
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#767676")  # Okabe & Ito
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
_LINES: dict[str, Any] = {"orient": "bottom", "columns": 3, "symbolType": "stroke", "symbolStrokeWidth": 2}
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [10, 2], [4, 4], [1, 3])


def intervals(rows: Sequence[Row], *, axis: str, null: float | None = None) -> Chart:
    """Rows with `label`, `value`, `low`, `high` and optionally `series`: a point with its interval each."""
    rule: Row = {"color": alt.value(COLOURS[0])}
    mark = rule
    if "series" in rows[0]:  # `stroke`, because a second layer with `color` would get its own legend
        offset = {"yOffset": alt.YOffset("series:N")}
        rule = {"stroke": alt.Stroke("series:N").scale(range=list(COLOURS)).legend(None), **offset}
        mark = {"color": _color(), "shape": _shape(), **offset}
    y = alt.Y("label:N").title(None).sort(field="order", op="min", order="ascending")
    base = _base(rows).encode(y=y, tooltip=_tips(rows))
    span = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q").title(axis), x2="high:Q", **rule)
    point = base.mark_point(filled=True, size=60, opacity=1)
    point = point.encode(x=alt.X("value:Q").title(axis).scale(zero=False), **mark)
    return alt.layer(*_rule(null, "x"), span, point).properties(width=520)


def bars(rows: Sequence[Row], *, axis: str, null: float = 0.0) -> Chart:
    """Rows with `label`, `value`, `low`, `high` and `series`: grouped bars with intervals."""
    label = alt.X("label:N").title(None).sort(field="order", op="min", order="ascending")
    base = _base(rows).encode(x=label.axis(labelAngle=-40), xOffset="series:N", tooltip=_tips(rows))
    bar = base.mark_bar().encode(y=alt.Y("value:Q").title(axis), color=_color())
    span = base.mark_rule(color="currentColor").encode(y=alt.Y("low:Q").title(axis), y2="high:Q")
    return alt.layer(bar, span, *_rule(null, "y")).properties(width=alt.Step(14), height=280)


def scatter(rows: Sequence[Row], *, x: str, y: str, diagonal: bool = False) -> Chart:
    """Rows with `x`, `y`, `label` and `series`: a point each; the diagonal marks no change."""
    points = _base(rows).mark_point(filled=True, size=50, opacity=0.8)
    points = points.encode(
        x=alt.X("x:Q").title(x).scale(zero=False),
        y=alt.Y("y:Q").title(y).scale(zero=False),
        color=_color(),
        shape=_shape(),
        tooltip=_tips(rows),
    )
    ends = [min(min(row["x"], row["y"]) for row in rows), max(max(row["x"], row["y"]) for row in rows)]
    corner = alt.Chart(alt.InlineData(values=[{"x": end, "y": end} for end in ends]))
    same = corner.mark_line(strokeDash=[4, 3], color="currentColor", opacity=0.6).encode(x="x:Q", y="y:Q")
    return alt.layer(*([same] if diagonal else []), points).properties(width=420, height=320)


def curves(rows: Sequence[Row], *, x: str, y: str, diagonal: bool = False, band: bool = False) -> Chart:
    """Rows with `x`, `y` and `series` (with `low` and `high` if `band`): a line for each series."""
    base = _base(rows)
    line = base.mark_line(interpolate="linear").encode(
        x=alt.X("x:Q").title(x),
        y=alt.Y("y:Q").title(y).scale(zero=False),
        color=_color().sort(None).legend(**_LINES),
        strokeDash=alt.StrokeDash("series:N")
        .sort(None)
        .scale(range=list(DASHES))
        .title(None)
        .legend(**_LINES),
        order="x:Q",
        tooltip=_tips(rows),
    )
    fill = alt.Fill("series:N").sort(None).scale(range=list(COLOURS)).legend(None)
    shade = base.mark_area(opacity=0.1).encode(x="x:Q", y=alt.Y("low:Q").title(y), y2="high:Q", fill=fill)
    corner = alt.Chart(alt.InlineData(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
    chance = corner.mark_line(strokeDash=[4, 3], color="currentColor", opacity=0.6).encode(x="x:Q", y="y:Q")
    chart: Chart = alt.layer(*([chance] if diagonal else []), *([shade] if band else []), line)
    # only the lines get a legend: with shared legends the band's `legend=None` would remove it
    chart = chart.resolve_legend(color="independent", fill="independent", strokeDash="independent")
    return chart.properties(width=420, height=320)


def histograms(rows: Sequence[Row], *, axis: str, bins: int = 40, band: float | None = None) -> Chart:
    """Rows with `value` and `series`: a histogram for each series, with an optional band around zero."""
    bars = alt.Chart().mark_bar(color=COLOURS[0], binSpacing=0)
    bars = bars.encode(
        x=alt.X("value:Q")
        .bin(maxbins=bins)
        .title(axis)
        .axis(labelOverlap="greedy", labelSeparation=10, format="~g"),
        y=alt.Y("count():Q").title("count"),
    )
    ends = alt.Chart().mark_rule(strokeDash=[4, 3], color="currentColor", opacity=0.7)
    marks = [ends.encode(x=alt.XDatum(end)) for end in ((-band, band) if band else ())]
    facet = alt.Facet("series:N").title(None).sort(field="order", op="min", order="ascending")
    chart: Chart = (
        alt.layer(bars, *marks)
        .properties(width=205, height=120)
        .facet(facet=facet, columns=3, data=alt.InlineData(values=_with_order(rows)))
    )
    return chart


def grid(rows: Sequence[Row], *, low: float, high: float) -> Chart:
    """Rows with `x`, `y` and `value`: a heat map with the value in each cell."""
    base = _base(rows).encode(
        x=alt.X("x:N").title(None).sort(field="order", op="min"),
        y=alt.Y("y:N").title(None).sort(field="order", op="min"),
    )
    scale = alt.Scale(
        domain=[low, (low + high) / 2, high], range=["#0072b2", "#ffffff", "#d55e00"], interpolate="rgb"
    )
    squares = base.mark_rect().encode(
        color=alt.Color("value:Q").scale(scale).title(None), tooltip=_tips(rows)
    )
    words = base.mark_text(fontSize=11, color="#000000").encode(text=alt.Text("value:Q", format=".2f"))
    return alt.layer(squares, words).properties(width=alt.Step(58), height=alt.Step(34))


def panels(
    rows: Sequence[Row], *, x: str, y: str, null: float | None = None, squeezed: bool = False
) -> Chart:
    """Rows with `x`, `y`, `low`, `high`, `panel` and optionally `series`: small line charts with bands.

    `squeezed` uses a symlog scale (linear near 0, then logarithmic) to show small and huge values together.
    """
    series = "series" in rows[0]
    color = _color().legend(orient="bottom", columns=3, symbolOpacity=1) if series else alt.value(COLOURS[0])
    at = alt.X("x:Q").title(x).axis(tickCount=4)
    scale = alt.Scale(type="symlog", constant=2) if squeezed else alt.Scale(zero=False)
    base = alt.Chart().encode(x=at, color=color, tooltip=_tips(rows))
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q").title(y).scale(scale), y2="high:Q")
    line = base.mark_line(point=alt.OverlayMarkDef(filled=True, size=24))
    line = line.encode(y=alt.Y("y:Q").title(y).scale(scale), order="x:Q")
    facet = alt.Facet("panel:N").title(None).sort(field="order", op="min", order="ascending")
    chart: Chart = (
        alt.layer(*_rule(null, "y"), band, line)
        .properties(width=190, height=130)
        .facet(facet=facet, columns=3, data=alt.InlineData(values=_with_order(rows)))
    )
    return chart


def _base(rows: Sequence[Row]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=_with_order(rows)))


def _with_order(rows: Sequence[Row]) -> list[Row]:
    """Add the order of the rows, and replace NaN and infinities by null."""
    return [
        {key: _plain(value) for key, value in row.items()} | {"order": index}
        for index, row in enumerate(rows)
    ]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _color() -> alt.Color:
    scale = alt.Scale(range=list(COLOURS))
    return alt.Color("series:N").scale(scale).title(None).legend(orient="bottom", columns=3)


def _shape() -> alt.Shape:
    return alt.Shape("series:N").scale(range=list(SHAPES)).title(None).legend(orient="bottom", columns=3)


def _rule(null: float | None, axis: str) -> list[alt.Chart]:
    if null is None:
        return []
    line = alt.Chart(alt.InlineData(values=[{"at": null}]))
    return [line.mark_rule(strokeDash=[4, 3], color="currentColor", opacity=0.6).encode(**{axis: "at:Q"})]


def _tips(rows: Sequence[Row]) -> list[alt.Tooltip]:
    return [
        alt.Tooltip(f"{name}:Q", format=".4g") if isinstance(value, int | float) else alt.Tooltip(f"{name}:N")
        for name, value in rows[0].items()
    ]
