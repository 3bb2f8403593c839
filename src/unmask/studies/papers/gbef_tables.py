"""The tables and figures of `gbef`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from unmask.audit.result import Result, load
from unmask.findings import Cell, Finding, Plot, Table, Value, charts, value_of
from unmask.findings.html import Section
from unmask.stats.bootstrap import generator
from unmask.stats.means import mean, mean_interval
from unmask.stats.regression import fit_line
from unmask.studies.collect import collect_finding, difference, in_interval, paper_values, published_value
from unmask.studies.spec import Outputs, Step, StudyOptions

CATEGORIES = {
    "category=occupation": "occupation",
    "category=benevolent-sexism": "benevolent sexism",
    "category=hostile-sexism": "hostile sexism",
    "all": "combined",
}
FIGURES = {  # of the thesis, by the category of our templates
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
    "Reasons for differences: the thesis' sentences and templates are not public and ours are others, so its "
    "numbers are not expected."
)
Steps = Mapping[str, Mapping[str, Step]]


def conclude(outputs: Outputs, options: StudyOptions, compared: Sequence[str], made: Steps) -> list[Section]:
    """One section a table or figure."""
    sld, ppd = (_loaded(outputs, made[name]) for name in ("sld", "ppd"))
    every = {
        name.removeprefix("audit ").partition(" on ")[0]: load(folder)
        for name in compared
        if name.startswith("audit ") and (folder := outputs.get(name))
    }
    stability = collect_finding(outputs, compared, "stability")
    four = {name: one for name, one in sld.items() if " sentences, draw " not in name}
    return [
        Section("table-3", "Table 3: ASLD of models", "Mean distance of a pair's sentences, in nats.",
                _asld(every, "table-3"), OURS),
        Section("figure-6", "Figure 6: sample size", "How ASLD settles as more pairs are drawn.",
                stability, "Every point is the mean of several draws."),
        Section("table-4", "Table 4: the bias of a corpus, by training on it",
                f"ASLD of {options.models[0]} before, after mitigation, and after training on toxic text.",
                _asld(four, "table-4"), f"{OURS} The toxic comments at hand are a sample."),
        Section("figures-8-19", "Figures 8, 9 and 14 to 19: professions before and after",
                "Difference of the pronouns' probabilities; 0 is even, above it he is likelier.",
                _bars(ppd, BALANCED, FIGURES), OURS),
        Section("figure-10", "Figure 10: before against after", "Every point is a profession.",
                _scatter(ppd, BALANCED)),
        Section("figures-11-12", "Figures 11 and 12: words that have a gender",
                "Here far from 0 is right: mitigation should leave these alone.",
                _bars(ppd, CDS, GENDERED), OURS),
        Section("table-5", "Table 5: reminders", "Do reminders keep the gender of words that have one?",
                _reminded(ppd), f"{OURS} All reminders are added, not those of one word alone."),
        Section("figure-13", "Figure 13: learning curve", "ASLD against the number of sentences trained on.",
                _curve(sld, options.seed), "Intervals are over draws; with few they are wide."),
    ]  # fmt: skip


def _loaded(outputs: Outputs, steps: Mapping[str, Step]) -> dict[str, Result]:
    return {name: load(folder) for name, one in steps.items() if (folder := outputs.get(one.name))}


def _asld(results: Mapping[str, Result], item: str) -> Finding:
    rows: list[tuple[Cell, ...]] = []
    for model, result in results.items():
        for one in result.estimates:
            if one.statistic == "asld" and one.group in CATEGORIES:
                name = CATEGORIES[one.group]
                paper = published_value("gbef", item, model=model, group=name)
                ours = value_of(one)
                compared = (paper, difference(ours, paper), in_interval(ours, paper))
                rows.append((model, name, ours, one.n, one.unscored, *compared))
    columns = ("model", "category", "ASLD", "n", "unscored", "published", "difference", "in interval")
    tables = [Table("ASLD", columns, tuple(rows), "In nats, with intervals over pairs.")] if rows else []
    if not any(row[5] is not None for row in rows):
        tables.append(_published(item))
    chart = [
        {"label": row[1], "series": row[0], "value": c.value, "low": c.low, "high": c.high}
        for row in rows
        if isinstance(c := row[2], Value)
    ]
    told = "Bars of ASLD by category and model, with intervals."
    drawn = (Plot(item, "ASLD", told, charts.bars(chart, axis="ASLD, nats")),) if chart else ()
    return Finding((), tuple(tables), drawn)


def _published(item: str) -> Table:
    rows = tuple((one.model, one.group, float(one.value)) for one in paper_values("gbef") if one.item == item)
    return Table("As published, of other models or data", ("model", "what", "published"), rows)


def _words(result: Result) -> dict[str, tuple[str, Value, int]]:
    """By word: its category, its APPD, over how many templates."""
    columns = [result.items.column(name).to_pylist() for name in ("word", "category")]
    category = dict(zip(*columns, strict=True))
    return {
        word: (category[word], value_of(one), one.n)
        for one in result.estimates
        if one.statistic == "appd"
        and one.group.startswith("word=")
        and (word := one.group.partition("=")[2]) in category
    }


def _bars(results: Mapping[str, Result], after: str, figures: Mapping[str, str]) -> Finding:
    """A table and, by category, bars of every word before and after."""
    if BASE not in results or after not in results:
        return Finding((), ())
    both = {name: _words(results[name]) for name in (BASE, after)}
    rows: list[tuple[Cell, ...]] = []
    drawn = []
    for category, figure in figures.items():
        words = [word for word, one in both[BASE].items() if one[0] == category and word in both[after]]
        rows += [
            (category, word, both[BASE][word][1], both[after][word][1], both[BASE][word][2]) for word in words
        ]
        bars = [
            {"label": word, "series": name, "value": c.value, "low": c.low, "high": c.high}
            for word in words
            for name in both
            for c in (both[name][word][1],)
        ]
        if bars:
            title, told = f"{category} words", f"APPD of every word of {category} before and after."
            drawn.append(Plot(figure, title, told, charts.bars(bars, axis="APPD")))
    table = Table(
        "APPD before and after",
        ("category", "word", "before", "after", "templates"),
        tuple(rows),
        "Mean of P(masculine) − P(feminine) over templates, with t intervals over templates.",
    )
    return Finding(tuple(_nearer(rows, after)), (table,) if rows else (), tuple(drawn))


def _nearer(rows: Sequence[tuple[Cell, ...]], after: str) -> Iterator[str]:
    sizes = [
        (abs(a.value), abs(b.value)) for *_, a, b, _ in rows if isinstance(a, Value) and isinstance(b, Value)
    ]
    if sizes:
        first, last = (float(np.mean([one[side] for one in sizes])) for side in (0, 1))
        nearer = sum(b < a for a, b in sizes)
        yield (
            f"{after}: {nearer} of {len(sizes)} words are nearer to 0 than before; mean distance from 0 went "
            f"from {first:.3f} to {last:.3f} (words bear no interval together: they are not a sample)"
        )


def _scatter(results: Mapping[str, Result], after: str) -> Finding:
    if BASE not in results or after not in results:
        return Finding((), ())
    before, then = _words(results[BASE]), _words(results[after])
    words = [word for word, one in before.items() if word in then and one[0] in FIGURES]
    rows = [
        {"x": before[word][1].value, "y": then[word][1].value, "label": word, "series": before[word][0]}
        for word in words
    ]
    if len(rows) < 3:
        return Finding((), (), (), (f"{len(rows)} professions: too few for a line",))
    fit = fit_line(np.array([row["x"] for row in rows]), np.array([row["y"] for row in rows])).slope
    said = (
        f"over {len(rows)} professions APPD after = slope × before + constant, slope {fit.value:.2f} "
        f"({fit.low:.2f} to {fit.high:.2f}); a slope near 0 with points near the axis: pronouns are "
        "evened whatever the profession"
    )
    told = "APPD of professions after training against before, a point each, with the line of no change."
    chart = charts.scatter(rows, x="before", y="after", diagonal=True)
    return Finding((said,), (), (Plot("figure-10", "Before against after", told, chart),))


def _reminded(results: Mapping[str, Result]) -> Finding:
    rows: list[tuple[Cell, ...]] = []
    for name, result in results.items():
        if name == BALANCED:
            continue
        for word, (_, ours, n) in _words(result).items():
            if word in REMINDED:
                paper = published_value("gbef", "table-5", model=name, group=REMINDED[word])
                rows.append((name, word, ours, n, paper, difference(ours, paper)))
    columns = ("trained on", "word", "APPD", "templates", "published", "difference")
    note = "Farther from 0 is better here. t intervals over templates."
    return Finding(
        (), (Table("APPD of words that have a gender", columns, tuple(rows), note),) if rows else ()
    )


def _curve(results: Mapping[str, Result], seed: int) -> Finding:
    """ASLD by number of sentences: the mean of the draws."""
    seen: dict[tuple[int, str], list[float]] = {}
    for name, result in results.items():
        if " sentences, draw " in name:
            size = int(name.removeprefix("cds on ").partition(" ")[0])
            for one in result.estimates:
                if one.statistic == "asld" and one.group in CATEGORIES:
                    seen.setdefault((size, CATEGORIES[one.group]), []).append(one.value)
    rows: list[tuple[Cell, ...]] = []
    drawn = []
    for (size, group), values in sorted(seen.items()):
        array = np.array(values)
        ends = mean_interval(array, rng=generator(seed, f"{size}/{group}"))
        cell = Value(mean(array), ends.low, ends.high, ends.method)
        rows.append((size, group, cell, len(values)))
        drawn.append({"x": size, "y": cell.value, "low": cell.low, "high": cell.high, "series": group})
    if not rows:
        return Finding((), ())
    table = Table("ASLD by number of sentences", ("sentences", "category", "ASLD", "draws"), tuple(rows))
    told = "ASLD against the number of sentences of counterfactual data, a line for each category."
    chart = charts.curves(drawn, x="sentences", y="ASLD, nats", band=True)
    return Finding((), (table,), (Plot("figure-13", "Learning curve", told, chart),))
