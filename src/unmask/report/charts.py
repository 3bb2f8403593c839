"""The charts: intervals against their null, intervals by group, differences with the band."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from unmask.report import words
from unmask.report.drawing import Chart
from unmask.report.run import BAND, Run, group_name, label
from unmask.types import Estimate

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#767676"  # Okabe & Ito: safe for colour-blind readers
LEANS = {"above": ORANGE, "within": GREY, "below": BLUE, "no null": GREY, "no interval": GREY}
HOLM = {words.DIFFERS: "diamond", "does not differ": "circle", "not tested": "square"}
BINS = 40


def intervals(estimates: Sequence[Estimate], run: Run) -> Chart:
    """One line per measure: its value and interval against the null."""
    rows = [_row(estimate, label(estimate, run)) for estimate in estimates]
    base = alt.Chart(alt.InlineData(values=rows))
    text = base.mark_text(dy=-10, fontSize=11, color="currentColor")
    text = text.encode(x="value:Q", y=_names(rows), text="shown:N")
    return alt.layer(*_layers(base, estimates, rows), text).properties(width=640, height=alt.Step(38))


def groups(estimates: Sequence[Estimate], run: Run) -> Chart:
    """One panel per measure, one line per group; the shape says what Holm's correction left standing."""
    rows = [_row(e, group_name(e)) | {"panel": label(e, run), "holm": words.holm(e)} for e in estimates]
    shape = alt.Shape("holm:N").scale(domain=list(HOLM), range=list(HOLM.values()))
    shape = shape.title("after Holm's correction").legend(orient="bottom", titleOrient="left", titleLimit=0)
    *lines, points = _layers(alt.Chart(), estimates, rows)
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    chart = alt.layer(*lines, points.encode(shape=shape)).properties(width=205, height=alt.Step(20))
    facet = alt.Facet("panel:N").title(None).sort(panels)
    return chart.facet(facet=facet, columns=min(3, len(panels)), data=alt.InlineData(values=rows))


def differences(named: Sequence[tuple[str, Sequence[float]]]) -> Chart:
    """One histogram per measure, with the band of nearly equal pairs behind it."""
    drawn: Chart = alt.concat(*(_histogram(name, values) for name, values in named), columns=3)
    return drawn


def bins(values: Sequence[float]) -> list[dict[str, float | str]]:
    """Counts in equal bins around zero; the outermost also hold what lies beyond them."""
    limit = reach(values)
    counts, edges = np.histogram(np.clip(values, -limit, limit), bins=BINS, range=(-limit, limit))
    sides = ["less"] * (BINS // 2) + ["more"] * (BINS // 2)
    return [
        {"left": float(left), "right": float(right), "pairs": int(pairs), "side": side}
        for left, right, pairs, side in zip(edges[:-1], edges[1:], counts, sides, strict=True)
    ]


def reach(values: Sequence[float]) -> float:
    """How far a histogram goes from zero: past the band, and past 98% of the values."""
    return max(1.6 * BAND, float(np.quantile(np.abs(values), 0.98)))


def _histogram(name: str, values: Sequence[float]) -> Chart:
    limit = reach(values)
    x = alt.X("left:Q").bin("binned").scale(domain=[-limit, limit], nice=False).title("difference")
    legend = alt.Legend(labelExpr=_SIDES, orient="bottom", titleOrient="left", titleLimit=0)
    side = alt.Color("side:N").scale(domain=["more", "less"], range=[ORANGE, BLUE])
    side = side.title("scores higher:").legend(legend)
    bars = alt.Chart(alt.InlineData(values=bins(values))).mark_bar(binSpacing=0)
    bars = bars.encode(x=x, x2="right:Q", y=alt.Y("pairs:Q").title("pairs"), color=side)
    band = alt.Chart(alt.InlineData(values=[{"left": -BAND, "right": BAND}]))
    band = band.mark_rect(color=GREY, opacity=0.25).encode(x=x, x2="right:Q")
    return alt.layer(band, bars).properties(width=205, height=120, title=name)


_SIDES = "datum.label == 'more' ? 'the stereotyping sentence' : 'the other sentence'"
_LEANS = "{above: 'above the null', within: 'around the null', below: 'below the null'}[datum.label]"


def _layers(base: alt.Chart, estimates: Sequence[Estimate], rows: list[dict[str, Any]]) -> list[alt.Chart]:
    """The null, the intervals and the values."""
    known = any(estimate.null is not None for estimate in estimates)
    legend = alt.Legend(
        values=["above", "within", "below"], labelExpr=_LEANS, orient="bottom", titleOrient="left"
    )
    color = alt.Color("lean:N").scale(domain=list(LEANS), range=list(LEANS.values()))
    color = color.title("the interval lies").legend(legend if known else None)
    title = _unit(estimates[0]) + ("; dashed: the null" if known else "")
    scale = alt.Scale(domain=_domain(estimates), nice=False, zero=False)
    axes = {name: alt.X(f"{name}:Q", scale=scale, title=title) for name in ("null", "low", "value")}
    asked = base.encode(y=_names(rows), color=color, tooltip=_tooltip())
    return [
        base.mark_rule(strokeDash=[4, 3], color="currentColor", opacity=0.6).encode(x=axes["null"]),
        asked.mark_rule(strokeWidth=2.5).encode(x=axes["low"], x2="high:Q"),
        asked.mark_point(filled=True, size=70, opacity=1).encode(x=axes["value"]),
    ]


def _unit(estimate: Estimate) -> str:
    return "%" if estimate.statistic in words.PERCENT else estimate.statistic


def _row(estimate: Estimate, name: str) -> dict[str, Any]:
    numbers = {key: _finite(getattr(estimate, key)) for key in ("value", "low", "high", "null")}
    shown = words.number(estimate.value, words.digits_of(estimate.statistic))
    told = {"shown": shown, "lean": words.lean(estimate), "reading": words.reading(estimate)}
    return {"label": name, "n": estimate.n, **numbers, **told}


def _domain(estimates: Sequence[Estimate]) -> list[float]:
    """Percentages reach ten points either side of the null; numbers without a null start at zero."""
    percent, null = estimates[0].statistic in words.PERCENT, estimates[0].null
    ends = [_finite(v) for e in estimates for v in (e.low, e.high, e.value, e.null)]
    known = [v for v in ends if v is not None] or [0.0, 1.0]
    if null is None:
        return [0.0, 100.0] if percent else [min(0.0, *known), 1.08 * max(*known, 0.1)]
    reach = 10.0 if percent else 0.1
    low, high = min(*known, null - reach), max(*known, null + reach)
    margin = 0.04 * (high - low)
    return [max(low - margin, 0.0), min(high + margin, 100.0)] if percent else [low - margin, high + margin]


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _names(rows: Sequence[dict[str, Any]]) -> alt.Y:
    return alt.Y("label:N").title(None).sort(list(dict.fromkeys(row["label"] for row in rows)))


def _tooltip() -> list[alt.Tooltip]:
    numbers = [alt.Tooltip(f"{name}:Q", format=".4g") for name in ("value", "low", "high", "null", "n")]
    return [alt.Tooltip("label:N"), *numbers, alt.Tooltip("reading:N")]
