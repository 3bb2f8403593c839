"""Charts of one run: intervals against the null, intervals by group, histograms of differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from unmask.core.estimate import Estimate
from unmask.findings.figure import Chart
from unmask.findings.numbers import number
from unmask.report import wording
from unmask.report.selection import BAND, Run, group_name, label

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#767676"  # Okabe & Ito: safe for colour-blind readers
LEANS = {"above": ORANGE, "within": GREY, "below": BLUE, "no interval": GREY, "no direction": GREY}
HOLM = {wording.DIFFERS: "diamond", wording.SAME: "circle", wording.UNTESTED: "square"}
BINS = 40
Named = tuple[str, Sequence[float], bool]  # measure, its differences, whether to draw the near-zero band


def intervals(estimates: Sequence[Estimate], run: Run) -> Chart:
    """One line per measure: its value and interval against the null."""
    rows = _with_order([_row(estimate, label(estimate, run)) for estimate in estimates], "label")
    base = alt.Chart(alt.InlineData(values=rows))
    text = base.mark_text(dy=-10, fontSize=11, color="currentColor")
    text = text.encode(x="value:Q", y=_names(), text="shown:N")
    return alt.layer(*_layers(base, estimates), text).properties(width=640, height=alt.Step(38))


def groups(estimates: Sequence[Estimate]) -> Chart:
    """One panel per measure, one line per group; the shape shows significance after Holm's correction."""
    rows = [_row(e, group_name(e)) | {"panel": e.measure, "holm": wording.holm(e)} for e in estimates]
    rows = _with_order(_with_order(rows, "label"), "panel")
    shape = alt.Shape("holm:N").scale(domain=list(HOLM), range=list(HOLM.values()))
    shape = shape.title("after Holm's correction, it").legend(
        orient="bottom", titleOrient="left", titleLimit=0
    )
    *lines, points = _layers(alt.Chart(), estimates)
    count = 1 + max(row["panel_order"] for row in rows)
    chart = alt.layer(*lines, points.encode(shape=shape)).properties(width=205, height=alt.Step(20))
    facet = alt.Facet("panel:N").title(None).sort(field="panel_order", op="min", order="ascending")
    return chart.facet(facet=facet, columns=min(3, count), data=alt.InlineData(values=rows))


def differences(named: Sequence[Named], *, slot: bool = False, columns: int = 3) -> Chart:
    """One histogram per measure, with the near-zero band; `slot` labels the sides as he/she words."""
    chart: Chart = alt.concat(*(_histogram(*histogram, slot=slot) for histogram in named), columns=columns)
    return chart


def bins(values: Sequence[float], limit: float) -> list[dict[str, float | str]]:
    """Counts in equal bins around zero; values out of range are counted in the outermost bins."""
    counts, edges = np.histogram(np.clip(values, -limit, limit), bins=BINS, range=(-limit, limit))
    sides = ["less"] * (BINS // 2) + ["more"] * (BINS // 2)
    return [
        {"left": float(left), "right": float(right), "pairs": int(pairs), "side": side}
        for left, right, pairs, side in zip(edges[:-1], edges[1:], counts, sides, strict=True)
    ]


def reach(values: Sequence[float], *, banded: bool) -> float:
    """Half-width of a histogram: it covers 98% of the values, and the near-zero band where there is one."""
    return max(1.6 * BAND if banded else 1e-9, float(np.quantile(np.abs(values), 0.98)))


def _histogram(name: str, values: Sequence[float], banded: bool, *, slot: bool) -> Chart:
    limit = reach(values, banded=banded)
    x = alt.X("left:Q").bin("binned").scale(domain=[-limit, limit], nice=False).title("difference")
    legend = alt.Legend(
        labelExpr=_SLOT_SIDES if slot else _SIDES, orient="bottom", titleOrient="left", titleLimit=0
    )
    side = alt.Color("side:N").scale(domain=["more", "less"], range=[ORANGE, BLUE])
    side = side.title("scores higher:").legend(legend)
    bars = alt.Chart(alt.InlineData(values=bins(values, limit))).mark_bar(binSpacing=0)
    bars = bars.encode(x=x, x2="right:Q", y=alt.Y("pairs:Q").title("pairs"), color=side)
    band = alt.Chart(alt.InlineData(values=[{"left": -BAND, "right": BAND}] if banded else []))
    band = band.mark_rect(color=GREY, opacity=0.25, aria=False).encode(x=x, x2="right:Q")
    return alt.layer(bars, band).properties(width=205, height=120, title=name)


_SIDES = "datum.label == 'more' ? 'the stereotyping sentence' : 'the other sentence'"
_SLOT_SIDES = "datum.label == 'more' ? 'the masculine word' : 'the feminine word'"
_LEANS = "{above: 'above the null', within: 'around the null', below: 'below the null'}[datum.label]"


def _layers(base: alt.Chart, estimates: Sequence[Estimate]) -> list[alt.Chart]:
    """The layers of an interval chart: the null, the intervals and the values."""
    known = any(estimate.null is not None for estimate in estimates)
    directed = estimates[0].statistic in wording.DIRECTED
    legend = alt.Legend(
        values=["above", "within", "below"], labelExpr=_LEANS, orient="bottom", titleOrient="left"
    )
    color = alt.Color("lean:N").scale(domain=list(LEANS), range=list(LEANS.values()))
    color = color.title("the interval lies").legend(legend if directed else None)
    dashed = "no change" if estimates[0].statistic == wording.CHANGE else "the null"
    title = unit(estimates[0]) + (f"; dashed: {dashed}" if known else "")
    scale = alt.Scale(domain=_domain(estimates), nice=False, zero=False)
    axes = {name: alt.X(f"{name}:Q", scale=scale, title=title) for name in ("null", "low", "value")}
    marks = base.encode(y=_names(), color=color, tooltip=_tooltip())
    return [
        base.mark_rule(strokeDash=[4, 3], color="currentColor", opacity=0.6).encode(x=axes["null"]),
        marks.mark_rule(strokeWidth=2.5).encode(x=axes["low"], x2="high:Q"),
        marks.mark_point(filled=True, size=70, opacity=1).encode(x=axes["value"]),
    ]


def unit(estimate: Estimate) -> str:
    """The unit of an axis; never text of the result, because Vega evaluates titles as expressions."""
    units = {"asld": "nats", "association": "nats", "appd": "difference of probabilities"}
    if estimate.statistic in wording.PERCENT:
        return "%"
    return units.get(estimate.statistic, "change" if estimate.statistic == wording.CHANGE else "value")


def _row(estimate: Estimate, name: str) -> dict[str, Any]:
    numbers = {key: _finite(getattr(estimate, key)) for key in ("value", "low", "high", "null")}
    shown = number(estimate.value, wording.digits_of(estimate.statistic))
    texts = {"shown": shown, "lean": wording.tone(estimate), "reading": wording.reading(estimate)}
    return {"label": name, "n": estimate.n, **numbers, **texts}


def _domain(estimates: Sequence[Estimate]) -> list[float]:
    """Percentages span ten points or more on either side of the null; undirected statistics start at 0."""
    percent, null = estimates[0].statistic in wording.PERCENT, estimates[0].null
    ends = [_finite(v) for e in estimates for v in (e.low, e.high, e.value, e.null)]
    known = [v for v in ends if v is not None] or [0.0, 1.0]
    if estimates[0].statistic not in wording.DIRECTED:
        return [0.0, 100.0] if percent else [min(0.0, *known), 1.08 * max(*known, 0.1)]
    reach, middle = (10.0, null or 50.0) if percent else (0.1, null or 0.0)
    low, high = min(*known, middle - reach), max(*known, middle + reach)
    margin = 0.04 * (high - low)
    return [max(low - margin, 0.0), min(high + margin, 100.0)] if percent else [low - margin, high + margin]


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _names() -> alt.Y:
    return alt.Y("label:N").title(None).sort(field="label_order", op="min", order="ascending")


def _with_order(rows: list[dict[str, Any]], field: str) -> list[dict[str, Any]]:
    """Add the index of each name as a sort key: Vega would evaluate a list of names as an expression."""
    order = {name: index for index, name in enumerate(dict.fromkeys(row[field] for row in rows))}
    return [row | {f"{field}_order": order[row[field]]} for row in rows]


def _tooltip() -> list[alt.Tooltip]:
    numbers = [alt.Tooltip(f"{name}:Q", format=".4g") for name in ("value", "low", "high", "null", "n")]
    return [alt.Tooltip("label:N"), *numbers, alt.Tooltip("reading:N")]
