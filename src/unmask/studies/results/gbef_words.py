"""The figures and tables of `gbef` about words of templates, by the difference of pronoun probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from unmask.audit.parquet import rows_of
from unmask.core.estimate import Estimate
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.findings.envelope import Result
from unmask.findings.numbers import number, signed_number, signed_value
from unmask.stats.intervals import mean_interval, mean_test
from unmask.stats.regression import correlation, fit_line
from unmask.stats.shares import contrast
from unmask.studies.claims import ClaimTest
from unmask.studies.collect import VALUE, Columns, compare, comparison_table, paper_values, published_table
from unmask.studies.papers.gbef import BALANCED, BASE, CDS, LABELS, GbefOptions, reminded_version
from unmask.studies.spec import PaperComparison
from unmask.studies.steps.words import WordFacts

FIGURES = {  # figures of the thesis by category of our templates
    "medical": "figure-8",
    "computer": "figure-9",
    "engineering": "figure-14",
    "science": "figure-15",
    "office": "figure-16",
    "food-service": "figure-17",
    "protective": "figure-18",
    "farming-fishing": "figure-19",
}
GENDERED = {"gender-occupation": "figure-11", "gender-word": "figure-12", "kinship": "figure-12-kinship"}
TITLES = {
    "food-service": "food service professions",
    "gender-occupation": "occupations that have a gender",
    "gender-word": "words that have a gender",
    "kinship": "words for relatives (not in the thesis)",
}
REMINDED = {"pregnant": "pregnancy", "breastfeeding": "breastfeed", "breastfeed": "breastfeed"}
Results = Mapping[str, Result]  # by model or version
Facts = Mapping[str, WordFacts]


def as_trained(each: PaperComparison, version: str, options: GbefOptions) -> PaperComparison:
    """The comparison of a version, without the published number if it is not known to be trained as the thesis does."""
    reason, paper = "", GbefOptions()
    if version in LABELS:
        reason = "whether the file is all of Jigsaw's comments is not checked"
    elif version != BASE and (options.train, options.names) != (paper.train, paper.names):
        reason = "trained with other settings"
    return each if each.published is None or not reason else replace(each, published=None, mark="", reason=reason)


def word_estimates(result: Result) -> dict[str, tuple[str, Estimate]]:
    """By word: its category, and its APPD over templates."""
    columns = [result.items.column(name).to_pylist() for name in ("word", "category")]
    category = dict(zip(*columns, strict=True))
    return {
        word: (category[word], estimate)
        for estimate in result.estimates
        if estimate.statistic == "appd"
        and estimate.group.startswith("word=")
        and (word := estimate.group.partition("=")[2]) in category
    }


def distance_changes(results: Results, after: str, categories: Mapping[str, str]) -> dict[str, float]:
    """By word of these categories: |APPD| after less |APPD| before."""
    if BASE not in results or after not in results:
        return {}
    before, then = word_estimates(results[BASE]), word_estimates(results[after])
    return {
        word: abs(then[word][1].value) - abs(appd.value)
        for word, (category, appd) in before.items()
        if category in categories and word in then
    }


def before_and_after(
    results: Results, after: str, figures: Mapping[str, str], facts: Facts, options: GbefOptions
) -> Finding:
    """A table, and a bar chart per category, of every word before and after.

    Professions in the training text are marked, and of words that have a gender those that the tokenizer splits.
    """
    changes = distance_changes(results, after, figures)
    if not changes:
        return Finding((), ())
    before, then = (word_estimates(results[name]) for name in (BASE, after))
    label = options.label(after)
    named = "in the training text" if after == BALANCED else "split into pieces"
    marked = {word for word, known in facts.items() if (known.seen if after == BALANCED else known.split)}
    rows: list[tuple[Cell, ...]] = []
    plots = []
    for category, figure in figures.items():
        pairs = {word: (before[word][1], then[word][1]) for word in changes if before[word][0] == category}
        for word, pair in pairs.items():
            mark = ("yes" if word in marked else "no") if word in facts else None
            rows.append((category, word, *pair, pair[0].n, mark))
        bars = [
            charts.interval_row(f"[{word}]" if word in marked else word, appd, name)
            for word, pair in pairs.items()
            for name, appd in zip((options.label(BASE), label), pair, strict=True)
        ]
        if bars:
            shown = TITLES.get(category, f"{category.replace('-', ' and ')} professions")
            alt = f"APPD of {shown} before and after; [{named}]."
            title = f"{figure.partition('-kinship')[0].replace('figure-', 'Figure ')}: {shown}"
            plots.append(Plot(figure, title, alt, charts.bars(bars, axis="APPD")))
    values = np.array(list(changes.values()))
    mean = mean_interval(values, rng=generator(options.seed, f"words {after}"), unit="words")
    answers = [
        f"{label}: {int((values < 0).sum())} of {values.size} words are closer to 0 than before; the mean distance "
        f"from 0 changed by {signed_value(mean, 3)}, interval over words"
    ]
    inside = np.array([value for word, value in changes.items() if word in marked])
    rest = np.array([value for word, value in changes.items() if word in facts and word not in marked])
    if inside.size and rest.size:
        answers.append(_contrast_answer(inside, rest, named))
    table = Table(
        "APPD before and after",
        ("category", "word", "before", "after", "templates", named),
        tuple(rows),
        f"Mean of P(masculine) − P(feminine) over templates, with t intervals over templates. Words {named} stand in "
        "brackets in the figures.",
        digits=3,
    )
    return Finding(tuple(answers), (table,), tuple(plots))


def _contrast_answer(inside: Floats, rest: Floats, named: str) -> str:
    """The mean change of the distance from 0 of two groups of words, and their difference."""
    found = contrast(inside, rest)
    means = [signed_number(float(group.mean()), 3) for group in (inside, rest)]
    return (
        f"words {named}: mean change {means[0]} (n = {inside.size}); others: {means[1]} (n = {rest.size}); "
        f"difference {signed_value(found, 3)}"
    )


def scatter(results: Results, options: GbefOptions) -> Finding:
    """Figure 10: every profession before and after, the line, and how linear the relation is."""
    words = list(distance_changes(results, BALANCED, FIGURES))
    if len(words) < 3:
        return Finding((), (), (), (f"{len(words)} professions: too few for a line",))
    before, then = word_estimates(results[BASE]), word_estimates(results[BALANCED])
    rows = [
        {"x": before[word][1].value, "y": then[word][1].value, "label": word, "series": before[word][0]}
        for word in words
    ]
    x, y = (np.array([row[name] for row in rows], dtype=np.float64) for name in ("x", "y"))
    fit = fit_line(x, y).slope
    r = correlation([x], [y])
    answer = (
        f"over {len(rows)} professions APPD after = slope × before + constant, slope {signed_value(fit)}, "
        f"r = {signed_value(r)}, R² = {number(r.value**2)}; "
        "a slope near 0 with points near the axis means that pronouns are balanced whatever the profession"
    )
    alt = "APPD of professions after training against before, a point each, with the line of no change."
    chart = charts.scatter(rows, x="before", y="after", diagonal=True)
    return Finding((answer,), (), (Plot("figure-10", "Before against after", alt, chart),))


def reminder_comparisons(results: Results, options: GbefOptions) -> list[PaperComparison]:
    """APPD of every reminded word: before, after CDS, and after CDS with reminders of that word."""
    thesis = options.thesis_templates and options.templates is None
    first = options.models[0]
    found = []
    for word in options.words:
        reminded = [reminded_version(word, times) for times in options.reminders]
        for version in (BASE, CDS, *reminded):
            entry = word_entry(results, version, word)
            if entry is None:
                continue
            name = first if version == BASE else f"{first}, {options.label(version)}"
            estimate = replace(entry, data="thesis templates") if thesis else entry
            each = compare("gbef", "table-5", estimate, name, group=REMINDED.get(word, word))
            each = as_trained(each, version, options)
            other = each.published is None and version in reminded
            found.append(replace(each, reason="other reminder sentences") if other else each)
    return found


def word_entry(results: Results, version: str, word: str) -> Estimate | None:
    """The APPD of a word, or of the word of the templates that has the same name in the thesis."""
    known = word_estimates(results[version]) if version in results else {}
    same = [each for each in known if each == word or (each in REMINDED and REMINDED[each] == REMINDED.get(word))]
    return known[same[0]][1] if same else None


def reminder_finding(comparisons: Sequence[PaperComparison]) -> Finding:
    """Table 5."""
    columns: Columns = {
        "trained on": "model",
        "word": lambda estimate: estimate.group.partition("=")[2],
        "APPD": VALUE,
        "templates": "n",
    }
    note = "Here farther from 0 is better. t intervals over templates."
    table = comparison_table("APPD of words that have a gender", columns, comparisons, note)
    tables = [table] if comparisons else []
    if not comparisons or any(each.published is None for each in comparisons):
        printed = [cell for cell in paper_values("gbef") if cell.item == "table-5"]
        title = "As published, with the thesis' templates and reminders"
        tables.append(published_table(title, {"trained on": "model", "word": "group"}, printed))
    return Finding((), tuple(tables))


def claims(results: Results, facts: Facts, options: GbefOptions) -> list[ClaimTest]:
    """The thesis' claims about words as tests."""
    tests = []
    rng_seed = options.seed
    professions = distance_changes(results, BALANCED, FIGURES)
    unseen = {word: value for word, value in professions.items() if word in facts and not facts[word].seen}
    gendered = distance_changes(results, CDS, GENDERED)
    for claim, where, changes in (
        ("Does balanced text make pronouns of professions it does not mention alike?", BALANCED, unseen),
        ("Does counterfactual data substitution take the gender of words that have one?", CDS, gendered),
    ):
        values = np.array(list(changes.values()))
        if values.size > 1:
            value = mean_interval(values, rng=generator(rng_seed, f"claim {where}"), unit="words")
            tests.append(
                ClaimTest(
                    *(claim, options.label(where), "change of |APPD|", value, values.size),
                    expected="below",
                    p=mean_test(values, 0.0),
                    method="t test over words",
                )
            )
    split = np.array([value for word, value in gendered.items() if word in facts and facts[word].split])
    whole = np.array([value for word, value in gendered.items() if word in facts and not facts[word].split])
    if min(split.size, whole.size) > 1:
        found = contrast(split, whole)
        tests.append(
            ClaimTest(
                "Do words that are split into pieces lose less of their gender?",
                options.label(CDS),
                "difference of the changes of |APPD|",
                found,
                split.size + whole.size,
                expected="above",
                p=found.p,
                method="Mann–Whitney over words",
            )
        )
    most = max(options.reminders)
    for word in options.words:
        restored = restored_distances(results, CDS, reminded_version(word, most), word)
        if restored.size > 1:
            value = mean_interval(restored, rng=generator(rng_seed, f"claim {word}"), unit="templates")
            tests.append(
                ClaimTest(
                    "Do reminders restore words proper to a gender?",
                    f"{word}, reminders ×{most} against none",
                    *("change of PPD towards the word's gender", value, restored.size),
                    p=mean_test(restored, 0.0),
                    method="paired t test over templates",
                )
            )
    return tests


def restored_distances(results: Results, before: str, after: str, word: str) -> Floats:
    """By template of the word: the change of PPD, positive towards the gender of the word."""
    if before not in results or after not in results:
        return np.array([])
    first, second = (
        {row.item: row for rows in rows_of(results[name].items).values() for row in rows if row.scores}
        for name in (before, after)
    )
    name = {word, *(each for each in REMINDED if REMINDED[each] == REMINDED.get(word))}
    return np.array(
        [
            (second[item].difference - row.difference) * (1.0 if row.groups.get("goal") == "male" else -1.0)
            for item, row in first.items()
            if row.groups.get("word") in name and item in second
        ]
    )
