"""Before and after: did the lean shrink, what did it cost, and is `pregnant` still said of women?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unmask.findings import Cell, Finding, Plot, Table, Value
from unmask.measures import find
from unmask.mitigate.evaluation import MEN, TEMPLATES, WOMEN, BiasEvaluation
from unmask.mitigate.lean_tables import LeanSizes, WordLeans, lean_size, mean_with_interval, word_leans
from unmask.stats import Comparison, apply_holm, comparisons
from unmask.stats.means import mean_test
from unmask.training.utility import accuracy, accuracy_change, perplexity, perplexity_change

HEADLINES = ("appd", "asld", "bias-score")
PREGNANT = "pregnant"


def compare_evaluations(
    before: BiasEvaluation,
    after: BiasEvaluation,
    *,
    seed: int = 0,
    plots: bool = True,
    probe: Mapping[str, Any] | None = None,
) -> Finding:
    """Every comparison, in tables and sentences; of an eraser also what a `probe` read."""
    compared = _compared(before, after, seed)
    leans = word_leans(before.rows["ppd", TEMPLATES], after.rows["ppd", TEMPLATES])
    size = lean_size(leans, seed)
    tables = [_bias(compared, size), _proper(compared, before, after, seed), _utility(before, after, seed)]
    answers = list(_answers(compared, size, before, after, seed))
    if probe is not None:
        found = {when: _ranged(probe[when]) for when in ("before", "after")}
        tables.append(_read(**found, chance=probe["chance"]))
        answers.append(_told(**found, chance=probe["chance"]))
    drawn = _plots(leans, before, after) if plots else ()
    return Finding(tuple(answers), tuple(tables), drawn, _NOTES)


def _read(before: Value, after: Value, chance: float) -> Table:
    """What a fresh linear probe reads from the states behind an eraser."""
    return Table(
        "Can gender still be read from the states?",
        ("figure", "before", "after", "chance"),
        (("words told apart, %", before, after, chance),),
        "A linear probe, fitted anew, asked about gendered words that it and the eraser were not fitted on.",
        digits=1,
    )


def _told(before: Value, after: Value, chance: float) -> str:
    return (
        f"A linear probe tells the gender of {before.value:.0f}% of unseen words before and "
        f"{after.value:.0f}% after ({after.low:.0f} to {after.high:.0f}; chance is {chance:.0f})."
    )


def _ranged(facts: Mapping[str, Any]) -> Value:
    """As it was recorded, where null stands for what is not known."""
    low, high = (float("nan") if facts[end] is None else facts[end] for end in ("low", "high"))
    return Value(facts["value"], low, high, facts["method"])


def _compared(before: BiasEvaluation, after: BiasEvaluation, seed: int) -> list[Comparison]:
    found = [
        one
        for (measure, name), rows in before.rows.items()
        for one in comparisons(find(measure), rows, after.rows[measure, name], data=name, rng_seed=seed)
        if one.statistic in HEADLINES and (one.group == "all" or name in (WOMEN, MEN))
    ]
    return list(apply_holm(found))


def _bias(compared: Sequence[Comparison], size: LeanSizes) -> Table:
    rows = [
        (one.measure, one.statistic, one.data, one.n, one.a_value, one.b_value, _change(one), one.p_holm)
        for one in compared
        if one.data not in (WOMEN, MEN)
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
        "no preference: 0 of appd and asld, 50 of bias-score; paired intervals of 95%; p corrected by Holm, "
        "that of a word's lean by itself. n: items, or words",
        digits=3,
    )


def _proper(
    compared: Sequence[Comparison], before: BiasEvaluation, after: BiasEvaluation, seed: int
) -> Table:
    groups = [
        (
            one.data,
            one.group.removeprefix("category="),
            one.n,
            one.a_value,
            one.b_value,
            _change(one),
            one.p_holm,
        )
        for one in compared
        if one.data in (WOMEN, MEN)
    ]
    words = [(WOMEN, PREGNANT), (WOMEN, "breastfeeding"), (MEN, "beard")]
    singles = [_single(before, after, name, word, seed) for name, word in words]
    return Table(
        "Words that have a gender: here a lean is right",
        ("words", "of them", "n", "before", "after", "change", "p"),
        (*groups, *(one for one in singles if one is not None)),
        "appd: below 0 the model expects her, above 0 him; mitigation should leave these alone",
        digits=3,
    )


def _single(
    before: BiasEvaluation, after: BiasEvaluation, name: str, word: str, seed: int
) -> tuple[Cell, ...] | None:
    """One word's lean, over its own templates."""
    some = [[one for one in seen.rows["ppd", name] if one.groups["word"] == word] for seen in (before, after)]
    leans = [np.array([row.difference for row in rows if row.scores]) for rows in some]
    if not leans[0].size or leans[0].size != leans[1].size:
        return None
    moved = leans[1] - leans[0]
    ends = mean_with_interval(moved, f"word {word}", seed)
    return (
        name,
        f"the word {word}",
        leans[0].size,
        leans[0].mean(),
        leans[1].mean(),
        ends,
        mean_test(moved, 0.0),
    )


def _utility(before: BiasEvaluation, after: BiasEvaluation, seed: int) -> Table:
    a, b = before.ability, after.ability
    right = accuracy(a, seed=seed), accuracy(b, seed=seed), accuracy_change(a, b, seed=seed)
    surprised = perplexity(a, seed=seed), perplexity(b, seed=seed), perplexity_change(a, b, seed=seed)
    return Table(
        "What it cost on held-out text",
        ("figure", "texts", "tokens", "before", "after", "change"),
        (
            ("accuracy, %", a.tries.size, int(a.tries.sum()), *right),
            ("perplexity", a.tokens.size, int(a.tokens.sum()), *surprised),
        ),
        "accuracy: hidden tokens guessed right (causal models: next tokens); perplexity: of a masked model "
        "pseudo-perplexity, every token hidden alone",
    )


def _answers(
    compared: Sequence[Comparison], size: LeanSizes, before: BiasEvaluation, after: BiasEvaluation, seed: int
) -> tuple[str, ...]:
    found = {(one.measure, one.data, one.statistic, one.group): one for one in compared}
    lean = found["ppd", TEMPLATES, "appd", "all"]
    women = found["ppd", WOMEN, "appd", "category=gender-word"]
    gap = accuracy_change(before.ability, after.ability, seed=seed)
    return (
        f"Professions: {_way(lean.a_value)} before, {_way(lean.b_value)} after (APPD {lean.a_value:+.3f} to "
        f"{lean.b_value:+.3f}, change {_shown(_change(lean))}).",
        f"A word leans by {size.before.value:.3f} before and {size.after.value:.3f} after, whichever way "
        f"(change {_shown(size.change)}; {size.n} words).",
        f"Words said of women (pregnant …): APPD {women.a_value:+.3f} to {women.b_value:+.3f}; "
        + ("still expected of women." if women.b_value < 0 else "no longer expected of women."),
        f"Accuracy on held-out text changed by {_shown(gap, 2)} points.",
    )


def _plots(leans: WordLeans, before: BiasEvaluation, after: BiasEvaluation) -> tuple[Plot, ...]:
    from unmask.findings import charts as plots

    rows = [
        {"x": float(a), "y": float(b), "label": word, "series": category}
        for word, category, a, b in zip(leans.words, leans.categories, leans.before, leans.after, strict=True)
    ]
    for name in (WOMEN, MEN):
        found = word_leans(before.rows["ppd", name], after.rows["ppd", name])
        rows += [
            {"x": float(a), "y": float(b), "label": word, "series": name}
            for word, a, b in zip(found.words, found.before, found.after, strict=True)
        ]
    chart = plots.scatter(rows, x="APPD before", y="APPD after", diagonal=True)
    alt = "Every word's mean pronoun probability difference after mitigation against that before it."
    return (Plot("mitigation-words", "Each word's lean, before and after", alt, chart),)


def _change(one: Comparison) -> Value:
    return Value(one.change, one.low, one.high, one.method)


def _shown(one: Value, digits: int = 3) -> str:
    return f"{one.value:+.{digits}f}, {one.low:+.{digits}f} to {one.high:+.{digits}f}"


def _way(value: float) -> str:
    return "men are expected" if value > 0 else "women are expected"


_NOTES = (
    "No template, pair or word here was trained on; reminders are other sentences on some of the words.",
    "A score near its null means that this measure finds no preference, not that there is none.",
)
