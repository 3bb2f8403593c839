"""The tables and figures of `gbef`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from unmask.audit.result import load
from unmask.core.seeds import generator
from unmask.findings import Cell, Finding, Plot, Section, Table, Value, charts
from unmask.findings.envelope import Result
from unmask.stats.means import mean_interval
from unmask.stats.regression import fit_line
from unmask.studies.collect import collect_finding, difference, in_interval, paper_values, published_value
from unmask.studies.spec import Outputs, Step, StudyOptions

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
Steps = Mapping[str, Mapping[str, Step]]


def conclude(
    outputs: Outputs, options: StudyOptions, model_steps: Sequence[str], mitigated: Steps
) -> list[Section]:
    """One section per table or figure."""
    sld, ppd = (_load_results(outputs, mitigated[name]) for name in ("sld", "ppd"))
    by_model = {
        name.removeprefix("audit ").partition(" on ")[0]: load(folder)
        for name in model_steps
        if name.startswith("audit ") and (folder := outputs.get(name))
    }
    stability = collect_finding(outputs, model_steps, "stability")
    trained = {name: result for name, result in sld.items() if " sentences, draw " not in name}
    return [
        Section("table-3", "Table 3: ASLD of models", "Mean absolute difference within pairs, in nats.",
                _asld(by_model, "table-3"), OURS),
        Section("figure-6", "Figure 6: sample size", "How ASLD converges as more pairs are sampled.",
                stability, "Every point is the mean of several samples."),
        Section("table-4", "Table 4: the bias of a corpus, by training on it",
                f"ASLD of {options.models[0]} before, after mitigation, and after training on toxic text.",
                _asld(trained, "table-4"), f"{OURS} Our toxic comments are a sample."),
        Section("figures-8-19", "Figures 8, 9 and 14 to 19: professions before and after",
                "Difference of the pronouns' probabilities; 0 is no preference, above it he is likelier.",
                _bars(ppd, BALANCED, FIGURES), OURS),
        Section("figure-10", "Figure 10: before against after", "Every point is a profession.",
                _scatter(ppd, BALANCED)),
        Section("figures-11-12", "Figures 11 and 12: words that have a gender",
                "Here a value far from 0 is correct: mitigation should not change these.",
                _bars(ppd, CDS, GENDERED), OURS),
        Section("table-5", "Table 5: reminders", "Do reminders preserve the gender of words that have one?",
                _reminder_table(ppd), f"{OURS} All reminders are added, not only those of one word."),
        Section("figure-13", "Figure 13: learning curve", "ASLD against the number of sentences trained on.",
                _curve(sld, options.seed), "Intervals are over samples; with few samples they are wide."),
    ]  # fmt: skip


def _load_results(outputs: Outputs, steps: Mapping[str, Step]) -> dict[str, Result]:
    return {name: load(folder) for name, step in steps.items() if (folder := outputs.get(step.name))}


def _asld(results: Mapping[str, Result], item: str) -> Finding:
    rows: list[tuple[Cell, ...]] = []
    for model, result in results.items():
        for estimate in result.estimates:
            if estimate.statistic == "asld" and estimate.group in CATEGORIES:
                name = CATEGORIES[estimate.group]
                paper = published_value("gbef", item, model=model, group=name)
                ours = estimate
                comparison = (paper, difference(ours, paper), in_interval(ours, paper))
                rows.append((model, name, ours, estimate.n, estimate.unscored, *comparison))
    columns = ("model", "category", "ASLD", "n", "unscored", "published", "difference", "in interval")
    tables = [Table("ASLD", columns, tuple(rows), "In nats, with intervals over pairs.")] if rows else []
    if not any(row[5] is not None for row in rows):
        tables.append(_published(item))
    bars = [
        {"label": row[1], "series": row[0], "value": cell.value, "low": cell.low, "high": cell.high}
        for row in rows
        if isinstance(cell := row[2], Value)
    ]
    alt = "Bars of ASLD by category and model, with intervals."
    plots = (Plot(item, "ASLD", alt, charts.bars(bars, axis="ASLD, nats")),) if bars else ()
    return Finding((), tuple(tables), plots)


def _published(item: str) -> Table:
    rows = tuple(
        (cell.model, cell.group, float(cell.value)) for cell in paper_values("gbef") if cell.item == item
    )
    return Table("As published, of other models or data", ("model", "what", "published"), rows)


def _word_estimates(result: Result) -> dict[str, tuple[str, Value, int]]:
    """By word: its category, its APPD, and the number of templates."""
    columns = [result.items.column(name).to_pylist() for name in ("word", "category")]
    category = dict(zip(*columns, strict=True))
    return {
        word: (category[word], estimate, estimate.n)
        for estimate in result.estimates
        if estimate.statistic == "appd"
        and estimate.group.startswith("word=")
        and (word := estimate.group.partition("=")[2]) in category
    }


def _bars(results: Mapping[str, Result], after: str, figures: Mapping[str, str]) -> Finding:
    """A table, and a bar chart per category, of every word before and after."""
    if BASE not in results or after not in results:
        return Finding((), ())
    both = {name: _word_estimates(results[name]) for name in (BASE, after)}
    rows: list[tuple[Cell, ...]] = []
    plots = []
    for category, figure in figures.items():
        words = [word for word, entry in both[BASE].items() if entry[0] == category and word in both[after]]
        rows += [
            (category, word, both[BASE][word][1], both[after][word][1], both[BASE][word][2]) for word in words
        ]
        bars = [
            {"label": word, "series": name, "value": appd.value, "low": appd.low, "high": appd.high}
            for word in words
            for name in both
            for appd in (both[name][word][1],)
        ]
        if bars:
            title, alt = f"{category} words", f"APPD of every {category} word before and after."
            plots.append(Plot(figure, title, alt, charts.bars(bars, axis="APPD")))
    table = Table(
        "APPD before and after",
        ("category", "word", "before", "after", "templates"),
        tuple(rows),
        "Mean of P(masculine) − P(feminine) over templates, with t intervals over templates.",
    )
    return Finding(tuple(_closer_to_zero(rows, after)), (table,) if rows else (), tuple(plots))


def _closer_to_zero(rows: Sequence[tuple[Cell, ...]], after: str) -> Iterator[str]:
    sizes = [
        (abs(a.value), abs(b.value)) for *_, a, b, _ in rows if isinstance(a, Value) and isinstance(b, Value)
    ]
    if sizes:
        first, last = (float(np.mean([size[side] for size in sizes])) for side in (0, 1))
        closer = sum(b < a for a, b in sizes)
        yield (
            f"{after}: {closer} of {len(sizes)} words are closer to 0 than before; the mean distance from 0 "
            f"went from {first:.3f} to {last:.3f} (no interval: the words are not a sample)"
        )


def _scatter(results: Mapping[str, Result], after: str) -> Finding:
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


def _reminder_table(results: Mapping[str, Result]) -> Finding:
    rows: list[tuple[Cell, ...]] = []
    for name, result in results.items():
        if name == BALANCED:
            continue
        for word, (_, ours, n) in _word_estimates(result).items():
            if word in REMINDED:
                paper = published_value("gbef", "table-5", model=name, group=REMINDED[word])
                rows.append((name, word, ours, n, paper, difference(ours, paper)))
    columns = ("trained on", "word", "APPD", "templates", "published", "difference")
    note = "Here farther from 0 is better. t intervals over templates."
    return Finding(
        (), (Table("APPD of words that have a gender", columns, tuple(rows), note),) if rows else ()
    )


def _curve(results: Mapping[str, Result], seed: int) -> Finding:
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
