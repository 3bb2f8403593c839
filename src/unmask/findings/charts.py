"""The few charts findings are drawn with: intervals, bars, points, curves, histograms, a grid, panels.

Rows are plain records. Their text is drawn as data only: Vega would make an expression of a title.
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
    """Rows of `label`, `value`, `low`, `high`, and perhaps `series`: a dot with its interval each."""
    rule: Row = {"color": alt.value(COLOURS[0])}
    mark = rule
    if "series" in rows[0]:  # by `stroke`: a second layer with a colour would have a legend of its own
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
    """Rows of `label`, `value`, `low`, `high` and `series`: bars side by side, each with its interval."""
    label = alt.X("label:N").title(None).sort(field="order", op="min", order="ascending")
    base = _base(rows).encode(x=label.axis(labelAngle=-40), xOffset="series:N", tooltip=_tips(rows))
    bar = base.mark_bar().encode(y=alt.Y("value:Q").title(axis), color=_color())
    span = base.mark_rule(color="currentColor").encode(y=alt.Y("low:Q").title(axis), y2="high:Q")
    return alt.layer(bar, span, *_rule(null, "y")).properties(width=alt.Step(14), height=280)


def scatter(rows: Sequence[Row], *, x: str, y: str, diagonal: bool = False) -> Chart:
    """Rows of `x`, `y`, `label` and `series`: a point each; the diagonal is where nothing changed."""
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
    """Rows of `x`, `y` and `series` (with `low` and `high` where `band`): a line for each series."""
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
    drawn: Chart = alt.layer(*([chance] if diagonal else []), *([shade] if band else []), line)
    # one legend, that of the lines: were legends shared, the band's "none" would be theirs too
    drawn = drawn.resolve_legend(color="independent", fill="independent", strokeDash="independent")
    return drawn.properties(width=420, height=320)


def histograms(rows: Sequence[Row], *, axis: str, bins: int = 40, band: float | None = None) -> Chart:
    """Rows of `value` and `series`: a histogram each, with a band around zero where there is one."""
    bars = alt.Chart().mark_bar(color=COLOURS[0], binSpacing=0)
    bars = bars.encode(
        x=alt.X("value:Q")
        .bin(maxbins=bins)
        .title(axis)
        .axis(labelOverlap="greedy", labelSeparation=10, format="~g"),
        y=alt.Y("count():Q").title("number"),
    )
    ends = alt.Chart().mark_rule(strokeDash=[4, 3], color="currentColor", opacity=0.7)
    marks = [ends.encode(x=alt.XDatum(end)) for end in ((-band, band) if band else ())]
    facet = alt.Facet("series:N").title(None).sort(field="order", op="min", order="ascending")
    drawn: Chart = (
        alt.layer(bars, *marks)
        .properties(width=205, height=120)
        .facet(facet=facet, columns=3, data=alt.InlineData(values=_numbered(rows)))
    )
    return drawn


def grid(rows: Sequence[Row], *, low: float, high: float) -> Chart:
    """Rows of `x`, `y` and `value`: a matrix of squares, each with its number."""
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
    """Rows of `x`, `y`, `low`, `high`, `panel`, perhaps `series`: small charts of lines with their bands.

    Where small and huge values must both be seen, the scale is `squeezed`: linear near 0, then logarithmic.
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
    drawn: Chart = (
        alt.layer(*_rule(null, "y"), band, line)
        .properties(width=190, height=130)
        .facet(facet=facet, columns=3, data=alt.InlineData(values=_numbered(rows)))
    )
    return drawn


def _base(rows: Sequence[Row]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=_numbered(rows)))


def _numbered(rows: Sequence[Row]) -> list[Row]:
    """In the order given, and with null for what JSON cannot say."""
    return [
        {key: _plain(value) for key, value in row.items()} | {"order": place}
        for place, row in enumerate(rows)
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
