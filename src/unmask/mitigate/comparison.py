"""Compare evaluations before and after: bias, language modelling, and gendered words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unmask.core.estimate import NAN, Estimate, Value
from unmask.core.seeds import generator
from unmask.core.statistic import OF_WORDS
from unmask.findings import Cell, Finding, Plot, Table
from unmask.findings.numbers import signed_number
from unmask.measures import find
from unmask.mitigate import spill_over
from unmask.mitigate.agreement import is_change, pair_answers, sides
from unmask.mitigate.evaluation import MEN, TEMPLATES, WOMEN, BiasEvaluation, compare_headlines, is_headline
from unmask.mitigate.professions import STATISTIC as BALANCED_APPD
from unmask.mitigate.professions import profession_estimates
from unmask.stats import estimates
from unmask.stats.differences import LeanSizes, lean_size, word_leans
from unmask.stats.intervals import mean_interval, mean_test
from unmask.stats.paired import Comparison
from unmask.stats.units import units_of_items
from unmask.training.utility import accuracy, accuracy_change, perplexity, perplexity_change

SINGLE_WORDS = ((WOMEN, "pregnant"), (WOMEN, "breastfeeding"), (MEN, "beard"))
HELD_OUT = "held-out text"
WITHIN_PAIRS = ("aul", "ll")  # of whole sentences: equal within pairs is not the same as no preference on average
USUAL = "Towards the usual gender of a profession, women's and men's professions counted alike"
NO_PREFERENCE = (
    "no preference: 0 for appd, asld and mean-difference, 50 for bias-score. balanced-appd: APPD towards the gender "
    "of at least 70% of those who work in a profession (US, 2020), women's and men's professions counted alike. "
    "balanced-bias-score, balanced-mean-difference: both directions of the stereotypes counted alike; they are tested, "
    "the same of all pairs are only shown"
)
VISIBLE_WORDS = (
    "; visible words: mean over the sentences that aul scores, nothing masked. If it falls, training has harmed how "
    "words are read, and a change of aul is not one of bias alone"
)
EXPECTED = {  # by `lean`
    **{"above": "men are expected", "below": "women are expected"},
    **{"too few": "too few items to say who is expected", "no interval": "not known who is expected"},
}


def compare_evaluations(  # noqa: PLR0913 - what is compared
    before: BiasEvaluation,
    after: BiasEvaluation,
    *,
    seed: int = 0,
    plots: bool = True,
    probe: Mapping[str, Any] | None = None,
    axis: str = "gender",
    items: int | None = None,
) -> Finding:
    """Compare two evaluations in tables, sentences and plots.

    `probe` is the record of an eraser's probe, `axis` the bias that was treated, `items` the number of each dataset.
    """
    compared = compare_headlines(before, after, is_compared, seed=seed)
    size = lean_size(word_leans(before.rows["ppd", TEMPLATES], after.rows["ppd", TEMPLATES]), seed)
    tables = [_bias(compared, size), _proper(compared, before, after, seed), _utility(before, after, seed)]
    tables += _within_pairs(before, after, seed)
    answers = list(_answers(compared, size, before, after, seed))
    answers += pair_answers(compared, (before, after), seed)
    if types := spill_over.bias_types(before, after, seed=seed):
        tables[1:1] = spill_over.tables(types, axis)
        answers.append(spill_over.answer(types, axis))
    if probe is not None:
        table, answer = _probe(probe)
        tables.append(table)
        answers.append(answer)
    return Finding(
        tuple(answers), tuple(tables), _plots(before, after) if plots else (), (*subset_notes(items), *_NOTES)
    )


def subset_notes(items: int | None) -> tuple[str, ...]:
    """That datasets were sampled, if they were."""
    return () if items is None else (f"Measured on a subset: at most {items:,} items of each dataset.",)


def bias_estimates(evaluation: BiasEvaluation, *, seed: int = 0) -> list[Estimate]:
    """The estimates of one evaluation: every measure, the size of a word's lean, language modelling.

    Words that have a gender have no null value: for them a lean is right, and no gate must reward its loss.
    """
    found = [
        replace(estimate, null=None, p=None, p_holm=None) if name in (WOMEN, MEN) else estimate
        for (measure, name), rows in evaluation.rows.items()
        for estimate in estimates(find(measure), rows, data=name, rng_seed=seed)
        if is_headline(measure, estimate.statistic) and is_compared(estimate)
    ]
    rows, ability = evaluation.rows["ppd", TEMPLATES], evaluation.ability
    found += profession_estimates(rows, seed)
    size = lean_size(word_leans(rows, rows), seed)
    others = (
        (size.after, "ppd", TEMPLATES, f"{OF_WORDS}appd", size.n),
        (accuracy(ability, seed=seed), "language-modelling", HELD_OUT, "accuracy", ability.tries.size),
        (perplexity(ability, seed=seed), "language-modelling", HELD_OUT, "perplexity", ability.tokens.size),
    )
    return found + [
        Estimate.of(value, measure=measure, data=name, statistic=statistic, n=n)
        for value, measure, name, statistic, n in others
    ]


def is_compared(each: Estimate | Comparison) -> bool:
    """Whether it is about a whole dataset, or a category of words that have a gender."""
    return each.group == "all" or (each.data in (WOMEN, MEN) and each.group.startswith("category="))


def _probe(probe: Mapping[str, Any]) -> tuple[Table, str]:
    """Accuracy of a newly fitted linear probe on the hidden states before and after the eraser."""
    values = []
    for stored in (probe["before"], probe["after"]):  # null in JSON stands for NaN
        low, high = (NAN if stored[end] is None else stored[end] for end in ("low", "high"))
        values.append(Value(stored["value"], low, high, stored["method"]))
    before, after = values
    table = Table(
        "Can gender still be read from the states?",
        ("figure", "before", "after", "chance"),
        (("probe accuracy, %", before, after, probe["chance"]),),
        "A newly fitted linear probe on gendered words that neither it nor the eraser was fitted on.",
        digits=1,
    )
    return table, (
        f"A linear probe predicts the gender of {before.value:.0f}% of unseen words before and "
        f"{after.value:.0f}% after ({after.low:.0f} to {after.high:.0f}; chance is {probe['chance']:.0f})."
    )


def comparison_cells(row: Comparison) -> tuple[Cell, ...]:
    """The cells of a comparison: n, before, after, change, p."""
    return row.n, row.a_value, row.b_value, row.difference, row.p_holm


def _bias(compared: Sequence[Comparison], size: LeanSizes) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (row.measure, row.statistic, row.data, *comparison_cells(row))
        for row in compared
        if row.data not in (WOMEN, MEN)
    ]
    sizes = (size.n, size.before.value, size.after.value, size.change, size.p)
    rows.insert(1, ("ppd", "mean |APPD| of a word", TEMPLATES, *sizes))
    return Table(
        "Bias, before and after",
        ("measure", "statistic", "data", "n", "before", "after", "change", "p"),
        tuple(rows),
        f"{NO_PREFERENCE}; paired 95% intervals; p Holm-corrected over the tested rows, except for a word's lean. n: "
        "items, or words",
        digits=3,
    )


def _within_pairs(before: BiasEvaluation, after: BiasEvaluation, seed: int) -> list[Table]:
    """The size of the difference within a pair, whichever sentence is preferred, beside the level of the scores."""
    rows: list[tuple[Cell, ...]] = []
    for (measure, name), scored_before in before.rows.items():
        if measure not in WITHIN_PAIRS:
            continue
        known = {row.item: row for row in scored_before if row.scores}
        pairs = [(known[row.item], row) for row in after.rows[measure, name] if row.scores and row.item in known]
        sizes = np.array([[abs(row.difference) for row in pair] for pair in pairs]).reshape(-1, 2)
        levels = np.array([[(row.scores["more"] + row.scores["less"]) / 2 for row in pair] for pair in pairs])
        changes = sizes[:, 1] - sizes[:, 0]
        units = units_of_items([row.groups for row, _ in pairs])
        change = mean_interval(changes, rng=generator(seed, f"sizes of {measure}, {name}"), units=units)
        means = (sizes.mean(0), levels.reshape(-1, 2).mean(0)) if pairs else ((NAN, NAN), (NAN, NAN))
        rows.append((measure, name, len(pairs), *means[0], change, mean_test(changes, 0.0, units), *means[1]))
    columns = ("measure", "data", "n", "before", "after", "change", "p", "mean score before", "mean score after")
    note = (
        "Mean |difference| within a pair; paired 95% intervals over the units of the data, p uncorrected. AUL is "
        "also equal within pairs if every "
        "token is reproduced with certainty: a mean score closer to 0 says so."
    )
    return [Table("Size of the difference within a pair", columns, tuple(rows), note, digits=4)] if rows else []


def _proper(compared: Sequence[Comparison], before: BiasEvaluation, after: BiasEvaluation, seed: int) -> Table:
    groups = [
        (row.data, row.group.removeprefix("category="), *comparison_cells(row))
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


def _single(before: BiasEvaluation, after: BiasEvaluation, name: str, word: str, seed: int) -> tuple[Cell, ...] | None:
    """Lean of one word over its templates."""
    word_rows = [
        [row for row in evaluation.rows["ppd", name] if row.groups["word"] == word] for evaluation in (before, after)
    ]
    leans = [np.array([row.difference for row in rows if row.scores]) for rows in word_rows]
    if not leans[0].size or leans[0].size != leans[1].size:
        return None
    changes = leans[1] - leans[0]
    change = mean_interval(changes, rng=generator(seed, f"word {word}"))
    means = leans[0].mean(), leans[1].mean()
    return (name, f"the word {word}", leans[0].size, *means, change, mean_test(changes, 0.0))


def utility_cells(before: BiasEvaluation, after: BiasEvaluation, seed: int) -> tuple[tuple[Cell, ...], ...]:
    """Accuracy and perplexity on held-out text, and how visible words are read: figure, texts, tokens, values."""
    a, b = before.ability, after.ability
    accuracies = accuracy(a, seed=seed), accuracy(b, seed=seed), accuracy_change(a, b, seed=seed)
    perplexities = perplexity(a, seed=seed), perplexity(b, seed=seed), perplexity_change(a, b, seed=seed)
    return (
        ("accuracy, %", a.tries.size, int(a.tries.sum()), *accuracies),
        ("perplexity", a.tokens.size, int(a.tokens.sum()), *perplexities),
        *_visible_words(before, after),
    )


def _visible_words(before: BiasEvaluation, after: BiasEvaluation) -> list[tuple[Cell, ...]]:
    """The mean score by `aul`, which is the log-probability of a word in full view, of the sentences scored in both."""
    scores: list[tuple[float, float]] = []
    for (measure, name), rows in before.rows.items():
        if measure == "aul":
            known = {row.item: row.scores for row in after.rows[measure, name] if row.scores}
            pairs = [(row.scores, known[row.item]) for row in rows if row.scores and row.item in known]
            scores += [(old[side], new[side]) for old, new in pairs for side in old]
    if not scores:
        return []
    means = [float(mean) for mean in np.mean(scores, axis=0)]
    return [("visible words: mean log-probability", len(scores), None, *means, means[1] - means[0])]


def _utility(before: BiasEvaluation, after: BiasEvaluation, seed: int) -> Table:
    return Table(
        "What it cost on held-out text",
        ("figure", "texts", "tokens", "before", "after", "change"),
        utility_cells(before, after, seed),
        "accuracy: masked tokens predicted correctly (causal models: next tokens); perplexity: masked models "
        f"pseudo-perplexity, one token masked at a time{VISIBLE_WORDS if _visible_words(before, after) else ''}",
    )


def _answers(
    compared: Sequence[Comparison], size: LeanSizes, before: BiasEvaluation, after: BiasEvaluation, seed: int
) -> tuple[str, ...]:
    by_key = {(row.measure, row.data, row.statistic, row.group): row for row in compared}
    jobs, women = by_key["ppd", TEMPLATES, "appd", "all"], by_key["ppd", WOMEN, "appd", "category=gender-word"]
    expected = [EXPECTED.get(side, "no preference is found") for side in sides(jobs, (before, after), seed)]
    usual = by_key.get(("ppd", TEMPLATES, BALANCED_APPD, "all"))
    gap = accuracy_change(before.ability, after.ability, seed=seed)
    return (
        f"Professions: {expected[0]} before, {expected[1]} after (APPD {_from_to(jobs)}).",
        *([] if usual is None else [f"{USUAL}: APPD {_from_to(usual)}."]),
        f"A word leans by {size.before.value:.3f} before and {size.after.value:.3f} after, whichever way "
        f"(change {format_change(size.change)}; {size.n} words).",
        f"Words said of women (pregnant …): APPD {_from_to(women)}{_of_women(women, before, after, seed)}.",
        f"Accuracy on held-out text changed by {format_change(gap, 2)} points.",
    )


def _from_to(row: Comparison) -> str:
    """The values before and after, and their change; a change that chance can make is called so."""
    chance = ", not beyond chance" if row.difference.has_interval and not is_change(row) else ""
    values = f"{signed_number(row.a_value, 3)} to {signed_number(row.b_value, 3)}"
    return f"{values}, change {format_change(row.difference)}{chance}"


def _of_women(row: Comparison, before: BiasEvaluation, after: BiasEvaluation, seed: int) -> str:
    """Who is expected where words are said of women; nothing if they were not before, or if chance decides."""
    sides_of_zero = sides(row, (before, after), seed)
    if sides_of_zero[0] != "below":
        return ""
    if sides_of_zero[1] == "below":
        return "; still expected of women"
    return f"; {EXPECTED.get(sides_of_zero[1], 'no preference is found any more')}" if is_change(row) else ""


def _plots(before: BiasEvaluation, after: BiasEvaluation) -> tuple[Plot, ...]:
    from unmask.findings import charts as plots

    rows = []
    for name in (TEMPLATES, WOMEN, MEN):
        leans = word_leans(before.rows["ppd", name], after.rows["ppd", name])
        series = leans.categories if name == TEMPLATES else [name] * len(leans.words)
        rows += [
            {"x": float(a), "y": float(b), "label": word, "series": each}
            for word, each, a, b in zip(leans.words, series, leans.before, leans.after, strict=True)
        ]
    chart = plots.scatter(rows, x="APPD before", y="APPD after", diagonal=True)
    alt = "Every word's mean pronoun probability difference after mitigation against that before it."
    return (Plot("mitigation-words", "Each word's lean, before and after", alt, chart),)


def format_change(change: Value, digits: int = 3) -> str:
    """A change with its interval."""
    value, low, high = (signed_number(each, digits) for each in (change.value, change.low, change.high))
    return f"{value}, {low} to {high}"


_NOTES = (
    "No template or pair here was trained on; reminders are other sentences with some of the words.",
    "A score near its reference value means that this measure finds no preference, not that there is none.",
)
