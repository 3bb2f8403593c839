"""The figures and tables of `gbef` about words of templates, by the difference of pronoun probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from unmask.audit.parquet import rows_of
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.findings.envelope import Result
from unmask.findings.numbers import number, signed_number, signed_value
from unmask.stats.intervals import mean_interval, mean_test
from unmask.stats.regression import correlation, fit_line
from unmask.stats.shares import contrast
from unmask.studies.claims import ClaimTest
from unmask.studies.paper import VALUE, Columns, comparison_table, label_of, load_paper, present
from unmask.studies.papers.gbef import BALANCED, BASE, CDS, LABELS, GbefOptions, reminded_version
from unmask.studies.spec import PaperComparison
from unmask.studies.steps.words import WordFacts
from unmask.studies.trainings import deviation, over_trainings

PAPER = load_paper("gbef")
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
Trainings = Mapping[str, Mapping[int, Result]]  # by version and seed; the model itself has one
Facts = Mapping[str, WordFacts]


def model_name(version: str, options: GbefOptions) -> str:
    """The model of a row: the first one, or what became of it."""
    first = options.models[0]
    return first if version == BASE else f"{first}, {options.label(version)}"


def as_trained(each: PaperComparison, version: str, options: GbefOptions) -> PaperComparison:
    """The comparison of a version, without the published number if it is not known to be trained as the thesis does."""
    reason, paper = "", GbefOptions()
    if version in LABELS:
        reason = "whether the file is all of Jigsaw's comments is not checked"
    elif version != BASE and (options.train, options.names) != (paper.train, paper.names):
        reason = "trained with other settings"
    return each if each.published is None or not reason else replace(each, published=None, mark="", reason=reason)


def pairs_of_trainings(
    trainings: Trainings, before: str, after: str, options: GbefOptions
) -> list[tuple[Result, Result]]:
    """Two versions of every seed that has both; the model itself is the same for all seeds."""
    first, second = (trainings.get(version, {}) for version in (before, after))
    if before == BASE and options.seed in first:
        first = dict.fromkeys(second, first[options.seed])
    return [(first[seed], result) for seed, result in second.items() if seed in first]


def training_cells(numbers: Sequence[float]) -> tuple[Value, float | None, int]:
    """The mean over trainings, the deviation, and how many they are."""
    values = [Value(value) for value in numbers]
    return over_trainings(values), deviation(values), len(values)


def word_estimates(result: Result) -> dict[str, tuple[str, Estimate]]:
    """By word: its category, and its APPD over templates."""
    columns = [result.items.column(name).to_pylist() for name in ("word", "category")]
    category = dict(zip(*columns, strict=True))
    return {
        label_of(estimate): (category[label_of(estimate)], estimate)
        for estimate in result.estimates
        if estimate.statistic == "appd" and estimate.group.startswith("word=") and label_of(estimate) in category
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
    label, named = options.label(after), "in the training text" if after == BALANCED else "split into pieces"
    marked = {word for word, known in facts.items() if (known.seen if after == BALANCED else known.split)}
    rows: list[tuple[Cell, ...]] = []
    plots = []
    for category, figure in figures.items():
        bars = []
        for word in (word for word in changes if before[word][0] == category):
            first, second = before[word][1], then[word][1]
            mark = ("yes" if word in marked else "no") if word in facts else None
            rows.append((category, word, first, second, first.n, mark))
            shown = f"[{word}]" if word in marked else word
            bars += [charts.interval_row(shown, first, options.label(BASE)), charts.interval_row(shown, second, label)]
        if bars:
            words = TITLES.get(category, f"{category.replace('-', ' and ')} professions")
            title = f"{figure.partition('-kinship')[0].replace('figure-', 'Figure ')}: {words}"
            alt = f"APPD of {words} before and after; [{named}]."
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
        means = [signed_number(float(group.mean()), 3) for group in (inside, rest)]
        answers.append(
            f"words {named}: mean change {means[0]} (n = {inside.size}); others: {means[1]} (n = {rest.size}); "
            f"difference {signed_value(contrast(inside, rest), 3)}"
        )
    return Finding(tuple(answers), (PAPER.table("words", rows, named, named=named),), tuple(plots))


def scatter(results: Results) -> Finding:
    """Figure 10: every profession before and after, the line, and how linear the relation is."""
    words = list(distance_changes(results, BALANCED, FIGURES))
    if len(words) < 3:
        return Finding((), (), (), (f"{len(words)} professions: too few for a line",))
    before, then = word_estimates(results[BASE]), word_estimates(results[BALANCED])
    rows: list[charts.Row] = [
        {"x": before[word][1].value, "y": then[word][1].value, "label": word, "series": before[word][0]}
        for word in words
    ]
    x, y = (np.array([row[name] for row in rows], dtype=np.float64) for name in ("x", "y"))
    r = correlation([x], [y])
    answer = (
        f"over {len(rows)} professions APPD after = slope × before + constant, slope "
        f"{signed_value(fit_line(x, y).slope)}, r = {signed_value(r)}, R² = {number(r.value**2)}; "
        "a slope near 0 with points near the axis means that pronouns are balanced whatever the profession"
    )
    return Finding((answer,), (), PAPER.plot("figure-10", charts.scatter, rows, diagonal=True))


def reminder_comparisons(results: Results, options: GbefOptions) -> list[PaperComparison]:
    """APPD of every reminded word: before, after CDS, and after CDS with reminders of that word."""
    thesis = options.thesis_templates and options.templates is None
    comparisons = []
    for word in options.words:
        reminded = [reminded_version(word, times) for times in options.reminders]
        for version in (BASE, CDS, *reminded):
            entry = word_entry(results, version, word)
            if entry is None:
                continue
            data = "thesis templates" if thesis else entry.data
            estimate = replace(entry, data=data, model=model_name(version, options))
            each = PAPER.compare("table-5", estimate, group=REMINDED.get(word, word))
            each = as_trained(each, version, options)
            other = each.published is None and version in reminded
            comparisons.append(replace(each, reason="other reminder sentences") if other else each)
    return comparisons


def word_entry(results: Results, version: str, word: str) -> Estimate | None:
    """The APPD of a word, or of the word of the templates that has the same name in the thesis."""
    known = word_estimates(results[version]) if version in results else {}
    alias = REMINDED.get(word)
    return next((known[name][1] for name in known if name == word or (alias and REMINDED.get(name) == alias)), None)


def reminder_finding(comparisons: Sequence[PaperComparison]) -> Finding:
    """Table 5."""
    columns: Columns = {"trained on": "model", "word": label_of, "APPD": VALUE, "templates": "n"}
    note = "Here farther from 0 is better. t intervals over templates."
    tables = [comparison_table("APPD of words that have a gender", columns, comparisons, note)] if comparisons else []
    if not comparisons or any(each.published is None for each in comparisons):
        title = "As published, with the thesis' templates and reminders"
        tables.append(PAPER.printed_table(title, {"trained on": "model", "word": "group"}, "table-5"))
    return Finding((), tuple(tables))


def word_tables(ppd: Trainings, after: str, options: GbefOptions) -> tuple[Table, ...]:
    """How far the words of the figures moved towards 0, over trainings; nothing if there is one."""
    rows: list[tuple[Cell, ...]] = []
    pairs = pairs_of_trainings(ppd, BASE, after, options)
    for category in FIGURES if after == BALANCED else GENDERED:
        results = [{BASE: first, after: second} for first, second in pairs]
        moved = [list(distance_changes(of_seed, after, {category: ""}).values()) for of_seed in results]
        if len(moved) > 1 and moved[0]:
            rows.append((category, len(moved[0]), *training_cells([float(np.mean(values)) for values in moved])))
    return present(PAPER.table("word-trainings", rows))


def reminder_tables(ppd: Trainings, options: GbefOptions) -> tuple[Table, ...]:
    """APPD of every reminded word over trainings; nothing if there is one."""
    rows: list[tuple[Cell, ...]] = []
    for word in options.words:
        for version in (CDS, *(reminded_version(word, times) for times in options.reminders)):
            entries = [word_entry({version: result}, version, word) for result in ppd.get(version, {}).values()]
            values = [entry.value for entry in entries if entry is not None]
            rows += [(options.label(version), word, *training_cells(values))] if len(values) > 1 else []
    return present(PAPER.table("reminder-trainings", rows))


def word_claims(results: Results, facts: Facts, options: GbefOptions) -> Iterator[ClaimTest]:
    """The thesis' claims about words as tests."""
    professions = distance_changes(results, BALANCED, FIGURES)
    unseen = {word: value for word, value in professions.items() if word in facts and not facts[word].seen}
    gendered = distance_changes(results, CDS, GENDERED)
    for claim, version, changes in (("unseen", BALANCED, unseen), ("gendered", CDS, gendered)):
        values = np.array(list(changes.values()))
        if values.size > 1:
            yield _mean_test(claim, options.label(version), values, f"claim {version}", "words", options)
    known = {word: value for word, value in gendered.items() if word in facts}
    split, whole = (
        np.array([value for word, value in known.items() if facts[word].split == is_split])
        for is_split in (True, False)
    )
    if min(split.size, whole.size) > 1:
        gap = contrast(split, whole)
        yield PAPER.test("split", options.label(CDS), gap, split.size + whole.size, p=gap.p)
    most = max(options.reminders)
    for word in options.words:
        restored = restored_distances(results, CDS, reminded_version(word, most), word)
        if restored.size > 1:
            where = f"{word}, reminders ×{most} against none"
            yield _mean_test("reminders", where, restored, f"claim {word}", "templates", options)


def _mean_test(claim: str, where: str, values: Floats, label: str, unit: str, options: GbefOptions) -> ClaimTest:
    """Student's test of a mean over words or templates."""
    value = mean_interval(values, rng=generator(options.seed, label), unit=unit)
    return PAPER.test(claim, where, value, values.size, p=mean_test(values, 0.0))


def restored_distances(results: Results, before: str, after: str, word: str) -> Floats:
    """By template of the word: the change of PPD, positive towards the gender of the word."""
    if before not in results or after not in results:
        return np.array([])
    first, second = (
        {row.item: row for rows in rows_of(results[name].items).values() for row in rows if row.scores}
        for name in (before, after)
    )
    names = {word, *(name for name, alias in REMINDED.items() if alias == REMINDED.get(word))}
    return np.array(
        [
            (second[item].difference - row.difference) * (1.0 if row.groups.get("goal") == "male" else -1.0)
            for item, row in first.items()
            if row.groups.get("word") in names and item in second
        ]
    )
