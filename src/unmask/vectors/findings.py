"""What measures on vectors found, as sentences, tables and plots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from unmask.findings import Finding, Plot, Table, Value, charts
from unmask.stats.bootstrap import Interval
from unmask.stats.corrections import holm
from unmask.vectors.association import Association
from unmask.vectors.ceat import CeatResult
from unmask.vectors.directions import NeighbourBias, WordMean
from unmask.vectors.run import VectorResult

SHOWN = 5  # words at either end of a ranking
NAMED = 12  # words named in a note
ALPHA = 0.05


def conclude(one: VectorResult, source: str) -> Finding:
    """The finding of one measure on one source of vectors."""
    if one.company is not None:
        return _company(one.company, one, source)
    if one.over_words:
        return _over_words(one, source)
    return _combined(one, source) if one.combined else _associations(one, source)


# ----------------------------------------------------------------------------------- questions


def _associations(one: VectorResult, source: str) -> Finding:
    adjusted = holm([each.p for each in one.associations])
    rows = tuple(_association(each, p) for each, p in zip(one.associations, adjusted, strict=True))
    columns = ("question", "effect size", "p", "p (Holm)", "partitions", "X+Y+A+B", "left out", "interval")
    note = (
        f"Effect size in {_deviation(one.associations)} standard deviations, 95% interval by bootstrap. p: "
        "one-sided, share of partitions of the targets that do as much; exact: all there are were looked at."
    )
    held = [
        each.question
        for each, p in zip(one.associations, adjusted, strict=True)
        if p is not None and p < ALPHA
    ]
    effects = [(each.question, each.effect, each.interval) for each in one.associations]
    return Finding(
        _headline(one, source, effects, held),
        (Table(f"{one.measure.title} ({one.measure.name}) in {source}", columns, rows, note),),
        _plots(one, effects),
        (*_left_out(one), *_sentence_units(one)),
    )


def _association(each: Association, p_holm: float | None) -> tuple[str | int | float | Value | None, ...]:
    counted = f"{each.partitions:,} {'exact' if each.exact else 'drawn'}"
    sizes = "+".join(map(str, each.sizes))
    effect = _ranged(each.effect, each.interval)
    return each.question, effect, each.p, p_holm, counted, sizes, len(each.left_out), each.interval.method


def _combined(one: VectorResult, source: str) -> Finding:
    adjusted = holm([each.p for each in one.combined])
    rows = tuple(_one_combined(each, p) for each, p in zip(one.combined, adjusted, strict=True))
    columns = ("question", "combined effect", "p", "p (Holm)", "τ²", "I² (%)", "draws", "contexts a word")
    note = (
        "Random-effects model (DerSimonian and Laird) over draws of one context a word; p two-sided. Draws "
        "share contexts, so intervals and p are too small by far: look at the spread of the effects, τ²."
    )
    held = [
        each.question for each, p in zip(one.combined, adjusted, strict=True) if p is not None and p < ALPHA
    ]
    effects = [(each.question, each.effect, each.interval) for each in one.combined]
    spread = [
        {"value": float(value), "series": each.question}
        for each in one.combined
        for value in each.effects[:2000]
    ]
    histogram = Plot(
        "ceat-effects",
        "Effect sizes draw by draw",
        "Histograms of the effect size in up to 2,000 draws, one for each question.",
        charts.histograms(spread, axis="effect size"),
    )
    return Finding(
        _headline(one, source, effects, held),
        (Table(f"{one.measure.title} ({one.measure.name}) in {source}", columns, rows, note),),
        (*_plots(one, effects), histogram),
        _left_out(one),
    )


def _one_combined(each: CeatResult, p_holm: float | None) -> tuple[str | int | float | Value | None, ...]:
    contexts = "–".join(map(str, dict.fromkeys(each.contexts)))
    effect = _ranged(each.effect, each.interval)
    return each.question, effect, each.p, p_holm, each.tau2, 100 * each.i2, each.draws, contexts


def _headline(
    one: VectorResult, source: str, effects: Sequence[tuple[str, float, Interval]], held: Sequence[str]
) -> tuple[str, ...]:
    """What the test says, and what the intervals say: they need not agree."""
    asked = len(effects)
    above = [name for name, _, interval in effects if interval.low > 0]
    below = [name for name, _, interval in effects if interval.high < 0]
    return (
        f"{one.measure.name} in {source}, {asked} {'question' if asked == 1 else 'questions'}: p < {ALPHA} "
        f"after Holm's correction for {', '.join(held) or 'none'}.",
        f"The 95% interval lies above 0 for {', '.join(above) or 'none'}"
        f"{'; below 0 for ' + ', '.join(below) if below else ''}.",
    )


def _plots(one: VectorResult, effects: Sequence[tuple[str, float, Interval]]) -> tuple[Plot, ...]:
    rows = [
        {"label": name, "value": value, "low": interval.low, "high": interval.high}
        for name, value, interval in effects
    ]
    told = "; ".join(
        f"{row['label']} {row['value']:.2f} ({row['low']:.2f} to {row['high']:.2f})" for row in rows
    )
    title = f"Effect sizes of {one.measure.name}, by question"
    return (
        Plot(
            f"{one.measure.name}-effects",
            title,
            f"{title}: {told}.",
            charts.intervals(rows, axis="effect size", null=0.0),
        ),
    )


def _deviation(found: Iterable[Association]) -> str:
    kinds = {"sample": "sample", "population": "population"}
    return " and ".join(dict.fromkeys(kinds[each.spread] for each in found))


def _sentence_units(one: VectorResult) -> tuple[str, ...]:
    if one.measure.name not in ("seat", "cseat"):
        return ()
    return (
        "sentences of one word are nearly alike, yet the published test shuffles sentences: its p is too "
        "small; the intervals draw words with all their sentences where the words are known",
    )


# --------------------------------------------------------------------------------------- words


def _over_words(one: VectorResult, source: str) -> Finding:
    first = one.over_words[0][1]
    rows = tuple(
        (
            name,
            _ranged(each.value, each.interval),
            each.n,
            each.direction.pairs,
            100 * each.direction.explained,
            each.interval.method,
        )
        for name, each in one.over_words
    )
    columns = ("number", "mean over words", "words", "pairs", "direction explains (%)", "interval")
    note = f"{one.measure.reads[:1].upper()}{one.measure.reads[1:]}. The direction is taken as given."
    told = tuple(
        f"{one.measure.name} in {source}: {name} {_told(each.value, each.interval, 3)} over {each.n} words."
        for name, each in one.over_words
    )
    return Finding(
        told,
        (
            Table(f"{one.measure.title} ({one.measure.name}) in {source}", columns, rows, note, digits=3),
            _ends(first),
        ),
        (_words_plot(one.measure.name, first),),
        _left_out(one),
    )


def _ends(found: WordMean) -> Table:
    order = sorted(found.values.items(), key=lambda item: -item[1])
    kept = order if len(order) <= 2 * SHOWN else [*order[:SHOWN], *order[-SHOWN:]]
    return Table("Words at either end", ("word", "value"), tuple(kept), f"Of {len(order)} words.", digits=3)


def _words_plot(name: str, found: WordMean) -> Plot:
    rows = [{"value": value, "series": name, "label": word} for word, value in found.values.items()]
    told = f"Histogram of the values of {found.n} words; their mean is {found.value:.3f}."
    return Plot(
        f"{name}-words", f"{name}, word by word", told, charts.histograms(rows, axis="value of a word")
    )


def _company(company: NeighbourBias, one: VectorResult, source: str) -> Finding:
    marked = sum(count > 0 for count in company.marked.values())
    value = _ranged(company.correlation, company.interval)
    rows = ((value, company.p, company.n, company.k, company.interval.method),)
    columns = ("correlation", "p", "words", "neighbours", "interval")
    note = (
        "Pearson's correlation of a word's own lean with the share of its neighbours that lean towards men; "
        "the lean is the cosine with the gender direction of these same vectors. Words were not drawn at "
        "random."
    )
    told = (
        f"knn-bias in {source}: correlation {_told(company.correlation, company.interval, 2)} over "
        f"{company.n} words, {company.k} neighbours each; {marked} words have neighbours that lean."
    )
    order = sorted(
        ((word, share) for word, share in company.shares.items() if np.isfinite(share)),
        key=lambda item: -item[1],
    )
    kept = order if len(order) <= 2 * SHOWN else [*order[:SHOWN], *order[-SHOWN:]]
    ends = tuple((word, 100 * share, company.marked[word]) for word, share in kept)
    table = Table(
        "Words at either end",
        ("word", "neighbours towards men (%)", "of neighbours that lean"),
        ends,
        digits=1,
    )
    bins = [{"value": 100 * share, "series": "knn-bias"} for _, share in order]
    plot = Plot(
        "knn-bias-words",
        "Share of neighbours that lean towards men, word by word",
        f"Histogram of the shares of {len(order)} words.",
        charts.histograms(bins, axis="neighbours towards men (%)"),
    )
    return Finding(
        (told,),
        (Table(f"{one.measure.title} in {source}", columns, rows, note), table),
        (plot,),
        _left_out(one),
    )


def _left_out(one: VectorResult) -> tuple[str, ...]:
    """What had no vector or no answer, by name."""
    said = [f"{name}: no vector of {_few(words)}; left out" for name, words in one.left_out]
    return (*said, *(f"{name} was not answered: {why}" for name, why in one.unanswered))


def _few(words: Sequence[str]) -> str:
    return ", ".join(words[:NAMED]) + (f" and {len(words) - NAMED} more" if len(words) > NAMED else "")


def _told(value: float, interval: Interval, digits: int) -> str:
    """A number with its interval, with a true minus."""
    ends = f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"
    return f"{value:.{digits}f} (95% interval {ends})".replace("-", "−")


def _ranged(value: float, interval: Interval) -> Value:
    return Value(value, interval.low, interval.high, interval.method)
