"""Charts of one run: intervals against the null, intervals by group, histograms of differences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt
import numpy as np

from unmask.core.estimate import Estimate
from unmask.findings.charts import (
    BLUE,
    DASHED,
    GREY,
    ORANGE,
    Chart,
    Row,
    base_chart,
    in_order,
    order_rows,
    tooltips,
)
from unmask.findings.envelope import Result
from unmask.findings.numbers import number
from unmask.report import wording
from unmask.report.selection import BAND, group_name, label, reach

LEANS = {"above": ORANGE, "within": GREY, "below": BLUE, "no interval": GREY, "no direction": GREY}
HOLM = {wording.DIFFERS: "diamond", wording.SAME: "circle", wording.UNTESTED: "square"}
BINS = 40
TIP: Row = {
    "label": "",
    "value": 0,
    "low": 0,
    "high": 0,
    "null": 0,
    "n": 0,
    "reading": "",
}  # fields of a tooltip
Named = tuple[str, Sequence[float], bool]  # measure, its differences, whether to draw the near-zero band


def intervals(estimates: Sequence[Estimate], run: Result) -> Chart:
    """One line per measure: its value and interval against the null."""
    base = base_chart([_row(estimate, label(estimate, run)) for estimate in estimates])
    text = base.mark_text(dy=-10, fontSize=11, color="currentColor")
    text = text.encode(x="value:Q", y=in_order(alt.Y("label:N")), text="shown:N")
    return alt.layer(*_layers(base, estimates), text).properties(width=640, height=alt.Step(38))


def groups(estimates: Sequence[Estimate]) -> Chart:
    """One panel per measure, one line per group; the shape shows significance after Holm's correction."""
    rows = [_row(e, group_name(e.group)) | {"panel": e.measure, "holm": wording.holm(e)} for e in estimates]
    shape = alt.Shape("holm:N").scale(domain=list(HOLM), range=list(HOLM.values()))
    shape = shape.title("after Holm's correction, it").legend(
        orient="bottom", titleOrient="left", titleLimit=0
    )
    *lines, points = _layers(alt.Chart(), estimates)
    count = len({row["panel"] for row in rows})
    chart = alt.layer(*lines, points.encode(shape=shape)).properties(width=205, height=alt.Step(20))
    data = alt.InlineData(values=order_rows(rows))
    return chart.facet(facet=in_order(alt.Facet("panel:N")), columns=min(3, count), data=data)


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
    marks = base.encode(y=in_order(alt.Y("label:N")), color=color, tooltip=tooltips(TIP))
    return [
        base.mark_rule(**DASHED).encode(x=axes["null"]),
        marks.mark_rule(strokeWidth=2.5).encode(x=axes["low"], x2="high:Q"),
        marks.mark_point(filled=True, size=70, opacity=1).encode(x=axes["value"]),
    ]


def unit(estimate: Estimate) -> str:
    """The unit of an axis; never text of the result, because Vega evaluates titles as expressions."""
    units = {"asld": "nats", "association": "nats", "appd": "difference of probabilities"}
    if estimate.statistic in wording.PERCENT:
        return "%"
    return units.get(estimate.statistic, "change" if estimate.statistic == wording.CHANGE else "value")


def point(estimate: Estimate, name: str, series: str | None = None) -> Row:
    """An estimate as a row of a chart of the kit."""
    ends = interval_ends(estimate.value, estimate.low, estimate.high)
    return {"label": name, **ends, **({} if series is None else {"series": series})}


def interval_ends(value: float, low: float, high: float) -> dict[str, float]:
    """Without an interval both ends are the value, so that no line is drawn."""
    known = math.isfinite(low) and math.isfinite(high)
    return {"value": value, "low": low if known else value, "high": high if known else value}


def _row(estimate: Estimate, name: str) -> Row:
    numbers = {key: getattr(estimate, key) for key in ("value", "low", "high", "null")}
    shown = number(estimate.value, wording.digits_of(estimate.statistic))
    texts = {"shown": shown, "lean": wording.tone(estimate), "reading": wording.reading(estimate)}
    return {"label": name, "n": estimate.n, **numbers, **texts}


def _domain(estimates: Sequence[Estimate]) -> list[float]:
    """Percentages span ten points or more on either side of the null; undirected statistics start at 0."""
    percent, null = estimates[0].statistic in wording.PERCENT, estimates[0].null
    ends = [v for e in estimates for v in (e.low, e.high, e.value, e.null)]
    known = [v for v in ends if v is not None and math.isfinite(v)] or [0.0, 1.0]
    if estimates[0].statistic not in wording.DIRECTED:
        return [0.0, 100.0] if percent else [min(0.0, *known), 1.08 * max(*known, 0.1)]
    reach, middle = (10.0, null or 50.0) if percent else (0.1, null or 0.0)
    low, high = min(*known, middle - reach), max(*known, middle + reach)
    margin = 0.04 * (high - low)
    return [max(low - margin, 0.0), min(high + margin, 100.0)] if percent else [low - margin, high + margin]
