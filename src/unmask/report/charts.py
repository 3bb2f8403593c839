"""The charts: intervals against their null, intervals by group, differences with the band.

Each is a Vega-Lite specification for the page's inline JavaScript, and an SVG for readers without it.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from unmask.report import words
from unmask.report.run import BAND, Run, group_name, label
from unmask.types import Estimate

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#767676"  # Okabe & Ito: safe for colour-blind readers
LEANS = {"above": ORANGE, "within": GREY, "below": BLUE}
HOLM = (words.DIFFERS, "does not differ", "not tested")
BINS = 40


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart, ready for the page."""

    id: str
    title: str
    alt: str
    spec: dict[str, Any]
    svg: str


def figure(id: str, title: str, chart: alt.TopLevelMixin, alt_text: str) -> Figure:
    """A chart as specification and as drawing."""
    themed = chart.properties(description=alt_text).configure(**_theme())  # type: ignore[attr-defined]
    spec = json.loads(themed.to_json())
    spec.pop("$schema", None)
    return Figure(id, title, alt_text, spec, vl_convert.vegalite_to_svg(spec))


@functools.cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    return str(vl_convert.javascript_bundle()).replace("\r\n", "\n").replace("\r", "\n")


def intervals(estimates: Sequence[Estimate], run: Run) -> alt.LayerChart:
    """One line per measure: its value and interval against the null."""
    rows = [_row(estimate, label(estimate, run)) for estimate in estimates]
    base = alt.Chart(alt.Data(values=rows)).encode(y=_y("label", rows), tooltip=_tooltip())
    text = base.mark_text(dy=-10, fontSize=11, color="currentColor").encode(x="value:Q", text="shown:N")
    return alt.layer(*_layers(base, estimates), text).properties(width=620, height=alt.Step(38))


def groups(estimates: Sequence[Estimate], run: Run) -> alt.FacetChart:
    """One panel per measure, one line per group; the shape says what Holm's correction left standing."""
    rows = [_row(e, group_name(e)) | {"panel": label(e, run), "holm": words.holm(e)} for e in estimates]
    base = alt.Chart().encode(y=_y("label", rows), tooltip=_tooltip())
    shape = alt.Shape("holm:N").scale(domain=list(HOLM), range=["diamond", "circle", "square"]).title("Holm")
    layers = _layers(base, estimates, shape)
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    facet = alt.Facet("panel:N").title(None).sort(panels)
    chart = alt.layer(*layers).properties(width=190, height=alt.Step(19))
    return chart.facet(facet=facet, columns=min(3, len(panels)), data=alt.Data(values=rows))


def differences(named: Sequence[tuple[str, Sequence[float]]]) -> alt.ConcatChart:
    """One histogram per measure, with the band of nearly equal pairs behind it."""
    return alt.concat(*(_histogram(name, values) for name, values in named), columns=3).resolve_scale(
        x="independent"
    )


def bins(values: Sequence[float]) -> list[dict[str, float | str]]:
    """Counts in equal bins around zero; the outermost also hold what lies beyond them."""
    limit = reach(values)
    counts, edges = np.histogram(np.clip(values, -limit, limit), bins=BINS, range=(-limit, limit))
    return [
        {"left": float(left), "right": float(right), "pairs": int(n), "side": "more" if left >= 0 else "less"}
        for left, right, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]


def reach(values: Sequence[float]) -> float:
    """How far a histogram goes from zero: past the band, and past 98% of the values."""
    return max(1.6 * BAND, float(np.quantile(np.abs(values), 0.98)))


def _histogram(name: str, values: Sequence[float]) -> alt.LayerChart:
    limit = reach(values)
    x = alt.X("left:Q").scale(domain=[-limit, limit], nice=False).title("difference")
    side = alt.Color("side:N").scale(domain=["more", "less"], range=[ORANGE, BLUE])
    side = side.title("the likelier sentence is").legend(
        labelExpr=_LEGEND, orient="bottom", titleOrient="left"
    )
    bars = alt.Chart(alt.Data(values=bins(values))).mark_bar(strokeWidth=0)
    bars = bars.encode(x=x, x2="right:Q", y=alt.Y("pairs:Q").title("pairs"), color=side)
    band = alt.Chart(alt.Data(values=[{"left": -BAND, "right": BAND}])).mark_rect(color=GREY, opacity=0.22)
    return alt.layer(band.encode(x=x, x2="right:Q"), bars).properties(width=190, height=120, title=name)


_LEGEND = "datum.label == 'more' ? 'the stereotyping one' : 'the other one'"


def _layers(
    base: alt.Chart, estimates: Sequence[Estimate], shape: alt.Shape | None = None
) -> list[alt.Chart]:
    percent = estimates[0].statistic in words.PERCENT
    title = ["share of pairs (%)" if percent else estimates[0].statistic, "dashed: the null"]
    x = alt.X("value:Q").scale(domain=_domain(estimates), nice=False)
    x = x.title(title[0] if estimates[0].null is None else "; ".join(title))
    color = alt.Color("lean:N").scale(domain=list(LEANS), range=list(LEANS.values())).title("interval")
    color = color.legend(labelExpr="datum.label + ' the null'", orient="bottom")
    if estimates[0].null is None:
        color = color.legend(None)
    null = base.mark_rule(strokeDash=[4, 3], color="currentColor", opacity=0.7).encode(x="null:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(x=x, color=color)
    points = points.encode(shape=shape.legend(orient="bottom")) if shape is not None else points
    return [null, base.mark_rule(strokeWidth=2.5).encode(x="low:Q", x2="high:Q", color=color), points]


def _row(estimate: Estimate, name: str) -> dict[str, Any]:
    numbers = {key: _finite(getattr(estimate, key)) for key in ("value", "low", "high", "null")}
    digits = words.digits_of(estimate.statistic)
    told = {"lean": words.lean(estimate), "reading": words.reading(estimate)}
    shown = words.number(estimate.value, digits)
    return {"label": name, "n": estimate.n, "shown": shown, **numbers, **told}


def _domain(estimates: Sequence[Estimate]) -> list[float]:
    ends = [_finite(v) for e in estimates for v in (e.low, e.high, e.value, e.null)]
    known = [v for v in ends if v is not None] or [0.0, 1.0]
    if estimates[0].statistic in words.PERCENT and estimates[0].null is not None:
        known += [estimates[0].null - 10, estimates[0].null + 10]
    margin = 0.05 * (max(known) - min(known)) or 1.0
    low, high = min(known) - margin, max(known) + margin
    return [max(low, 0.0), min(high, 100.0)] if estimates[0].statistic in words.PERCENT else [low, high]


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _y(field: str, rows: Sequence[dict[str, Any]]) -> alt.Y:
    return alt.Y(f"{field}:N").title(None).sort(list(dict.fromkeys(row[field] for row in rows)))


def _tooltip() -> list[alt.Tooltip]:
    shown = ["label:N", "value:Q", "low:Q", "high:Q", "null:Q", "n:Q", "reading:N"]
    return [alt.Tooltip(name, format=".4g") if name.endswith(":Q") else alt.Tooltip(name) for name in shown]


def _theme() -> dict[str, Any]:
    ink = {"labelColor": "currentColor", "titleColor": "currentColor", "titleFontWeight": "normal"}
    lines = {
        "gridColor": "#88888840",
        "domainColor": "#88888890",
        "tickColor": "#88888890",
        "labelLimit": 260,
    }
    return {
        "background": None,
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": ink | lines | {"labelFontSize": 12},
        "legend": ink | {"symbolType": "circle"},
        "header": ink | {"labelFontWeight": "bold", "labelFontSize": 13},
        "title": {"color": "currentColor", "fontSize": 13},
    }
