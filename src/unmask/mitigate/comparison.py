"""Compare evaluations before and after: bias, words that have a gender, spill-over, language modelling.

Tables are lists of changes (`Comparison`), sentences are forms of `findings.sentences`, which judge a change by its
interval and its p.

Spill-over: mitigating one bias often changes others (Chand et al., 2025), so the pairs of every bias type are compared
by two kinds of measures, with Holm's correction over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from statistics import median
from typing import Any

import numpy as np

from unmask.core.estimate import NAN, Value
from unmask.core.seeds import generator
from unmask.core.statistic import LEVEL, statistic
from unmask.core.types import Floats
from unmask.findings import Cell, Finding, Plot, Table
from unmask.findings.sentences import change, effect, lean, place, quantity, share
from unmask.mitigate.evaluation import (
    BALANCED_APPD,
    GENDERED,
    MEASURES,
    MEN,
    PAIRS,
    TEMPLATES,
    WOMEN,
    WORD_APPD,
    BiasEvaluation,
    compare_headlines,
    is_tested,
)
from unmask.stats.differences import word_leans
from unmask.stats.intervals import mean, mean_interval, mean_test
from unmask.stats.paired import Comparison
from unmask.stats.power import detectable_difference
from unmask.stats.units import INDEPENDENT, Units, units_of_items
from unmask.training.utility import accuracy, accuracy_change, perplexity, perplexity_change

SINGLE_WORDS = ((WOMEN, "pregnant"), (WOMEN, "breastfeeding"), (MEN, "beard"))
WITHIN_PAIRS = ("aul", "ll")  # of whole sentences: equal within pairs is not the same as no preference on average
GENDER_PAIRS = "triple-gender"  # all of its categories are about gender
TREATED = {"gender": ("gender",), "race": ("race-color",), "religion": ("religion",)}  # categories by axis
PAIRED = "Paired 95% intervals of the change"
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
Names = Mapping[str, Callable[[Comparison], Cell]]


def category(row: Comparison) -> str:
    """The label of the group of a change: a category, a word, or `all`."""
    return row.group.rpartition("=")[2]


NAMES: Names = {name: attrgetter(name) for name in ("measure", "statistic", "data")}
OF_GROUPS: Names = {"words": attrgetter("data"), "of them": category}


def compare_evaluations(
    before: BiasEvaluation,
    after: BiasEvaluation,
    *,
    axis: str = "gender",
    probe: Mapping[str, Any] | None = None,
    items: int | None = None,
    plots: bool = True,
) -> Finding:
    """Compare two evaluations in tables, sentences and plots.

    `axis` is the bias that was treated, `probe` the record of an eraser's probe, `items` the number of each dataset.
    """
    changes, types = compare_headlines(before, after), bias_type_changes(before, after)
    words = [*(row for row in changes if row.data in GENDERED), *single_words(before, after)]
    within = list(within_pairs(before, after))
    tables = [
        change_table(
            "Bias, before and after",
            [row for row in changes if row.data not in GENDERED],
            note=f"{NO_PREFERENCE}; {PAIRED}; p Holm-corrected over the tested rows, except for a word's lean. n: "
            "items, or words",
        ),
        *spill_over_tables(types, axis),
        change_table(
            "Words that have a gender: here a lean is right",
            words,
            names=OF_GROUPS,
            note="appd: below 0 the model expects her, above 0 him; mitigation should leave these alone",
        ),
        ability_table(ability_rows(before, after)),
        change_table(
            "Size of the difference within a pair",
            within,
            note=f"{PAIRED} over the units of the data, p uncorrected. AUL is also equal within pairs if every token "
            "is reproduced with certainty: a mean score closer to 0 says so.",
        ),
    ]
    answers = [*_answers(changes, before, after), *pair_answers(changes, before, after), *spill_over(types, axis)]
    if probe is not None:
        tables.append(_probe_table(probe))
        answers.append(probe_answer(_stored(probe["before"]), _stored(probe["after"]), probe["chance"]))
    notes = (
        *subset_notes(items),
        "No template or pair here was trained on; reminders are other sentences with some of the words.",
        "A score near its reference value means that this measure finds no preference, not that there is none.",
    )
    shown = tuple(table for table in tables if table.rows)
    return Finding(tuple(answers), shown, _plots(before, after) if plots else (), notes)


def subset_notes(items: int | None) -> tuple[str, ...]:
    """That datasets were sampled, if they were."""
    return () if items is None else (f"Measured on a subset: at most {items:,} items of each dataset.",)


def p_of(row: Comparison) -> float | None:
    """The p-value that a change is judged by: after Holm's correction, if it belongs to a family."""
    return row.p if row.p_holm is None else row.p_holm


def effect_of(row: Comparison, what: str = "") -> str:
    """What happened to a statistic, in a sentence."""
    named = what or f"{row.measure} {row.statistic}"
    return effect(named, row.a_value, row.b_value, row.difference, p=p_of(row), of=row.statistic)


def has_moved(row: Comparison) -> bool:
    """Whether a change is beyond chance: by its interval, and by its p."""
    return place(row.difference, p=p_of(row)) in ("above", "below")


def change_table(
    title: str,
    changes: Iterable[Comparison],
    *,
    names: Names = NAMES,
    ends: tuple[str, str] = ("before", "after"),
    note: str = "",
    digits: int = 3,
) -> Table:
    """The changes, one row each; `names` are the columns that say what a row is."""
    rows = tuple(
        (*(name(row) for name in names.values()), row.n, row.a_value, row.b_value, row.difference, p_of(row))
        for row in changes
    )
    return Table(title, (*names, "n", *ends, "change", "p"), rows, note, digits=digits)


def mean_change(before: Floats, after: Floats, rng: np.random.Generator, units: Units, **about: str) -> Comparison:
    """The change of a mean over the same items; `about`: its measure, data, statistic and group."""
    difference = mean_interval(after - before, rng=rng, units=units)
    return Comparison(
        measure=about["measure"],
        data=about["data"],
        group=about.get("group", "all"),
        statistic=about["statistic"],
        a_value=mean(before),
        b_value=mean(after),
        change=difference.value,
        low=difference.low,
        high=difference.high,
        n=before.size,
        flips=0,
        left_out=0,
        method=difference.method,
        p=mean_test(after - before, 0.0, units),
    )


def single_words(before: BiasEvaluation, after: BiasEvaluation) -> Iterator[Comparison]:
    """The leans of single words over their templates."""
    for name, word in SINGLE_WORDS:
        rows = [[row for row in run.rows["ppd", name] if row.groups["word"] == word] for run in (before, after)]
        leans = [np.array([row.difference for row in scored if row.scores]) for scored in rows]
        if leans[0].size and leans[0].size == leans[1].size:
            about = {"measure": "ppd", "data": name, "statistic": "appd", "group": f"word=the word {word}"}
            yield mean_change(leans[0], leans[1], generator(before.seed, f"word {word}"), INDEPENDENT, **about)


def within_pairs(before: BiasEvaluation, after: BiasEvaluation) -> Iterator[Comparison]:
    """The size of the difference within a pair, whichever sentence is preferred, and the level of the scores."""
    for (measure, name), scored_before in before.rows.items():
        if measure not in WITHIN_PAIRS:
            continue
        known = {row.item: row for row in scored_before if row.scores}
        pairs = [(known[row.item], row) for row in after.rows[measure, name] if row.scores and row.item in known]
        units = units_of_items([row.groups for row, _ in pairs])
        figures = {
            "mean |difference|": [[abs(row.difference) for row in pair] for pair in pairs],
            "mean score": [[(row.scores["more"] + row.scores["less"]) / 2 for row in pair] for pair in pairs],
        }
        for figure, values in figures.items():
            rng, (old, new) = generator(before.seed, f"sizes of {measure}, {name}"), np.array(values).reshape(-1, 2).T
            yield mean_change(old, new, rng, units, measure=measure, data=name, statistic=figure)


def ability_rows(before: BiasEvaluation, after: BiasEvaluation) -> list[tuple[Cell, ...]]:
    """Accuracy and perplexity on held-out text, and how visible words are read: figure, texts, tokens, values."""
    a, b, seed = before.ability, after.ability, before.seed
    accuracies = accuracy(a, seed=seed), accuracy(b, seed=seed), accuracy_change(a, b, seed=seed)
    perplexities = perplexity(a, seed=seed), perplexity(b, seed=seed), perplexity_change(a, b, seed=seed)
    rows: list[tuple[Cell, ...]] = [
        ("accuracy, %", a.tries.size, int(a.tries.sum()), *accuracies),
        ("perplexity", a.tokens.size, int(a.tokens.sum()), *perplexities),
    ]
    scores: list[tuple[float, float]] = []
    for measure, name in (key for key in before.rows if key[0] == "aul"):
        known = {row.item: row.scores for row in after.rows[measure, name] if row.scores}
        pairs = [
            (row.scores, known[row.item]) for row in before.rows[measure, name] if row.scores and row.item in known
        ]
        scores += [(old[side], new[side]) for old, new in pairs for side in old]
    if scores:
        means = [float(level) for level in np.mean(scores, axis=0)]
        rows.append(("visible words: mean log-probability", len(scores), None, *means, means[1] - means[0]))
    return rows


def ability_table(rows: Sequence[tuple[Cell, ...]]) -> Table:
    """What a mitigation cost on held-out text."""
    return Table(
        "What it cost on held-out text",
        ("figure", "texts", "tokens", "before", "after", "change"),
        tuple(rows),
        "accuracy: masked tokens predicted correctly (causal models: next tokens); perplexity: masked models "
        f"pseudo-perplexity, one token masked at a time{VISIBLE_WORDS if len(rows) > 2 else ''}",
    )


def _answers(changes: Sequence[Comparison], before: BiasEvaluation, after: BiasEvaluation) -> Iterator[str]:
    """What happened to professions, to words that have a gender, and to language modelling."""
    described = {
        (TEMPLATES, "all", "appd"): "Professions",
        (TEMPLATES, "all", BALANCED_APPD): "Professions, towards their usual gender",
        (WOMEN, "category=gender-word", "appd"): "Words said of women (pregnant …), where a lean is right",
    }
    for row in changes:
        if name := described.get((row.data, row.group, row.statistic)):
            ends = (lean(run.estimate(row), short=True) for run in (before, after))
            yield f"{name}: {' before, '.join(ends)} after; {effect_of(row)}."
    yield from cost_answers(changes, before, after)


def cost_answers(changes: Sequence[Comparison], before: BiasEvaluation, after: BiasEvaluation) -> Iterator[str]:
    """What happened to the size of words' leans, and to language modelling."""
    for row in changes:
        if row.statistic == WORD_APPD:
            yield f"{effect_of(row, 'Lean of a word, whichever way (mean |APPD|),')}."
    gap = accuracy_change(before.ability, after.ability, seed=before.seed)
    yield f"{change('Accuracy on held-out text', gap, of='accuracy, %')}."


def pair_answers(changes: Sequence[Comparison], before: BiasEvaluation, after: BiasEvaluation) -> Iterator[str]:
    """For each dataset of pairs, what every measure says of the change, and whether they agree.

    A measure of masked words and one of visible sentences need not follow the same bias; one alone must not decide.
    """
    for name in PAIRS:
        rows = [row for row in changes if row.data == name and row.measure in MEASURES and is_tested(row, changes)]
        if rows:
            parts = "; ".join(_pair_effect(row, before, after) for row in rows)
            yield f"Pairs of {name}, {agreement(rows)}: {parts}."


def agreement(rows: Sequence[Comparison]) -> str:
    """Whether the measures moved the same way; one whose own statistics contradict each other agrees with none."""
    directions: dict[str, set[str]] = {row.measure: set() for row in rows}
    for row in filter(has_moved, rows):
        directions[row.measure].add("up" if row.change > 0 else "down")
    names, moves = " and ".join(directions), list(directions.values())
    if len(moves) == 1:
        return f"only {names} was used and nothing confirms it"
    return f"{names} agree" if all(move == moves[0] and len(move) < 2 for move in moves) else "the measures disagree"


def _pair_effect(row: Comparison, before: BiasEvaluation, after: BiasEvaluation) -> str:
    """The change of a statistic; where it moved, also the preference before and after."""
    if not has_moved(row):
        return effect_of(row)
    ends = (lean(run.estimate(row), short=True) for run in (before, after))
    return f"{effect_of(row)}, {' before, '.join(ends)} after"


def bias_type_changes(before: BiasEvaluation, after: BiasEvaluation) -> tuple[Comparison, ...]:
    """The changes of every bias type by every measure of pairs; p-values corrected by Holm over all of them."""
    types = compare_headlines(before, after, lambda row: row.measure in MEASURES and row.group.startswith("category="))
    return tuple(row for row in types if is_tested(row, types))


def spill_over_tables(types: Sequence[Comparison], axis: str, title: str = "Spill-over") -> list[Table]:
    """The bias scores and the mean differences of the bias types before and after, treated ones first."""
    note = (
        f"No preference: bias score 50, mean difference 0; both directions of the stereotypes counted alike. {PAIRED}. "
        f"p: Holm's correction over one family, the {count_tests(types)} tests of both statistics, all measures and "
        "all bias types. Treated: the bias type whose words the method uses."
    )
    names: Names = {
        "bias type": category,
        "treated": lambda row: "yes" if is_treated(row, axis) else "no",
        "measure": attrgetter("measure"),
        "data": attrgetter("data"),
    }
    ordered = sorted(types, key=lambda row: (not is_treated(row, axis), row.data, category(row)))
    return [
        change_table(
            f"{title}: {name} of every bias type",
            [row for row in ordered if row.statistic.endswith(name)],
            names=names,
            note=note,
            digits=statistic(name).digits,
        )
        for name in ("bias-score", "mean-difference")
    ]


def spill_over(types: Sequence[Comparison], axis: str) -> list[str]:
    """Which bias types that were not treated have changed by which measure, and which changes can go unseen."""
    others = [row for row in types if not is_treated(row, axis)]
    if not others:
        return ["Spill-over: only bias types that were treated are measured here."] if types else []
    moved = [row for row in others if has_moved(row)]
    worse = {_bias_type(row) for row in moved if row.worsening > 0}
    counts = len({*map(_bias_type, moved)}), len({*map(_bias_type, others)})
    effects = "".join(f"; {effect_of(row, f'{category(row)}, {row.measure} {row.statistic}')}" for row in moved)
    return [
        f"Spill-over: {counts[0]} of the {counts[1]} bias types that were not treated changed beyond chance, "
        f"{len(worse)} of them away from no preference{effects}.",
        *unseen_changes(others, count_tests(types)),
    ]


def unseen_changes(rows: Sequence[Comparison], tests: int) -> list[str]:
    """The changes of the median bias type that are seen with a power of 80% at Holm's first level, as a sentence."""
    limits: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.difference.has_interval and row.high > row.low:
            detectable = detectable_difference(row.difference, versus="null", alpha=LEVEL / tests)
            limits.setdefault((row.measure, row.statistic), []).append(detectable)
    amounts = [f"{_amount(name, median(values))} of {measure} {name}" for (measure, name), values in limits.items()]
    listed = ", ".join(amounts)
    return [f"Smaller changes can go unseen (80% power, median over bias types): {listed}."] if limits else []


def _amount(name: str, difference: float) -> str:
    facts = statistic(name)
    return quantity(Value(min(difference, facts.scale[1] - facts.scale[0])), facts.change_unit, facts.digits)


def count_tests(rows: Sequence[Comparison]) -> int:
    """The number of tests of a family."""
    return sum(row.p is not None for row in rows)


def is_treated(row: Comparison, axis: str) -> bool:
    """Whether the pairs are about the bias that a method with this axis treats."""
    return category(row) in TREATED.get(axis, ()) or (axis == "gender" and row.data == GENDER_PAIRS)


def _bias_type(row: Comparison) -> tuple[str, str]:
    return row.data, row.group


def _stored(record: Mapping[str, Any]) -> Value:
    """A value of an eraser's record; null in JSON stands for NaN."""
    low, high = (NAN if record[end] is None else record[end] for end in ("low", "high"))
    return Value(record["value"], low, high, record["method"])


def _probe_table(probe: Mapping[str, Any]) -> Table:
    """Accuracy of a newly fitted linear probe on the hidden states before and after the eraser."""
    return Table(
        "Can gender still be read from the states?",
        ("figure", "before", "after", "chance"),
        (("probe accuracy, %", _stored(probe["before"]), _stored(probe["after"]), probe["chance"]),),
        "A newly fitted linear probe on gendered words that neither it nor the eraser was fitted on.",
        digits=1,
    )


def probe_answer(before: Value, after: Value, chance: float) -> str:
    """What a linear probe reads before and after."""
    read = share("Before, a linear probe is right on unseen words in", before, chance)
    return f"{read}; {share('after, in', after, chance)}."


def _plots(before: BiasEvaluation, after: BiasEvaluation) -> tuple[Plot, ...]:
    from unmask.findings import charts

    rows = []
    for name in (TEMPLATES, WOMEN, MEN):
        leans = word_leans(before.rows["ppd", name], after.rows["ppd", name])
        series = leans.categories if name == TEMPLATES else [name] * len(leans.words)
        rows += [
            {"x": float(a), "y": float(b), "label": word, "series": label}
            for word, label, a, b in zip(leans.words, series, leans.before, leans.after, strict=True)
        ]
    chart = charts.scatter(rows, x="APPD before", y="APPD after", diagonal=True)
    alt = "Every word's mean pronoun probability difference after mitigation against that before it."
    return (Plot("mitigation-words", "Each word's lean, before and after", alt, chart),)
