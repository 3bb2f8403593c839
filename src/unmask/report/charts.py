"""The charts of one run: intervals against the null, intervals by group, histograms of differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import altair as alt
import numpy as np

from unmask.audit.interpretation import all_pairs, doubt_of, interpret, interval, published_scores, slot_sides
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.statistic import BAND, CHANGE, LEVEL, statistic
from unmask.findings import charts as plots
from unmask.findings import sentences
from unmask.findings.charts import BLUE, DASHED, GREY, ORANGE, Chart, Row, base_chart, in_order, tooltips
from unmask.findings.figure import Figure, figure, label_text
from unmask.findings.numbers import number
from unmask.findings.sentences import WEAK, side_words
from unmask.report import selection
from unmask.report.selection import group_name, has_direction, is_open, label, reach, tone
from unmask.stats import corrections

PUBLISHED = "published"  # a score of a known model
LEANS = {"above": ORANGE, "within": GREY, "below": BLUE} | dict.fromkeys(
    ("ties", "too few", "no interval", "no null", "no direction", "invalid", PUBLISHED), GREY
)
HOLM = {"differs": "diamond", "does not differ": "circle", "was not tested": "square"}  # after correction
BINS = 40
WORDS = "words[datum.label]"  # an expression of Vega; `_with_words` gives the words
SINGLE = 440  # pixels of a panel that stands alone: two charts fit beside each other
TIP: Row = {"label": "", "value": 0, "low": 0, "high": 0, "null": 0, "n": 0, "reading": ""}  # of a tooltip
PAIR_WORDS = ("the stereotyping sentence", "the other sentence")
LEAN_WORDS = {"above": "above the reference value", "within": "not beyond chance", "below": "below it"}
ENDS = 12  # words shown at each end of the ranking
Named = tuple[str, Sequence[float], bool]  # measure, its differences, whether to draw the near-zero band
Sides = Callable[[Estimate], tuple[str, str]]  # what the two sides of an estimate's templates are called


def headline(result: AuditResult) -> list[Figure]:
    """One chart for each kind of headline statistic; shares of pairs share one chart."""
    figures = []
    shown = (each for e in result.headlines() for each in (e, _with_published(e, result)) if each is not None)
    for i, (title, estimates) in enumerate(panels(shown, partial(sides_of, result))):
        values = [f"{_point_name(e, result)} {_value_text(e)}" for e in estimates]
        values += [f"{name} {number(value, 1)}" for e in estimates for name, value in known_models(e, result)]
        known = "; hollow: published scores of known models" if len(values) > len(estimates) else ""
        known += f"; † {WEAK}" if any(doubt_of(result, e.data, e.measure) == "doubtful" for e in estimates) else ""
        chart = intervals(estimates, result)
        figures.append(figure(f"headline-{i}", f"{title}{known}", chart, f"{title}: {'; '.join(values)}."))
    return figures


def _with_published(estimate: Estimate, run: AuditResult) -> Estimate | None:
    """The score over all pairs beside one that counts both directions alike, where papers print scores of it."""
    plain = all_pairs(run, estimate)
    return plain if plain is not None and published_scores(run, plain) else None


def _point_name(estimate: Estimate, run: AuditResult) -> str:
    """The name of an estimate on an axis: a dagger marks that a check failed."""
    named = label(estimate, run)
    if all(each.key != estimate.key for each in run.headlines()):
        named += ", all pairs"
    return f"{named} †" if doubt_of(run, estimate.data, estimate.measure) == "doubtful" else named


def known_models(estimate: Estimate, run: AuditResult) -> list[tuple[str, float]]:
    """The published scores for the same data and measure: a name for the axis, and the score."""
    known = published_scores(run, estimate)
    return [(f"{each.model} ({label(estimate, run)})", each.value) for each in known]


def category(result: AuditResult) -> list[Figure]:
    """One chart by category for every dataset and kind of headline statistic."""
    figures: list[Figure] = []
    for data in dict.fromkeys(estimate.data for estimate in result.headlines()):
        of_data = [estimate for estimate in selection.by_group(result, "category") if estimate.data == data]
        for title, estimates in panels(of_data, partial(sides_of, result)):
            named = f"{title} on {data}"
            alt_text = f"{named}, by category, with intervals; the same numbers are in the table."
            figures.append(figure(f"category-{len(figures)}", named, groups(estimates, result), alt_text))
    return figures


def word_leans(result: AuditResult) -> list[Figure]:
    """For template data: the words with the largest values in either direction."""
    figures: list[Figure] = []
    for head in (estimate for estimate in result.headlines() if is_open(estimate)):
        by_word = [e for e in selection.by_group(result, "word") if (e.measure, e.data) == (head.measure, head.data)]
        corrected = [
            replace(e, p_holm=p) for e, p in zip(by_word, corrections.holm([e.p for e in by_word]), strict=True)
        ]
        ranked = sorted((e for e in corrected if math.isfinite(e.value)), key=lambda e: -e.value)
        shown = ranked if len(ranked) <= 2 * ENDS else [*ranked[:ENDS], *ranked[-ENDS:]]
        if shown:
            title = f"{head.measure} on {head.data}: the words that lean most to either side, of {len(ranked)}"
            values = "; ".join(f"{group_name(e.group)} {_value_text(e)}" for e in shown)
            chart = ranking([(group_name(e.group), e) for e in shown], result)
            figures.append(figure(f"words-{len(figures)}", title, chart, f"{title}: {values}."))
    return figures


def difference_histograms(result: AuditResult) -> list[Figure]:
    """Histograms of differences; measures that duplicate an earlier one are left out."""
    twins = selection.duplicate_measures(result)
    distinct = [e for e in result.headlines() if (e.measure, e.data) not in twins]
    alt_text = "Histograms of the differences of the two scores, one per measure; the table gives their spread."
    figures: list[Figure] = []
    by_words: dict[tuple[str, str], list[Estimate]] = {PAIR_WORDS: []}
    for estimate in distinct:
        words = side_words(sides_of(result, estimate)) if is_open(estimate) else PAIR_WORDS
        by_words.setdefault(words, []).append(estimate)
    for (more, less), estimates in by_words.items():
        title = f"Score of {more} minus score of {less}"
        named = [(label(e, result), *selection.differences(result, e)) for e in estimates]
        named = [histogram for histogram in named if histogram[1]]
        if named:
            name = "differences" if (more, less) == PAIR_WORDS else f"differences-open-{len(figures)}"
            figures.append(figure(name, title, differences(named, (more, less)), f"{title}. {alt_text}"))
    return figures


def sides_of(run: AuditResult, estimate: Estimate) -> tuple[str, str]:
    """What the two sides of the templates of an estimate are called."""
    return slot_sides(run, estimate.data)


def panels(estimates: Iterable[Estimate], sides: Sides) -> list[tuple[str, list[Estimate]]]:
    """Group estimates that can share an axis, by axis title; shares of pairs come first.

    Templates share an axis if `sides` calls their sides the same.
    """
    by_axis: dict[tuple[str, float | None], list[Estimate]] = {}
    for estimate in sorted(estimates, key=lambda each: statistic(each.statistic).question != "pairs"):
        facts = statistic(estimate.statistic)
        null = estimate.null if has_direction(estimate) or not facts.panel else None  # others need not share it
        by_axis.setdefault((facts.axis(side_words(sides(estimate))), null), []).append(estimate)
    return [(title, members) for (title, _), members in by_axis.items()]


def _value_text(estimate: Estimate) -> str:
    digits = statistic(estimate.statistic).digits
    return f"{number(estimate.value, digits)} (interval {interval(estimate, digits)})"


def intervals(estimates: Sequence[Estimate], run: AuditResult) -> Chart:
    """One line per measure: its value and interval against the null; below it published scores of known models."""
    rows = []
    for estimate in estimates:
        rows.append(_row(estimate, _point_name(estimate, run), run))
        rows += [_published_row(rows[-1], *known) for known in known_models(estimate, run)]
    base = base_chart(rows)
    text = base.mark_text(dy=-10, fontSize=11, color="currentColor")
    text = text.encode(x="value:Q", y=in_order(alt.Y("label:N")), text="shown:N")
    scores = [row["value"] for row in rows if row["lean"] == PUBLISHED]
    chart = alt.layer(*_layers(base, estimates, scores), text).properties(width=640, height=alt.Step(30))
    return _with_words(chart, _lean_words(estimates[0], run))


def _published_row(row: Row, name: str, value: float) -> Row:
    """A published score as a row beside that of an estimate: it has no interval here."""
    numbers = {"value": value, "low": None, "high": None, "null": row["null"], "n": None}
    return {"label": name, **numbers, "shown": number(value, 1), "lean": PUBLISHED, "reading": "published"}


def ranking(named: Sequence[tuple[str, Estimate]], run: AuditResult | None = None, axis: str = "") -> Chart:
    """One line per name, in this order; colour shows whether the estimate differs from the null."""
    estimates = [estimate for _, estimate in named]
    base = base_chart([_row(estimate, name, run) for name, estimate in named])
    chart = alt.layer(*_layers(base, estimates, axis=axis)).properties(width=SINGLE, height=alt.Step(20))
    return _with_words(chart, _lean_words(estimates[0], run))


def groups(estimates: Sequence[Estimate], run: AuditResult | None = None) -> Chart:
    """One panel per measure, one line per group; colour and shape show significance after Holm's correction."""
    rows = [_row(e, group_name(e.group), run) | {"panel": e.measure, "holm": _holm(e)} for e in estimates]
    shape = alt.Shape("holm:N").scale(domain=list(HOLM), range=list(HOLM.values()))
    *lines, points = _layers(alt.Chart(), estimates)
    panels = len({row["panel"] for row in rows})
    width = {1: SINGLE, 2: 400}.get(panels, 300)
    chart = alt.layer(*lines, points.encode(shape=shape.legend(None))).properties(width=width, height=alt.Step(20))
    return _with_words(plots.in_panels(chart, rows, "panel", columns=min(3, panels)), _lean_words(estimates[0], run))


def _holm(estimate: Estimate) -> str:
    """Whether a group differs from the null after Holm's correction."""
    differs, same, untested = HOLM
    if estimate.p_holm is None or not math.isfinite(estimate.p_holm):
        return untested
    return differs if estimate.p_holm < LEVEL else same


def differences(named: Sequence[Named], words: tuple[str, str] = PAIR_WORDS, *, columns: int = 4) -> Chart:
    """One histogram per measure, with the near-zero band; `words`: what the two sides are called."""
    chart: Chart = alt.concat(*(_histogram(*histogram) for histogram in named), columns=columns)
    return _with_words(chart, dict(zip(("more", "less"), words, strict=True)))


def _with_words(chart: Chart, words: Mapping[str, str]) -> Chart:
    """The chart with the words of its legend: as a value, because Vega evaluates texts of a legend as expressions."""
    named: Chart = chart.add_params(
        alt.param(name="words", value={key: label_text(each) for key, each in words.items()})
    )
    return named


def _lean_words(estimate: Estimate, run: AuditResult | None) -> Mapping[str, str]:
    """What the colours of a chart of intervals mean."""
    first, second = sentences.GENDER if run is None else sides_of(run, estimate)
    special = statistic(estimate.statistic).short
    words = {place: text.replace("{first}", first).replace("{second}", second) for place, text in special.items()}
    return LEAN_WORDS | {place: words[place] for place in LEAN_WORDS if place in words}


def bins(values: Sequence[float], limit: float) -> list[dict[str, float | str]]:
    """Counts in equal bins around zero; values out of range are counted in the outermost bins."""
    counts, edges = np.histogram(np.clip(values, -limit, limit), bins=BINS, range=(-limit, limit))
    sides = ["less"] * (BINS // 2) + ["more"] * (BINS // 2)
    bars = zip(edges[:-1], edges[1:], counts, sides, strict=True)
    return [
        {"left": float(left), "right": float(right), "pairs": int(n), "side": side} for left, right, n, side in bars
    ]


def _histogram(name: str, values: Sequence[float], banded: bool) -> Chart:
    limit = reach(values, banded=banded)
    x = (
        alt.X("left:Q")
        .bin("binned")
        .scale(domain=[-limit, limit], nice=False)
        .title("difference per token" if banded else "difference")
    )
    legend = alt.Legend(labelExpr=WORDS, orient="bottom", titleOrient="left", titleLimit=0)
    side = alt.Color("side:N").scale(domain=["more", "less"], range=[ORANGE, BLUE])
    side = side.title("scores higher:").legend(legend)
    rows = bins(values, limit)
    bars = alt.Chart(alt.InlineData(values=rows)).mark_bar(binSpacing=0)
    counts = (
        alt.Y("pairs:Q").title("pairs").axis(tickCount=min(4, max(int(row["pairs"]) for row in rows)), tickMinStep=1)
    )
    bars = bars.encode(x=x, x2="right:Q", y=counts, color=side)
    band = alt.Chart(alt.InlineData(values=[{"left": -BAND, "right": BAND}] if banded else []))
    band = band.mark_rect(color=GREY, opacity=0.25, aria=False).encode(x=x, x2="right:Q")
    return alt.layer(bars, band).properties(width=205, height=120, title=name)


def _layers(
    base: alt.Chart, estimates: Sequence[Estimate], scores: Sequence[float] = (), axis: str = ""
) -> list[alt.Chart]:
    """The layers of an interval chart: the null, the intervals and the values; the axis also has room for `scores`."""
    known = any(estimate.null is not None for estimate in estimates)
    legend = alt.Legend(values=["above", "within", "below"], labelExpr=WORDS, orient="bottom", titleOrient="left")
    color = alt.Color("lean:N").scale(domain=list(LEANS), range=list(LEANS.values()))
    color = color.title("Holm-corrected:" if any(e.group != "all" for e in estimates) else None).legend(
        legend if has_direction(estimates[0]) else None
    )
    dashed = "no change" if estimates[0].statistic == CHANGE else "reference value"
    title = (axis or unit(estimates[0])) + (f"; dashed: {dashed}" if known else "")
    scale = alt.Scale(domain=_domain(estimates, scores), nice=False, zero=False)
    axes = {name: alt.X(f"{name}:Q", scale=scale, title=title) for name in ("null", "low", "value")}
    marks = base.encode(y=in_order(alt.Y("label:N")), color=color, tooltip=tooltips(TIP))
    return [
        base.mark_rule(**DASHED).encode(x=axes["null"]),
        marks.mark_rule(strokeWidth=2.5).encode(x=axes["low"], x2="high:Q"),
        marks.transform_filter(f"datum.lean != '{PUBLISHED}'")
        .mark_point(filled=True, size=70, opacity=1)
        .encode(x=axes["value"]),
        *([_hollow(base, axes["value"])] if scores else ()),
    ]


def _hollow(base: alt.Chart, x: alt.X) -> alt.Chart:
    """The published scores as hollow points."""
    points = base.transform_filter(f"datum.lean == '{PUBLISHED}'").mark_point(size=60, color=GREY, opacity=1)
    hollow: alt.Chart = points.encode(x=x, y=in_order(alt.Y("label:N")), tooltip=["label:N", "value:Q"])
    return hollow


def unit(estimate: Estimate) -> str:
    """The unit of an axis; never text of the result, because Vega evaluates titles as expressions."""
    return statistic(estimate.statistic).unit or ("change" if estimate.statistic == CHANGE else "value")


def point(estimate: Estimate, name: str, series: str | None = None) -> Row:
    """An estimate as a row of a chart of the kit."""
    at, bounded = estimate.value, estimate.has_interval  # without an interval no line is drawn
    ends = {"value": at, "low": estimate.low if bounded else at, "high": estimate.high if bounded else at}
    return {"label": name, **ends, **({} if series is None else {"series": series})}


def _row(estimate: Estimate, name: str, run: AuditResult | None) -> Row:
    numbers = {key: getattr(estimate, key) for key in ("value", "low", "high", "null")}
    shown = number(estimate.value, statistic(estimate.statistic).digits)
    if run is None:  # of a change
        texts = {"lean": sentences.verdict(estimate), "reading": sentences.lean(estimate)}
    else:
        known = interpret(run, estimate)
        texts = {"lean": tone(known), "reading": known.text}
    return {"label": name, "n": estimate.n, **numbers, "shown": shown, **texts}


def _domain(estimates: Sequence[Estimate], scores: Sequence[float] = ()) -> list[float]:
    """Percentages span ten points or more on either side of the null; undirected statistics start at 0."""
    percent, null = statistic(estimates[0].statistic).is_percent, estimates[0].null
    ends = [*scores, *(v for e in estimates for v in (e.low, e.high, e.value, e.null))]
    known = [v for v in ends if v is not None and math.isfinite(v)] or [0.0, 1.0]
    if not has_direction(estimates[0]):
        return [0.0, 100.0] if percent else [min(0.0, *known), 1.08 * max(*known, 0.1)]
    reach, middle = (10.0, null or 50.0) if percent else (0.1, null or 0.0)
    low, high = min(*known, middle - reach), max(*known, middle + reach)
    margin = 0.04 * (high - low)
    return [low - margin, high + margin]
