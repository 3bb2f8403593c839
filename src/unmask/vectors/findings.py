"""Results of vector measures as sentences, tables and plots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from unmask.core.estimate import Estimate
from unmask.findings import Finding, Plot, Table, Value, charts
from unmask.stats.corrections import holm
from unmask.vectors.association import Association
from unmask.vectors.ceat import CeatResult
from unmask.vectors.directions import NeighbourBias, WordMean
from unmask.vectors.spec import VectorResult

SHOWN = 5  # words at either end of a ranking
NAMED = 12  # words named in a note
ALPHA = 0.05


def conclude(result: VectorResult, source: str) -> Finding:
    """The finding of one measure on one source of vectors."""
    if result.neighbour_bias is not None:
        return _neighbours(result.neighbour_bias, result, source)
    if result.word_means:
        return _over_words(result, source)
    return _ceat(result, source) if result.ceat_results else _associations(result, source)


def estimates_of(result: VectorResult) -> list[Estimate]:
    """The numbers of a result, by question or over words."""
    name = result.measure.name
    found = [
        Estimate.of(each.mean, data="words", statistic=number.replace(" ", "-"), n=each.n, null=null)
        for (number, each), null in zip(result.word_means, (0.0, None), strict=False)
    ]
    if (bias := result.neighbour_bias) is not None:
        over = {"data": "words", "statistic": "correlation", "n": bias.n}
        found.append(Estimate.of(bias.correlation, **over, null=0.0, p=bias.p))
    for each in result.associations:
        about = {"data": each.question, "statistic": "effect-size", "n": sum(each.sizes)}
        found.append(Estimate.of(each.effect, **about, null=0.0, p=each.p))
    for combined in result.ceat_results:
        about = {"data": combined.question, "statistic": "combined-effect", "n": combined.draws}
        found.append(Estimate.of(combined.effect, **about, null=0.0, p=combined.p))
    return [replace(estimate, measure=name) for estimate in found]


# ----------------------------------------------------------------------------------- questions


def _associations(result: VectorResult, source: str) -> Finding:
    adjusted = holm([each.p for each in result.associations])
    rows = tuple(_association(each, p) for each, p in zip(result.associations, adjusted, strict=True))
    columns = ("question", "effect size", "p", "p (Holm)", "partitions", "X+Y+A+B", "left out", "interval")
    note = (
        f"Effect size in {_deviation(result.associations)} standard deviations, 95% bootstrap interval. p: "
        "one-sided permutation test over partitions of the targets; exact: all partitions were enumerated."
    )
    significant = [
        each.question
        for each, p in zip(result.associations, adjusted, strict=True)
        if p is not None and p < ALPHA
    ]
    effects = {each.question: each.effect for each in result.associations}
    return Finding(
        _headline(result, source, effects, significant),
        (Table(f"{result.measure.title} ({result.measure.name}) in {source}", columns, rows, note),),
        _plots(result, effects),
        (*_left_out(result), *_sentence_units(result)),
    )


def _association(each: Association, p_holm: float | None) -> tuple[str | int | float | Value | None, ...]:
    partitions = f"{each.partitions:,} {'exact' if each.exact else 'sampled'}"
    sizes, effect = "+".join(map(str, each.sizes)), each.effect
    return each.question, effect, each.p, p_holm, partitions, sizes, len(each.left_out), effect.method


def _ceat(result: VectorResult, source: str) -> Finding:
    adjusted = holm([each.p for each in result.ceat_results])
    rows = tuple(_combined_row(each, p) for each, p in zip(result.ceat_results, adjusted, strict=True))
    columns = ("question", "combined effect", "p", "p (Holm)", "τ²", "I² (%)", "draws", "contexts a word")
    note = (
        "Random-effects model (DerSimonian and Laird) over draws of one context per word; p two-sided. "
        "Draws share contexts, so intervals and p are far too small: look at the spread of the effects, τ²."
    )
    significant = [
        each.question
        for each, p in zip(result.ceat_results, adjusted, strict=True)
        if p is not None and p < ALPHA
    ]
    effects = {each.question: each.effect for each in result.ceat_results}
    spread = [
        {"value": float(value), "series": each.question}
        for each in result.ceat_results
        for value in each.effects[:2000]
    ]
    histogram = Plot(
        "ceat-effects",
        "Effect sizes draw by draw",
        "Histograms of the effect size in up to 2,000 draws, one for each question.",
        charts.histograms(spread, axis="effect size"),
    )
    return Finding(
        _headline(result, source, effects, significant),
        (Table(f"{result.measure.title} ({result.measure.name}) in {source}", columns, rows, note),),
        (*_plots(result, effects), histogram),
        _left_out(result),
    )


def _combined_row(each: CeatResult, p_holm: float | None) -> tuple[str | int | float | Value | None, ...]:
    contexts = "–".join(map(str, dict.fromkeys(each.contexts)))
    return each.question, each.effect, each.p, p_holm, each.tau2, 100 * each.i2, each.draws, contexts


def _headline(
    result: VectorResult,
    source: str,
    effects: Mapping[str, Value],
    significant: Sequence[str],
) -> tuple[str, ...]:
    """What the test says and what the intervals say; they may disagree."""
    questions = f"{len(effects)} {'question' if len(effects) == 1 else 'questions'}"
    above = [name for name, effect in effects.items() if effect.low > 0]
    below = [name for name, effect in effects.items() if effect.high < 0]
    return (
        f"{result.measure.name} in {source}, {questions}: p < {ALPHA} "
        f"after Holm's correction for {', '.join(significant) or 'none'}.",
        f"The 95% interval lies above 0 for {', '.join(above) or 'none'}"
        f"{'; below 0 for ' + ', '.join(below) if below else ''}.",
    )


def _plots(result: VectorResult, effects: Mapping[str, Value]) -> tuple[Plot, ...]:
    rows = [
        {"label": name, "value": effect.value, "low": effect.low, "high": effect.high}
        for name, effect in effects.items()
    ]
    description = "; ".join(
        f"{row['label']} {row['value']:.2f} ({row['low']:.2f} to {row['high']:.2f})" for row in rows
    )
    title = f"Effect sizes of {result.measure.name}, by question"
    return (
        Plot(
            f"{result.measure.name}-effects",
            title,
            f"{title}: {description}.",
            charts.intervals(rows, axis="effect size", null=0.0),
        ),
    )


def _deviation(found: Iterable[Association]) -> str:
    kinds = {"sample": "sample", "population": "population"}
    return " and ".join(dict.fromkeys(kinds[each.spread] for each in found))


def _sentence_units(result: VectorResult) -> tuple[str, ...]:
    if result.measure.name not in ("seat", "cseat"):
        return ()
    return (
        "sentences of one word are nearly identical, yet the published test permutes sentences: its p is too "
        "small; the intervals resample words with all their sentences where the words are known",
    )


# --------------------------------------------------------------------------------------- words


def _over_words(result: VectorResult, source: str) -> Finding:
    first = result.word_means[0][1]
    rows = tuple(
        (
            name,
            each.mean,
            each.n,
            each.direction.pairs,
            100 * each.direction.explained,
            each.mean.method,
        )
        for name, each in result.word_means
    )
    columns = ("number", "mean over words", "words", "pairs", "direction explains (%)", "interval")
    note = f"{result.measure.reads[:1].upper()}{result.measure.reads[1:]}. The direction is treated as fixed."
    description = tuple(
        f"{result.measure.name} in {source}: {name} {_format(each.mean, 3)} over {each.n} words."
        for name, each in result.word_means
    )
    return Finding(
        description,
        (
            Table(
                f"{result.measure.title} ({result.measure.name}) in {source}", columns, rows, note, digits=3
            ),
            _extreme_words(first),
        ),
        (_words_plot(result.measure.name, first),),
        _left_out(result),
    )


def _extreme_words(result: WordMean) -> Table:
    order = sorted(result.values.items(), key=lambda item: -item[1])
    ends = order if len(order) <= 2 * SHOWN else [*order[:SHOWN], *order[-SHOWN:]]
    return Table("Words at either end", ("word", "value"), tuple(ends), f"Of {len(order)} words.", digits=3)


def _words_plot(name: str, result: WordMean) -> Plot:
    rows = [{"value": value, "series": name, "label": word} for word, value in result.values.items()]
    description = f"Histogram of the values of {result.n} words; their mean is {result.mean.value:.3f}."
    return Plot(
        f"{name}-words", f"{name}, word by word", description, charts.histograms(rows, axis="value of a word")
    )


def _neighbours(bias: NeighbourBias, result: VectorResult, source: str) -> Finding:
    marked = sum(count > 0 for count in bias.marked.values())
    rows = ((bias.correlation, bias.p, bias.n, bias.k, bias.correlation.method),)
    columns = ("correlation", "p", "words", "neighbours", "interval")
    note = (
        "Pearson's correlation of a word's own lean with the share of its neighbours that lean towards men; "
        "the lean is the cosine with the gender direction of the same vectors. Words are not a random sample."
    )
    description = (
        f"knn-bias in {source}: correlation {_format(bias.correlation, 2)} over "
        f"{bias.n} words, {bias.k} neighbours each; {marked} words have neighbours that lean."
    )
    order = sorted(
        ((word, share) for word, share in bias.shares.items() if np.isfinite(share)),
        key=lambda item: -item[1],
    )
    shown = order if len(order) <= 2 * SHOWN else [*order[:SHOWN], *order[-SHOWN:]]
    ends = tuple((word, 100 * share, bias.marked[word]) for word, share in shown)
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
        (description,),
        (Table(f"{result.measure.title} in {source}", columns, rows, note), table),
        (plot,),
        _left_out(result),
    )


def _left_out(result: VectorResult) -> tuple[str, ...]:
    """Notes on words without a vector and questions without an answer."""
    notes = [f"{name}: no vector for {_few(words)}; left out" for name, words in result.left_out]
    return (*notes, *(f"{name} was not answered: {why}" for name, why in result.unanswered))


def _few(words: Sequence[str]) -> str:
    return ", ".join(words[:NAMED]) + (f" and {len(words) - NAMED} more" if len(words) > NAMED else "")


def _format(number: Value, digits: int) -> str:
    """A number with its interval, with a typographic minus."""
    ends = f"{number.low:.{digits}f} to {number.high:.{digits}f}"
    return f"{number.value:.{digits}f} (95% interval {ends})".replace("-", "−")
