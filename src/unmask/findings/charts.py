"""The chart kit: intervals, bars, scatter plots, curves, histograms, heat maps, panels, and their parts.

Rows are plain records. Text of the data goes into data fields only: Vega evaluates titles as expressions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import altair as alt

from unmask.core.estimate import Value
from unmask.core.files import plain
from unmask.findings.model import Plot

Chart = alt.LayerChart | alt.FacetChart | alt.ConcatChart
Row = dict[str, Any]
Channel = TypeVar("Channel", alt.X, alt.Y, alt.Facet)
BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#767676"  # Okabe & Ito: safe for colour-blind readers
COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", GREY)
MODELS = ("#009e73", "#cc79a7", "#e69f00", "#56b4e9", GREY, BLUE, ORANGE)  # where blue and orange mean below and above
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
_LINES: dict[str, Any] = {"symbolType": "stroke", "symbolStrokeWidth": 2}
_LEGEND_WIDTH = 75  # characters of a row of the legend
BAR, WIDEST_BAR, BARS = 14, 40, 420  # pixels: of a bar, of one of few, of all bars if they are few
TITLE_CHARACTER, PANELS = 8, 1050  # pixels: of a character in a panel's title, of all panels in a row
DASHED: dict[str, Any] = {"strokeDash": [4, 3], "color": "currentColor", "opacity": 0.6}  # for reference
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [10, 2], [4, 4], [1, 3])


def intervals(
    rows: Sequence[Row],
    *,
    axis: str,
    null: float | None = None,
    colours: Sequence[str] = COLOURS,
    shapes: Sequence[str] = SHAPES,
) -> Chart:
    """Rows with `label`, `value`, `low`, `high` and optionally `series`: a point with its interval each."""
    rule: Row = {"color": alt.value(colours[0])}
    mark = rule
    if "series" in rows[0]:  # `stroke`, because a second layer with `color` would get its own legend
        offset = {"yOffset": alt.YOffset("series:N").sort(None)}
        rule = {"stroke": alt.Stroke("series:N").sort(None).scale(range=list(colours)).legend(None), **offset}
        mark = {"color": _color(rows, colours), "shape": _shape(rows, shapes), **offset}
    base = base_chart(rows).encode(y=in_order(alt.Y("label:N")), tooltip=tooltips(rows[0]))
    span = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q").title(axis), x2="high:Q", **rule)
    point = base.mark_point(filled=True, size=60, opacity=1)
    point = point.encode(x=alt.X("value:Q").title(axis).scale(zero=False), **mark)
    return alt.layer(*_rule(null, "x"), span, point).properties(width=440)


def interval_row(label: str, value: Value, series: str = "") -> Row:
    """A value as a row of a chart of intervals."""
    named = {"label": label, "series": series} if series else {"label": label}
    return {**named, "value": value.value, "low": value.low, "high": value.high}


def interval_plots(
    id: str, title: str, alt: str, rows: Iterable[tuple[str, Value, str]], **axis: Any
) -> tuple[Plot, ...]:
    """A chart of intervals, given by label, value and series; none without rows."""
    points = [interval_row(*row) for row in rows]
    return (Plot(id, title, alt, intervals(points, **axis)),) if points else ()


def bars(rows: Sequence[Row], *, axis: str, null: float = 0.0, colours: Sequence[str] = COLOURS) -> Chart:
    """Rows with `label`, `value`, `low`, `high` and `series`: grouped bars with intervals."""
    label = in_order(alt.X("label:N"))
    offset = alt.XOffset("series:N").sort(None)
    base = base_chart(rows).encode(x=label.axis(labelAngle=-40), xOffset=offset, tooltip=tooltips(rows[0]))
    bar = base.mark_bar().encode(y=alt.Y("value:Q").title(axis), color=_color(rows, colours))
    span = base.mark_rule(color="currentColor").encode(y=alt.Y("low:Q").title(axis), y2="high:Q")
    step = max(BAR, min(WIDEST_BAR, BARS // len(rows)))  # few bars are wider: their labels need the room
    return alt.layer(bar, span, *_rule(null, "y")).properties(width=alt.Step(step), height=280)


def scatter(rows: Sequence[Row], *, x: str, y: str, diagonal: bool = False) -> Chart:
    """Rows with `x`, `y`, `label` and `series`: a point each; the diagonal marks no change."""
    points = base_chart(rows).mark_point(filled=True, size=50, opacity=0.8)
    points = points.encode(
        x=alt.X("x:Q").title(x).scale(zero=False),
        y=alt.Y("y:Q").title(y).scale(zero=False),
        color=_color(rows),
        shape=_shape(rows),
        tooltip=tooltips(rows[0]),
    )
    ends = [min(min(row["x"], row["y"]) for row in rows), max(max(row["x"], row["y"]) for row in rows)]
    return alt.layer(*(_diagonal(ends) if diagonal else ()), points).properties(width=420, height=320)


def curves(rows: Sequence[Row], *, x: str, y: str, diagonal: bool = False, band: bool = False) -> Chart:
    """Rows with `x`, `y` and `series` (with `low` and `high` if `band`): a line for each series."""
    base = base_chart(rows)
    dash = alt.StrokeDash("series:N").sort(None).scale(range=list(DASHES)).title(None)
    line = base.mark_line(interpolate="linear").encode(
        x=alt.X("x:Q").title(x),
        y=alt.Y("y:Q").title(y).scale(zero=False),
        color=_color(rows).legend(**_legend(rows), **_LINES),
        strokeDash=dash.legend(**_legend(rows), **_LINES),
        order="x:Q",
        tooltip=tooltips(rows[0]),
    )
    fill = alt.Fill("series:N").sort(None).scale(range=list(COLOURS)).legend(None)
    shade = base.mark_area(opacity=0.1).encode(x="x:Q", y=alt.Y("low:Q").title(y), y2="high:Q", fill=fill)
    chart: Chart = alt.layer(*(_diagonal((0, 1)) if diagonal else ()), *([shade] if band else ()), line)
    # only the lines get a legend: with shared legends the band's `legend=None` would remove it
    chart = chart.resolve_legend(color="independent", fill="independent", strokeDash="independent")
    return chart.properties(width=420, height=320)


def histograms(rows: Sequence[Row], *, axis: str, bins: int = 40, band: float | None = None) -> Chart:
    """Rows with `value` and `series`: a histogram for each series, with an optional band around zero."""
    at = alt.X("value:Q").bin(maxbins=bins).title(axis)
    at = at.axis(labelOverlap="greedy", labelSeparation=10, format="~g")
    bars = alt.Chart().mark_bar(color=COLOURS[0], binSpacing=0)
    bars = bars.encode(x=at, y=alt.Y("count():Q").title("count"))
    ends = alt.Chart().mark_rule(strokeDash=[4, 3], color="currentColor", opacity=0.7)
    marks = [ends.encode(x=alt.XDatum(end)) for end in ((-band, band) if band else ())]
    return _wide_panels(alt.layer(bars, *marks).properties(height=120), rows, "series", least=205)


def grid(rows: Sequence[Row], *, low: float, high: float) -> Chart:
    """Rows with `x`, `y` and `value`: a heat map with the value in each cell."""
    base = base_chart(rows).encode(x=in_order(alt.X("x:N")), y=in_order(alt.Y("y:N")))
    domain, colours = [low, (low + high) / 2, high], [BLUE, "#ffffff", ORANGE]
    color = alt.Color("value:Q").scale(domain=domain, range=colours, interpolate="rgb").title(None)
    squares = base.mark_rect().encode(color=color, tooltip=tooltips(rows[0]))
    words = base.mark_text(fontSize=11, color="#000000").encode(text=alt.Text("value:Q", format=".2f"))
    return alt.layer(squares, words).properties(width=alt.Step(58), height=alt.Step(34))


def panels(rows: Sequence[Row], *, x: str, y: str, null: float | None = None, squeezed: bool = False) -> Chart:
    """Rows with `x`, `y`, `low`, `high`, `panel` and optionally `series`: small line charts with bands.

    `squeezed` uses a symlog scale (linear near 0, then logarithmic) to show small and huge values together.
    """
    series = "series" in rows[0]
    color = _color(rows).legend(**_legend(rows), symbolOpacity=1) if series else alt.value(COLOURS[0])
    scale = alt.Scale(type="symlog", constant=2) if squeezed else alt.Scale(zero=False)
    base = alt.Chart().encode(x=alt.X("x:Q").title(x).axis(tickCount=4), color=color, tooltip=tooltips(rows[0]))
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("low:Q").title(y).scale(scale), y2="high:Q")
    line = base.mark_line(point=alt.OverlayMarkDef(filled=True, size=24))
    line = line.encode(y=alt.Y("y:Q").title(y).scale(scale), order="x:Q")
    return _wide_panels(alt.layer(*_rule(null, "y"), band, line).properties(height=130), rows, "panel", least=190)


def _wide_panels(chart: Any, rows: Sequence[Row], field: str, *, least: int) -> Chart:
    """Panels as wide as the longest of their titles, which would overlap with the next one."""
    width = max(least, TITLE_CHARACTER * max((len(str(row[field])) for row in rows), default=0))
    return in_panels(chart.properties(width=width), rows, field, columns=3 if 3 * width <= PANELS else 2)


def in_panels(chart: Any, rows: Sequence[Row], field: str, columns: int = 3) -> Chart:
    """A chart without data as one panel for every name in a field of the rows."""
    facet, data = in_order(alt.Facet(f"{field}:N")), alt.InlineData(values=order_rows(rows))
    panels: Chart = chart.facet(facet=facet, columns=columns, data=data)
    return panels


def base_chart(rows: Sequence[Row]) -> alt.Chart:
    """A chart of these rows without marks."""
    return alt.Chart(alt.InlineData(values=order_rows(rows)))


def order_rows(rows: Sequence[Row]) -> list[Row]:
    """Add the order of the rows as a sort key, and replace NaN and infinities by null.

    Vega would evaluate a list of names to sort by as an expression.
    """
    return [plain(row) | {"order": index} for index, row in enumerate(rows)]


def in_order(channel: Channel) -> Channel:
    """Names in order of appearance, without a title."""
    return channel.title(None).sort(field="order", op="min", order="ascending")


def _color(rows: Sequence[Row], colours: Sequence[str] = COLOURS) -> alt.Color:
    scale = alt.Scale(range=list(colours))
    return alt.Color("series:N").sort(None).scale(scale).title(None).legend(**_legend(rows))


def _shape(rows: Sequence[Row], shapes: Sequence[str] = SHAPES) -> alt.Shape:
    return alt.Shape("series:N").sort(None).scale(range=list(shapes)).title(None).legend(**_legend(rows))


def _legend(rows: Sequence[Row]) -> dict[str, Any]:
    """A legend below the chart, with at most three columns, in which the longest name fits."""
    longest = max(len(str(row.get("series", ""))) for row in rows)
    return {"orient": "bottom", "columns": max(1, min(3, _LEGEND_WIDTH // max(longest, 1)))}


def _diagonal(ends: Sequence[float]) -> list[alt.Chart]:
    line = alt.Chart(alt.InlineData(values=[{"x": end, "y": end} for end in ends]))
    return [line.mark_line(**DASHED).encode(x="x:Q", y="y:Q")]


def _rule(null: float | None, axis: str) -> list[alt.Chart]:
    if null is None:
        return []
    return [alt.Chart(alt.InlineData(values=[{"at": null}])).mark_rule(**DASHED).encode(**{axis: "at:Q"})]


def tooltips(row: Row) -> list[alt.Tooltip]:
    """A tooltip that lists the values of a row, numbers with four digits."""
    return [
        alt.Tooltip(f"{name}:Q", format=".4g") if isinstance(value, int | float) else alt.Tooltip(f"{name}:N")
        for name, value in row.items()
    ]
