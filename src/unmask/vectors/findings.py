"""Results of vector measures as sentences, tables and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from unmask.core.estimate import Estimate
from unmask.findings import Finding, Plot, Table, Value, charts
from unmask.findings.numbers import number
from unmask.stats.corrections import holm
from unmask.vectors.association import Association
from unmask.vectors.ceat import CeatResult
from unmask.vectors.directions import NeighbourBias
from unmask.vectors.sentiment import SentimentBias
from unmask.vectors.spec import VectorResult

SHOWN = 5  # words at either end of a ranking
NAMED = 12  # words named in a note
ENDS = "Words at either end"
ALPHA = 0.05
_STATISTICS = {Association: "effect-size", CeatResult: "combined-effect", SentimentBias: "divergence"}


def conclude(result: VectorResult, source: str) -> Finding:
    """The finding of one measure on one source of vectors."""
    if result.neighbour_bias is not None:
        return _neighbours(result.neighbour_bias, result, source)
    if result.word_means:
        return _over_words(result, source)
    sentiment = [each for each in result.tests if isinstance(each, SentimentBias)]
    return _sentiment(sentiment, result, source) if sentiment else _questions(result, source)


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
    for each in result.tests:
        about = {"data": each.question, "statistic": _STATISTICS[type(each)], "null": 0.0}
        if isinstance(each, SentimentBias):  # whose p is not about the divergence
            found.append(Estimate.of(each.effect, **about, n=sum(each.sizes[:2])))
        else:
            n = sum(each.sizes) if isinstance(each, Association) else each.draws
            found.append(Estimate.of(each.effect, **about, n=n, p=each.p))
    return [replace(estimate, measure=name) for estimate in found]


# ----------------------------------------------------------------------------------- questions

_COLUMNS = ("question", "effect size", "p", "p (Holm)", "partitions", "X+Y+A+B", "left out", "interval")
_CEAT_COLUMNS = ("question", "combined effect", "p", "p (Holm)", "τ²", "I² (%)", "draws", "contexts a word")
_NOTE = (
    "Effect size in {} standard deviations, 95% bootstrap interval. p: one-sided permutation test over "
    "partitions of the targets; exact: all partitions were enumerated."
)
_CEAT_NOTE = (
    "Random-effects model (DerSimonian and Laird) over draws of one context per word; p two-sided. "
    "Draws share contexts, so intervals and p are far too small: look at the spread of the effects, τ²."
)
_SENTENCES_NOTE = (
    "sentences of one word are nearly identical, yet the published test permutes sentences: its p is too "
    "small; the intervals resample words with all their sentences where the words are known"
)


def _questions(result: VectorResult, source: str) -> Finding:
    name, tests = result.measure.name, result.tests
    corrected = list(zip(tests, holm([each.p for each in tests]), strict=True))
    rows = tuple((each.question, each.effect, each.p, p, *_details(each)) for each, p in corrected)
    significant = [each.question for each, p in corrected if p is not None and p < ALPHA]
    effects = {each.question: each.effect for each in tests}
    plots, notes = [_plot(name, effects)], _left_out(result)
    if isinstance(tests[0], Association):
        columns, note = _COLUMNS, _NOTE.format(tests[0].spread)
    else:
        columns, note = _CEAT_COLUMNS, _CEAT_NOTE
        plots.append(_draws_plot([each for each in tests if isinstance(each, CeatResult)]))
    return Finding(
        _headline(name, source, effects, significant),
        (Table(f"{result.measure.title} ({name}) in {source}", columns, rows, note),),
        tuple(plots),
        (*notes, _SENTENCES_NOTE) if name in ("seat", "cseat") else notes,
    )


def _details(each: Association | CeatResult | SentimentBias) -> tuple[str | int | float, ...]:
    """The last columns of a question's row."""
    if not isinstance(each, CeatResult):
        partitions = f"{each.partitions:,} {'exact' if each.exact else 'sampled'}"
        sizes = "+".join(map(str, each.sizes))
        return partitions, sizes, len(each.left_out), each.effect.method
    return each.tau2, 100 * each.i2, each.draws, "–".join(map(str, dict.fromkeys(each.contexts)))


_RNSB_COLUMNS = (
    *("question", "divergence", "negative X (%)", "negative Y (%)", "p", "p (Holm)", "accuracy (%)"),
    *("partitions", "X+Y+A+B", "left out", "interval"),
)
_RNSB_NOTE = (
    "Divergence in nats of the normalised probabilities from even ones; 95% bootstrap interval over the words of A and "
    "B; it is never below 0. Negative: mean probability of the terms. p: one-sided permutation test, the terms of Y "
    "are more negative than those of X. Accuracy: of the classifier on unseen words of A and B; chance is about 50."
)


def _sentiment(tests: Sequence[SentimentBias], result: VectorResult, source: str) -> Finding:
    corrected = holm([each.p for each in tests])
    rows = []
    for each, p in zip(tests, corrected, strict=True):
        means = (100 * mean for mean in each.means)
        rows.append((each.question, each.effect, *means, each.p, p, each.accuracy, *_details(each)))
    ends = []
    for each in tests:
        order = [
            f"{word} {100 * share:.0f}" for word, share in sorted(each.negative.items(), key=lambda item: -item[1])
        ]
        ends.append((each.question, ", ".join(order[:SHOWN]), ", ".join(order[::-1][:SHOWN])))
    most = max(tests, key=lambda each: each.effect.value)
    found = [each.question for each, p in zip(tests, corrected, strict=True) if p is not None and p < ALPHA]
    answers = (
        f"rnsb in {source}: from {min(each.effect.value for each in tests):.3f} to {most.effect.value:.3f} nats "
        f"({most.question}).",
        f"The terms of Y are more negative than those of X (p < {ALPHA} after Holm's correction) for "
        f"{', '.join(found) or 'none'} of {len(tests)} questions.",
    )
    tables = (
        Table(f"{result.measure.title} (rnsb) in {source}", _RNSB_COLUMNS, tuple(rows), _RNSB_NOTE, digits=3),
        Table("Terms", ("question", "most negative (%)", "least negative (%)"), tuple(ends)),
    )
    plot = _plot("rnsb", {each.question: each.effect for each in tests}, "divergence")
    return Finding(answers, tables, (plot,), _left_out(result))


def _draws_plot(tests: Sequence[CeatResult]) -> Plot:
    rows = [{"value": float(value), "series": each.question} for each in tests for value in each.effects[:2000]]
    return Plot(
        "ceat-effects",
        "Effect sizes draw by draw",
        "Histograms of the effect size in up to 2,000 draws, one for each question.",
        charts.histograms(rows, axis="effect size"),
    )


def _headline(measure: str, source: str, effects: Mapping[str, Value], significant: Sequence[str]) -> tuple[str, ...]:
    """What the test says and what the intervals say; they may disagree."""
    questions = f"{len(effects)} {'question' if len(effects) == 1 else 'questions'}"
    above = [name for name, effect in effects.items() if effect.low > 0]
    below = [name for name, effect in effects.items() if effect.high < 0]
    return (
        f"{measure} in {source}, {questions}: p < {ALPHA} "
        f"after Holm's correction for {', '.join(significant) or 'none'}.",
        f"The 95% interval lies above 0 for {', '.join(above) or 'none'}"
        f"{'; below 0 for ' + ', '.join(below) if below else ''}.",
    )


def _plot(measure: str, effects: Mapping[str, Value], axis: str = "effect size") -> Plot:
    title = f"{axis[:1].upper()}{axis[1:]}s of {measure}, by question"
    rows = [charts.interval_row(name, effect) for name, effect in effects.items()]
    described = (
        f"{name} {number(each.value)} ({number(each.low)} to {number(each.high)})" for name, each in effects.items()
    )
    chart = charts.intervals(rows, axis=axis, null=0.0)
    return Plot(f"{measure}-effects", title, f"{title}: {'; '.join(described)}.", chart)


# --------------------------------------------------------------------------------------- words


def _over_words(result: VectorResult, source: str) -> Finding:
    name, reads, first = result.measure.name, result.measure.reads, result.word_means[0][1]
    rows = tuple(
        (
            *(number, each.mean, each.n, each.pairs),
            None if each.explained is None else 100 * each.explained,
            each.mean.method,
        )
        for number, each in result.word_means
    )
    columns = ("number", "mean over words", "words", "pairs", "direction explains (%)", "interval")
    note = f"{reads[:1].upper()}{reads[1:]}. The pairs are treated as fixed."
    order = sorted(first.values.items(), key=lambda item: -item[1])
    bins = [{"value": value, "series": name, "label": word} for word, value in first.values.items()]
    description = f"Histogram of the values of {first.n} words; their mean is {number(first.mean.value, 3)}."
    chart = charts.histograms(bins, axis="value of a word")
    return Finding(
        tuple(
            f"{name} in {source}: {number} {_format(each.mean, 3)} over {each.n} words."
            for number, each in result.word_means
        ),
        (
            Table(f"{result.measure.title} ({name}) in {source}", columns, rows, note, digits=3),
            Table(ENDS, ("word", "value"), tuple(_ends(order)), f"Of {len(order)} words.", digits=3),
        ),
        (Plot(f"{name}-words", f"{name}, word by word", description, chart),),
        _left_out(result),
    )


def _ends(order: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """The first and the last words of a ranking."""
    return order if len(order) <= 2 * SHOWN else [*order[:SHOWN], *order[-SHOWN:]]


def _neighbours(bias: NeighbourBias, result: VectorResult, source: str) -> Finding:
    marked = sum(count > 0 for count in bias.marked.values())
    rows = ((bias.correlation, bias.p, bias.n, bias.k, bias.correlation.method),)
    columns = ("correlation", "p", "words", "neighbours", "interval")
    note = (
        "Pearson's correlation of a word's own lean with the share of its neighbours that lean towards men; "
        f"the lean is the cosine with the gender direction in {result.leans_of}. Words are not a random sample."
    )
    description = (
        f"knn-bias in {source}: correlation {_format(bias.correlation, 2)} over "
        f"{bias.n} words, {bias.k} neighbours each; {marked} words have neighbours that lean."
    )
    known = [(word, 100 * share) for word, share in bias.shares.items() if np.isfinite(share)]
    order = sorted(known, key=lambda item: -item[1])
    ends = tuple((word, share, bias.marked[word]) for word, share in _ends(order))
    columns_of_ends = ("word", "neighbours towards men (%)", "of neighbours that lean")
    bins = [{"value": share, "series": "knn-bias"} for _, share in order]
    histogram = Plot(
        "knn-bias-words",
        "Share of neighbours that lean towards men, word by word",
        f"Histogram of the shares of {len(order)} words.",
        charts.histograms(bins, axis="neighbours towards men (%)"),
    )
    correlation = Table(f"{result.measure.title} in {source}", columns, rows, note)
    tables = (correlation, Table(ENDS, columns_of_ends, ends, digits=1))
    return Finding((description,), tables, (histogram,) if bins else (), _left_out(result))


def _left_out(result: VectorResult) -> tuple[str, ...]:
    """Notes on words without a vector and questions without an answer."""
    notes = []
    for name, words in result.left_out:
        more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
        notes.append(f"{name}: no vector for {', '.join(words[:NAMED])}{more}; left out")
    return (*notes, *(f"{name} was not answered: {why}" for name, why in result.unanswered))


def _format(value: Value, digits: int) -> str:
    """A number with its interval."""
    ends = f"{number(value.low, digits)} to {number(value.high, digits)}"
    return f"{number(value.value, digits)} (95% interval {ends})"
