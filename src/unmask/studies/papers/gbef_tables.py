"""The tables and figures of `gbef`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from unmask.audit.result import load
from unmask.core.estimate import Estimate
from unmask.core.seeds import generator
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.findings.envelope import Result
from unmask.stats.means import mean_interval
from unmask.stats.regression import fit_line
from unmask.studies.collect import Columns, compare, comparison_table, itself, paper_values, published_table
from unmask.studies.spec import Conclusion, Outputs, PaperComparison, StudyOptions
from unmask.studies.steps import diagnoses

CATEGORIES = {
    "category=occupation": "occupation",
    "category=benevolent-sexism": "benevolent sexism",
    "category=hostile-sexism": "hostile sexism",
    "all": "combined",
}
FIGURES = {  # figures of the thesis by category of our templates
    "medical": "figure-8",
    "computer": "figure-9",
    "engineering": "figure-14",
    "science": "figure-15",
    "office": "figure-16",
    "food-service": "figure-17",
    "farming-fishing": "figure-18",
    "protective": "figure-19",
}
GENDERED = {"gender-occupation": "figure-11", "gender-word": "figure-12", "kinship": "figure-12-kinship"}
REMINDED = {"pregnant": "pregnancy", "breastfeeding": "breastfeed", "breastfeed": "breastfeed"}
BASE, CDS, BALANCED = "base", "cds on gap", "fine-tuned on professions"
OURS = (
    "Reasons for differences: the thesis's sentences and templates are not public and ours differ, so its "
    "numbers are not expected."
)
Results = Mapping[str, Result]  # by model or version


def conclude(outputs: Outputs, options: StudyOptions) -> Conclusion:
    """One section per table or figure."""
    by_model, sld, ppd = (
        {role[1]: load(folder) for role, folder in outputs.items() if role[0] == name}
        for name in ("audit", "sld", "ppd")
    )
    sampled = outputs.get(("stability",))
    stability = diagnoses.load_diagnosis(sampled, "stability") if sampled else None
    trained = {name: result for name, result in sld.items() if " sentences, draw " not in name}
    asld = {item: _asld(results, item) for item, results in (("table-3", by_model), ("table-4", trained))}
    reminded = _reminded(ppd)
    sections = [
        Section("table-3", "Table 3: ASLD of models", "Mean absolute difference within pairs, in nats.",
                _asld_finding(asld["table-3"], "table-3"), OURS),
        Section("figure-6", "Figure 6: sample size", "How ASLD converges as more pairs are sampled.",
                stability.findings[0].finding if stability else Finding((), ()),
                "Every point is the mean of several samples."),
        Section("table-4", "Table 4: the bias of a corpus, by training on it",
                f"ASLD of {options.models[0]} before, after mitigation, and after training on toxic text.",
                _asld_finding(asld["table-4"], "table-4"), f"{OURS} Our toxic comments are a sample."),
        Section("figures-8-19", "Figures 8, 9 and 14 to 19: professions before and after",
                "Difference of the pronouns' probabilities; 0 is no preference, above it he is likelier.",
                _bars(ppd, BALANCED, FIGURES), OURS),
        Section("figure-10", "Figure 10: before against after", "Every point is a profession.",
                _scatter(ppd, BALANCED)),
        Section("figures-11-12", "Figures 11 and 12: words that have a gender",
                "Here a value far from 0 is correct: mitigation should not change these.",
                _bars(ppd, CDS, GENDERED), OURS),
        Section("table-5", "Table 5: reminders", "Do reminders preserve the gender of words that have one?",
                _reminder_finding(reminded), f"{OURS} All reminders are added, not only those of one word."),
        Section("figure-13", "Figure 13: learning curve", "ASLD against the number of sentences trained on.",
                _curve(sld, options.seed), "Intervals are over samples; with few samples they are wide."),
    ]  # fmt: skip
    return Conclusion(sections, [*asld["table-3"], *asld["table-4"], *reminded])


def _asld(results: Results, item: str) -> list[PaperComparison]:
    """ASLD of every category beside the published one."""
    return [
        compare("gbef", item, estimate, model, group=CATEGORIES[estimate.group])
        for model, result in results.items()
        for estimate in result.estimates
        if estimate.statistic == "asld" and estimate.group in CATEGORIES
    ]


def _asld_finding(asld: Sequence[PaperComparison], item: str) -> Finding:
    columns: Columns = {
        "model": "model",
        "category": lambda estimate: CATEGORIES[estimate.group],
        "ASLD": itself,
        "n": "n",
        "unscored": "unscored",
    }
    tables = [comparison_table("ASLD", columns, asld, "In nats, with intervals over pairs.")] if asld else []
    if all(each.published is None for each in asld):
        printed = [cell for cell in paper_values("gbef") if cell.item == item]
        title = "As published, of other models or data"
        tables.append(published_table(title, {"model": "model", "category": "group"}, printed))
    bars = [charts.interval_row(CATEGORIES[each.estimate.group], each.estimate, each.estimate.model) for each in asld]
    alt = "Bars of ASLD by category and model, with intervals."
    plots = (Plot(item, "ASLD", alt, charts.bars(bars, axis="ASLD, nats")),) if bars else ()
    return Finding((), tuple(tables), plots)


def _word_estimates(result: Result) -> dict[str, tuple[str, Estimate]]:
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


def _bars(results: Results, after: str, figures: Mapping[str, str]) -> Finding:
    """A table, and a bar chart per category, of every word before and after."""
    if BASE not in results or after not in results:
        return Finding((), ())
    before, then = (_word_estimates(results[name]) for name in (BASE, after))
    rows: list[tuple[Cell, ...]] = []
    plots, sizes = [], []
    for category, figure in figures.items():
        pairs = {word: (appd, then[word][1]) for word, (of, appd) in before.items() if of == category and word in then}
        rows += [(category, word, *pair, pair[0].n) for word, pair in pairs.items()]
        sizes += [(abs(first.value), abs(last.value)) for first, last in pairs.values()]
        bars = [
            charts.interval_row(word, appd, name)
            for word, pair in pairs.items()
            for name, appd in zip((BASE, after), pair, strict=True)
        ]
        if bars:
            title, alt = f"{category} words", f"APPD of every {category} word before and after."
            plots.append(Plot(figure, title, alt, charts.bars(bars, axis="APPD")))
    if not rows:
        return Finding((), ())
    first, last = np.mean(sizes, axis=0)
    answer = (
        f"{after}: {sum(b < a for a, b in sizes)} of {len(sizes)} words are closer to 0 than before; the "
        f"mean distance from 0 went from {first:.3f} to {last:.3f} (no interval: the words are not a sample)"
    )
    table = Table(
        "APPD before and after",
        ("category", "word", "before", "after", "templates"),
        tuple(rows),
        "Mean of P(masculine) − P(feminine) over templates, with t intervals over templates.",
    )
    return Finding((answer,), (table,), tuple(plots))


def _scatter(results: Results, after: str) -> Finding:
    if BASE not in results or after not in results:
        return Finding((), ())
    before, then = _word_estimates(results[BASE]), _word_estimates(results[after])
    words = [word for word, entry in before.items() if word in then and entry[0] in FIGURES]
    rows = [
        {"x": before[word][1].value, "y": then[word][1].value, "label": word, "series": before[word][0]}
        for word in words
    ]
    if len(rows) < 3:
        return Finding((), (), (), (f"{len(rows)} professions: too few for a line",))
    fit = fit_line(np.array([row["x"] for row in rows]), np.array([row["y"] for row in rows])).slope
    answer = (
        f"over {len(rows)} professions APPD after = slope × before + constant, slope {fit.value:.2f} "
        f"({fit.low:.2f} to {fit.high:.2f}); a slope near 0 with points near the axis means that pronouns "
        "are balanced whatever the profession"
    )
    alt = "APPD of professions after training against before, a point each, with the line of no change."
    chart = charts.scatter(rows, x="before", y="after", diagonal=True)
    return Finding((answer,), (), (Plot("figure-10", "Before against after", alt, chart),))


def _reminded(results: Results) -> list[PaperComparison]:
    """APPD of the words of the reminders, for all but the balanced version, beside the published one."""
    return [
        compare("gbef", "table-5", estimate, name, group=REMINDED[word])
        for name, result in results.items()
        if name != BALANCED
        for word, (_, estimate) in _word_estimates(result).items()
        if word in REMINDED
    ]


def _reminder_finding(comparisons: Sequence[PaperComparison]) -> Finding:
    columns: Columns = {
        "trained on": "model",
        "word": lambda estimate: estimate.group.partition("=")[2],
        "APPD": itself,
        "templates": "n",
    }
    note = "Here farther from 0 is better. t intervals over templates."
    table = comparison_table("APPD of words that have a gender", columns, comparisons, note)
    return Finding((), (table,) if comparisons else ())


def _curve(results: Results, seed: int) -> Finding:
    """ASLD by number of sentences: the mean over samples."""
    values_by_size: dict[tuple[int, str], list[float]] = {}
    for name, result in results.items():
        if " sentences, draw " in name:
            size = int(name.removeprefix("cds on ").partition(" ")[0])
            for estimate in result.estimates:
                if estimate.statistic == "asld" and estimate.group in CATEGORIES:
                    key = size, CATEGORIES[estimate.group]
                    values_by_size.setdefault(key, []).append(estimate.value)
    rows: list[tuple[Cell, ...]] = []
    points = []
    for (size, group), values in sorted(values_by_size.items()):
        cell = mean_interval(np.array(values), rng=generator(seed, f"{size}/{group}"))
        rows.append((size, group, cell, len(values)))
        points.append({"x": size, "y": cell.value, "low": cell.low, "high": cell.high, "series": group})
    if not rows:
        return Finding((), ())
    table = Table("ASLD by number of sentences", ("sentences", "category", "ASLD", "draws"), tuple(rows))
    alt = "ASLD against the number of sentences of counterfactual data, a line per category."
    chart = charts.curves(points, x="sentences", y="ASLD, nats", band=True)
    return Finding((), (table,), (Plot("figure-13", "Learning curve", alt, chart),))
