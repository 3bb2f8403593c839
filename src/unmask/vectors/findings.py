"""Results of vector measures as sentences, tables and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unmask.core.estimate import Estimate
from unmask.findings import Cell, Finding, Plot, Table, charts, sentences
from unmask.findings.table import Columns, table
from unmask.stats.corrections import holm
from unmask.vectors.association import Association
from unmask.vectors.ceat import CeatResult
from unmask.vectors.sentiment import SentimentBias
from unmask.vectors.spec import PermutedTest, VectorResult, VectorTest

SHOWN = 5  # words at either end of a ranking
NAMED = 12  # words named in a note
PERMUTED = ("partitions", "X+Y+A+B", "left out", "interval")
COLUMNS: Mapping[type, tuple[str, ...]] = {  # of each kind of test after the question: the number, p, and what else
    Association: ("effect size", "p", "p (Holm)", *PERMUTED),
    CeatResult: ("combined effect", "p", "p (Holm)", "τ²", "I² (%)", "draws", "contexts a word"),
    SentimentBias: ("divergence", "p", "p (Holm)", "negative X (%)", "negative Y (%)", "accuracy (%)", *PERMUTED),
}
NOTES: Mapping[type, str] = {
    Association: "Effect size in standard deviations, {}; 95% bootstrap interval. p: one-sided permutation test over "
    "partitions of the targets; exact: all partitions were enumerated.",
    CeatResult: "Random-effects model (DerSimonian and Laird) over draws of one context per word; p two-sided. "
    "Draws share contexts, so intervals and p are far too small: look at the spread of the effects, τ².",
    SentimentBias: "Divergence in nats of the normalised probabilities from even ones; 95% bootstrap interval over the "
    "words of A and B; it is never below 0. Negative: mean probability of the terms. p: one-sided permutation test, "
    "the terms of Y are more negative than those of X. Accuracy: of the classifier on unseen words of A and B; chance "
    "is about 50.",
}
_SENTENCES_NOTE = (
    "sentences of one word are nearly identical, yet the published test permutes sentences: its p is too "
    "small; the intervals resample words with all their sentences where the words are known"
)


def conclude(result: VectorResult, source: str) -> Finding:
    """The finding of one measure on one source of vectors."""
    title = f"{result.measure.title} ({result.measure.name}) in {source}"
    return _questions(result, title) if result.tests else _over_words(result, title)


def estimates_of(result: VectorResult) -> list[Estimate]:
    """The numbers of a result, by question or over words."""
    estimates = [
        Estimate.of(each.mean, data="words", statistic=number.replace(" ", "-"), n=each.n, null=null)
        for (number, each), null in zip(result.word_means, (0.0, None), strict=False)
    ]
    if (bias := result.neighbour_bias) is not None:
        over = {"data": "words", "statistic": "correlation", "n": bias.n}
        estimates.append(Estimate.of(bias.correlation, **over, null=0.0, p=bias.p))
    for test in result.tests:
        statistic = COLUMNS[type(test)][0].replace(" ", "-")
        fields: dict[str, Any] = {"data": test.question, "statistic": statistic, "null": 0.0}
        if isinstance(test, SentimentBias):  # whose p is not about the divergence
            fields["n"] = sum(test.sizes[:2])
        else:
            fields |= {
                "n": test.draws if isinstance(test, CeatResult) else sum(getattr(test, "sizes", ())),
                "p": test.p,
            }
        estimates.append(Estimate.of(test.effect, **fields))
    return [replace(estimate, measure=result.measure.name) for estimate in estimates]


def _questions(result: VectorResult, title: str) -> Finding:
    """A row and a sentence for each question."""
    name, tests = result.measure.name, {test.question: test for test in result.tests}
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    kind, notes = type(result.tests[0]), _left_out(result)
    columns, note = COLUMNS[kind], NOTES[kind].format(getattr(result.tests[0], "spread", ""))
    rows = tuple((asked, test.effect, test.p, corrected[asked], *_details(test)) for asked, test in tests.items())
    tables = [Table(title, ("question", *columns), rows, note, digits=3)]
    if ranked := {asked: _ranked(test) for asked, test in tests.items() if isinstance(test, SentimentBias)}:
        ends = ((asked, ", ".join(terms[:SHOWN]), ", ".join(terms[::-1][:SHOWN])) for asked, terms in ranked.items())
        tables.append(Table("Terms", ("question", "most negative (%)", "least negative (%)"), tuple(ends)))
    plots = charts.interval_plots(
        f"{name}-effects",
        f"{columns[0].capitalize()} of {name}, by question",
        f"{columns[0].capitalize()} of every question with its interval.",
        [(question, test.effect, "") for question, test in tests.items()],
        axis=columns[0],
        null=0.0,
    )
    if draws := [test for test in result.tests if isinstance(test, CeatResult)]:
        plots += _draws_plots(draws)
    what = f"{name}, {{}}: {'divergence' if kind is SentimentBias else 'association with A rather than B'}"
    answers = tuple(
        sentences.size(what.format(estimate.data), estimate, "nats", 3)
        if estimate.p is None
        else sentences.difference(
            what.format(estimate.data), "for X", "for Y", replace(estimate, p_holm=corrected[estimate.data])
        )
        for estimate in estimates_of(result)
    )
    return Finding(answers, tuple(tables), plots, (*notes, _SENTENCES_NOTE) if name in ("seat", "cseat") else notes)


def _details(test: VectorTest) -> tuple[Cell, ...]:
    """The last columns of a question's row."""
    if isinstance(test, CeatResult):
        return test.tau2, 100 * test.i2, test.draws, "–".join(map(str, dict.fromkeys(test.contexts)))
    assert isinstance(test, PermutedTest)
    more = (100 * test.means[0], 100 * test.means[1], test.accuracy) if isinstance(test, SentimentBias) else ()
    partitions = f"{test.partitions:,} {'exact' if test.exact else 'sampled'}"
    return *more, partitions, "+".join(map(str, test.sizes)), len(test.left_out), test.effect.method


def _ranked(test: SentimentBias) -> list[str]:
    """The terms, the most negative first."""
    return [f"{word} {100 * share:.0f}" for word, share in sorted(test.negative.items(), key=lambda item: -item[1])]


def _draws_plots(tests: Sequence[CeatResult]) -> tuple[Plot, ...]:
    rows = [{"value": float(value), "series": test.question} for test in tests for value in test.effects[:2000]]
    title = "Effect sizes draw by draw"
    alt = "Histograms of the effect size in up to 2,000 draws, one for each question."
    return (Plot("ceat-effects", title, alt, charts.histograms(rows, axis="effect size")),)


def _over_words(result: VectorResult, title: str) -> Finding:
    """The mean over words or the correlation, the words at either end, and a histogram of all."""
    name, reads, estimates = result.measure.name, result.measure.reads, estimates_of(result)
    if (bias := result.neighbour_bias) is not None:
        values = {word: 100 * share for word, share in bias.shares.items() if np.isfinite(share)}
        axis = "neighbours towards men (%)"
        what = f"{name}: a word's own lean and the share of its {bias.k} neighbours that lean towards men"
        answers = tuple(sentences.correlation(what, estimate, p=estimate.p) for estimate in estimates)
        columns: Columns = {
            "correlation": "value",
            "p": "p",
            "words": "n",
            "neighbours": lambda _: bias.k,
            "interval": "method",
        }
        note = (
            "Pearson's correlation of a word's own lean with the share of its neighbours that lean towards men; "
            f"the lean is the cosine with the gender direction in {result.leans_of}. Words are not a random sample."
        )
    else:
        first = result.word_means[0][1]
        values, axis = dict(first.values), "value of a word"
        answers = tuple(sentences.size(f"{name}, mean over words: {e.statistic}", e, digits=3) for e in estimates)
        columns = {
            "mean over words": "value",
            "words": "n",
            "pairs": lambda _: first.pairs,
            "direction explains (%)": lambda _: None if first.explained is None else 100 * first.explained,
            "interval": "method",
        }
        note = f"{reads[:1].upper()}{reads[1:]}. The pairs are treated as fixed."
    order = sorted(values.items(), key=lambda item: -item[1])
    ends = order if len(order) <= 2 * SHOWN else [*order[:SHOWN], *order[-SHOWN:]]
    tables = (
        table(title, estimates, rows={"number": "statistic"}, columns=columns, note=note),
        Table("Words at either end", ("word", axis), tuple(ends), f"Of {len(order)} words.", digits=3),
    )
    bins = [{"value": value, "series": name, "label": word} for word, value in order]
    chart = charts.histograms(bins, axis=axis) if bins else None
    described = f"Histogram of the values of {len(order)} words."
    plots = () if chart is None else (Plot(f"{name}-words", f"{name}, word by word", described, chart),)
    return Finding(answers, tables, plots, _left_out(result))


def _left_out(result: VectorResult) -> tuple[str, ...]:
    """Notes on words without a vector and questions without an answer."""
    notes = []
    for name, words in result.left_out:
        more = f" and {len(words) - NAMED} more" if len(words) > NAMED else ""
        notes.append(f"{name}: no vector for {', '.join(words[:NAMED])}{more}; left out")
    return (*notes, *(f"{name} was not answered: {why}" for name, why in result.unanswered))
