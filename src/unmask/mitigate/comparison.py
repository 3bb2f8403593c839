"""Compare evaluations before and after: bias, language modelling, and gendered words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.seeds import generator
from unmask.findings import Cell, Finding, Plot, Table
from unmask.measures import find
from unmask.mitigate.evaluation import MEN, TEMPLATES, WOMEN, BiasEvaluation
from unmask.mitigate.leans import LeanSizes, WordLeans, lean_size, word_leans
from unmask.stats import Comparison, apply_holm, comparisons, estimates
from unmask.stats.means import mean_interval, mean_test
from unmask.training.utility import accuracy, accuracy_change, perplexity, perplexity_change

HEADLINES = ("appd", "asld", "bias-score")
SINGLE_WORDS = ((WOMEN, "pregnant"), (WOMEN, "breastfeeding"), (MEN, "beard"))
HELD_OUT = "held-out text"


def compare_evaluations(
    before: BiasEvaluation,
    after: BiasEvaluation,
    *,
    seed: int = 0,
    plots: bool = True,
    probe: Mapping[str, Any] | None = None,
) -> Finding:
    """Compare two evaluations in tables, sentences and plots; `probe` is the record of an eraser's probe."""
    compared = _comparisons(before, after, seed)
    leans = word_leans(before.rows["ppd", TEMPLATES], after.rows["ppd", TEMPLATES])
    size = lean_size(leans, seed)
    tables = [
        _bias(compared, size),
        _proper(compared, before, after, seed),
        _utility(before, after, seed),
    ]
    answers = list(_answers(compared, size, before, after, seed))
    if probe is not None:
        accuracies = {when: _probe_value(probe[when]) for when in ("before", "after")}
        tables.append(_probe_table(**accuracies, chance=probe["chance"]))
        answers.append(_probe_answer(**accuracies, chance=probe["chance"]))
    charts = _plots(leans, before, after) if plots else ()
    return Finding(tuple(answers), tuple(tables), charts, _NOTES)


def bias_estimates(evaluation: BiasEvaluation, *, seed: int = 0) -> list[Estimate]:
    """The estimates of one evaluation: every measure, the size of a word's lean, language modelling.

    Words that have a gender have no null value: for them a lean is right, and no gate must reward its loss.
    """
    found = [
        replace(estimate, null=None, p=None, p_holm=None) if name in (WOMEN, MEN) else estimate
        for (measure, name), rows in evaluation.rows.items()
        for estimate in estimates(find(measure), rows, data=name, rng_seed=seed)
        if estimate.statistic in HEADLINES and _is_compared(estimate)
    ]
    rows, ability = evaluation.rows["ppd", TEMPLATES], evaluation.ability
    size = lean_size(word_leans(rows, rows), seed)
    others = (
        (size.after, "ppd", TEMPLATES, "mean-word-appd", size.n),
        (accuracy(ability, seed=seed), "language-modelling", HELD_OUT, "accuracy", ability.tries.size),
        (perplexity(ability, seed=seed), "language-modelling", HELD_OUT, "perplexity", ability.tokens.size),
    )
    return found + [
        Estimate.of(value, measure=measure, data=name, statistic=statistic, n=n)
        for value, measure, name, statistic, n in others
    ]


def _is_compared(each: Estimate | Comparison) -> bool:
    """Whether it is about a whole dataset, or a category of words that have a gender."""
    return each.group == "all" or (each.data in (WOMEN, MEN) and each.group.startswith("category="))


def _probe_table(before: Value, after: Value, chance: float) -> Table:
    """Accuracy of a newly fitted linear probe on the hidden states before and after the eraser."""
    return Table(
        "Can gender still be read from the states?",
        ("figure", "before", "after", "chance"),
        (("probe accuracy, %", before, after, chance),),
        "A newly fitted linear probe on gendered words that neither it nor the eraser was fitted on.",
        digits=1,
    )


def _probe_answer(before: Value, after: Value, chance: float) -> str:
    return (
        f"A linear probe predicts the gender of {before.value:.0f}% of unseen words before and "
        f"{after.value:.0f}% after ({after.low:.0f} to {after.high:.0f}; chance is {chance:.0f})."
    )


def _probe_value(stored: Mapping[str, Any]) -> Value:
    """A stored accuracy; null in JSON stands for NaN."""
    low, high = (NAN if stored[end] is None else stored[end] for end in ("low", "high"))
    return Value(stored["value"], low, high, stored["method"])


def _comparisons(before: BiasEvaluation, after: BiasEvaluation, seed: int) -> list[Comparison]:
    headlines = [
        comparison
        for (measure, name), rows in before.rows.items()
        for comparison in comparisons(
            find(measure), rows, after.rows[measure, name], data=name, rng_seed=seed
        )
        if comparison.statistic in HEADLINES and _is_compared(comparison)
    ]
    return list(apply_holm(headlines))


def _bias(compared: Sequence[Comparison], size: LeanSizes) -> Table:
    rows = [
        (row.measure, row.statistic, row.data, row.n, row.a_value, row.b_value, row.difference, row.p_holm)
        for row in compared
        if row.data not in (WOMEN, MEN)
    ]
    words = (
        "ppd",
        "mean |APPD| of a word",
        TEMPLATES,
        size.n,
        size.before.value,
        size.after.value,
        size.change,
        size.p,
    )
    return Table(
        "Bias, before and after",
        ("measure", "statistic", "data", "n", "before", "after", "change", "p"),
        (rows[0], words, *rows[1:]),
        "no preference: 0 for appd and asld, 50 for bias-score; paired 95% intervals; p Holm-corrected, "
        "except for a word's lean. n: items, or words",
        digits=3,
    )


def _proper(
    compared: Sequence[Comparison], before: BiasEvaluation, after: BiasEvaluation, seed: int
) -> Table:
    groups = [
        (
            row.data,
            row.group.removeprefix("category="),
            row.n,
            row.a_value,
            row.b_value,
            row.difference,
            row.p_holm,
        )
        for row in compared
        if row.data in (WOMEN, MEN)
    ]
    singles = [_single(before, after, name, word, seed) for name, word in SINGLE_WORDS]
    return Table(
        "Words that have a gender: here a lean is right",
        ("words", "of them", "n", "before", "after", "change", "p"),
        (*groups, *(row for row in singles if row is not None)),
        "appd: below 0 the model expects her, above 0 him; mitigation should leave these alone",
        digits=3,
    )


def _single(
    before: BiasEvaluation, after: BiasEvaluation, name: str, word: str, seed: int
) -> tuple[Cell, ...] | None:
    """Lean of one word over its templates."""
    word_rows = [
        [row for row in evaluation.rows["ppd", name] if row.groups["word"] == word]
        for evaluation in (before, after)
    ]
    leans = [np.array([row.difference for row in rows if row.scores]) for rows in word_rows]
    if not leans[0].size or leans[0].size != leans[1].size:
        return None
    changes = leans[1] - leans[0]
    change = mean_interval(changes, rng=generator(seed, f"word {word}"))
    return (
        name,
        f"the word {word}",
        leans[0].size,
        leans[0].mean(),
        leans[1].mean(),
        change,
        mean_test(changes, 0.0),
    )


def _utility(before: BiasEvaluation, after: BiasEvaluation, seed: int) -> Table:
    a, b = before.ability, after.ability
    accuracies = accuracy(a, seed=seed), accuracy(b, seed=seed), accuracy_change(a, b, seed=seed)
    perplexities = perplexity(a, seed=seed), perplexity(b, seed=seed), perplexity_change(a, b, seed=seed)
    return Table(
        "What it cost on held-out text",
        ("figure", "texts", "tokens", "before", "after", "change"),
        (
            ("accuracy, %", a.tries.size, int(a.tries.sum()), *accuracies),
            ("perplexity", a.tokens.size, int(a.tokens.sum()), *perplexities),
        ),
        "accuracy: masked tokens predicted correctly (causal models: next tokens); perplexity: masked models "
        "pseudo-perplexity, one token masked at a time",
    )


def _answers(
    compared: Sequence[Comparison],
    size: LeanSizes,
    before: BiasEvaluation,
    after: BiasEvaluation,
    seed: int,
) -> tuple[str, ...]:
    by_key = {(row.measure, row.data, row.statistic, row.group): row for row in compared}
    lean = by_key["ppd", TEMPLATES, "appd", "all"]
    women = by_key["ppd", WOMEN, "appd", "category=gender-word"]
    gap = accuracy_change(before.ability, after.ability, seed=seed)
    return (
        f"Professions: {_direction(lean.a_value)} before, {_direction(lean.b_value)} after (APPD "
        f"{lean.a_value:+.3f} to {lean.b_value:+.3f}, change {_format_change(lean.difference)}).",
        f"A word leans by {size.before.value:.3f} before and {size.after.value:.3f} after, whichever way "
        f"(change {_format_change(size.change)}; {size.n} words).",
        f"Words said of women (pregnant …): APPD {women.a_value:+.3f} to {women.b_value:+.3f}; "
        + ("still expected of women." if women.b_value < 0 else "no longer expected of women."),
        f"Accuracy on held-out text changed by {_format_change(gap, 2)} points.",
    )


def _plots(leans: WordLeans, before: BiasEvaluation, after: BiasEvaluation) -> tuple[Plot, ...]:
    from unmask.findings import charts as plots

    rows = [
        {"x": float(a), "y": float(b), "label": word, "series": category}
        for word, category, a, b in zip(leans.words, leans.categories, leans.before, leans.after, strict=True)
    ]
    for name in (WOMEN, MEN):
        gendered = word_leans(before.rows["ppd", name], after.rows["ppd", name])
        rows += [
            {"x": float(a), "y": float(b), "label": word, "series": name}
            for word, a, b in zip(gendered.words, gendered.before, gendered.after, strict=True)
        ]
    chart = plots.scatter(rows, x="APPD before", y="APPD after", diagonal=True)
    alt = "Every word's mean pronoun probability difference after mitigation against that before it."
    return (Plot("mitigation-words", "Each word's lean, before and after", alt, chart),)


def _format_change(change: Value, digits: int = 3) -> str:
    return f"{change.value:+.{digits}f}, {change.low:+.{digits}f} to {change.high:+.{digits}f}"


def _direction(value: float) -> str:
    return "men are expected" if value > 0 else "women are expected"


_NOTES = (
    "No template or pair here was trained on; reminders are other sentences with some of the words.",
    "A score near its null means that this measure finds no preference, not that there is none.",
)
