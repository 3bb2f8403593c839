"""The claims, tables and figures of `gbef`; those about words of templates are in `gbef_words`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from unmask.audit.parquet import rows_of
from unmask.audit.result import load
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.statistic import LEVEL
from unmask.core.types import Floats, Row
from unmask.findings import Cell, Finding, Table, charts
from unmask.findings.envelope import Result
from unmask.findings.numbers import signed_value
from unmask.measures import find
from unmask.stats.intervals import mean_interval, mean_test
from unmask.stats.paired import Comparison, apply_holm, comparisons
from unmask.stats.regression import fit_line
from unmask.stats.reliability import STEPS, sample_means
from unmask.stats.shares import contrast
from unmask.studies.claims import ClaimTest, claims_section
from unmask.studies.paper import VALUE, Columns, comparison_table, load_paper, over_units, present
from unmask.studies.papers.gbef import (
    ALL_TOXIC,
    BALANCED,
    BASE,
    CDS,
    LABELS,
    SEVERE,
    TOXIC_SAMPLE,
    GbefOptions,
    curve_models,
)
from unmask.studies.results import gbef_words
from unmask.studies.results.gbef_words import (
    FIGURES,
    GENDERED,
    Results,
    Trainings,
    as_trained,
    model_name,
    pairs_of_trainings,
    training_cells,
)
from unmask.studies.spec import Outputs, PaperComparison, PaperConclusion, folders_of
from unmask.studies.steps.words import load_word_facts

PAPER = load_paper("gbef")
SENTENCE_VERSIONS = (BASE, CDS, ALL_TOXIC, TOXIC_SAMPLE, SEVERE)  # the rows of Table 4
CLAIMS = {  # the two versions whose ASLD is compared
    "cds-lowers": (BASE, CDS),
    "toxic-raises": (CDS, ALL_TOXIC),
    "severe-raises": (TOXIC_SAMPLE, SEVERE),
}
CATEGORIES = {
    "category=occupation": "occupation",
    "category=benevolent-sexism": "benevolent sexism",
    "category=hostile-sexism": "hostile sexism",
    "all": "combined",
}
OTHER_ITEMS = (
    "The thesis' sentence pairs are not public, ours differ; its templates are in its Appendix II and can be given as "
    "the setting thesis_templates. A published number stands only beside the same model, data and measure."
)
Curve = Mapping[tuple[int, int], Result]  # by number of sentences and draw


def replicate(outputs: Outputs, options: GbefOptions) -> PaperConclusion:
    """The claims, then one section per table or figure."""
    by_model, worked = (
        {name: load(folder) for name, folder in folders_of(outputs, role).items()} for role in ("audit", "worked")
    )
    sld_trainings, ppd_trainings = (_trainings(outputs, name, options) for name in ("sld", "ppd"))
    sld, ppd = (
        {version: by_seed[options.seed] for version, by_seed in each.items() if options.seed in by_seed}
        for each in (sld_trainings, ppd_trainings)
    )
    curve = {(int(role[1]), int(role[2])): load(folder) for role, folder in outputs.items() if role[0] == "curve"}
    facts = load_word_facts(outputs["words",]) if ("words",) in outputs else {}
    first = options.models[0]
    three = [each for model, result in by_model.items() for each in _asld(result, "table-3", model, options)]
    four = [
        as_trained(each, version, options)
        for version in SENTENCE_VERSIONS
        if version in sld
        for each in _asld(sld[version], "table-4", model_name(version, options), options)
    ]
    five, examples = gbef_words.reminder_comparisons(ppd, options), worked_numbers(worked, first)
    versions = _with_tables(_version_finding(four, sld, options), _asld_tables(sld_trainings, options))
    professions = gbef_words.before_and_after(ppd, BALANCED, FIGURES, facts, options)
    professions = _with_tables(professions, gbef_words.word_tables(ppd_trainings, BALANCED, options))
    gendered = gbef_words.before_and_after(ppd, CDS, GENDERED, facts, options)
    gendered = _with_tables(gendered, gbef_words.word_tables(ppd_trainings, CDS, options))
    reminders = _with_tables(gbef_words.reminder_finding(five), gbef_words.reminder_tables(ppd_trainings, options))
    samples = sample_size_finding(by_model[first], options) if first in by_model else Finding((), ())
    tests = [*_claims(sld, curve, options), *_training_claims(sld_trainings, options)]
    sections = [
        claims_section([*tests, *gbef_words.word_claims(ppd, facts, options)], [*_untested(sld, options)]),
        PAPER.section("worked-numbers", worked_finding(examples), first=first),
        PAPER.section("table-3", _model_finding(three, by_model, options), other_items=OTHER_ITEMS),
        PAPER.section("figure-6", samples, first=first),
        PAPER.section("table-4", versions, first=first, other_items=OTHER_ITEMS),
        PAPER.section("figures-8-19", professions, other_items=OTHER_ITEMS),
        PAPER.section("figure-10", gbef_words.scatter(ppd)),
        PAPER.section("figures-11-12", gendered, other_items=OTHER_ITEMS),
        PAPER.section("table-5", reminders, other_items=OTHER_ITEMS),
        PAPER.section("figure-13", curve_finding(curve, sld.get(BASE), options)),
    ]
    return PaperConclusion(sections, [*examples, *three, *four, *five])


def _trainings(outputs: Outputs, name: str, options: GbefOptions) -> dict[str, dict[int, Result]]:
    """The audits of every version by seed; those of the first seed have roles without one."""
    by_version: dict[str, dict[int, Result]] = {}
    for role, folder in outputs.items():
        if role[0] == name:
            seed = int(role[2]) if role[2:] else options.seed
            by_version.setdefault(role[1], {})[seed] = load(folder)
    return by_version


def _with_tables(finding: Finding, tables: Sequence[Table]) -> Finding:
    return replace(finding, tables=(*finding.tables, *tables))


def scored_rows(result: Result) -> tuple[str, str, list[Row]]:
    """The only measure and dataset of a result, and its rows."""
    (((measure, data), rows),) = rows_of(result.items).items()
    return measure, data, rows


def worked_numbers(worked: Results, model: str) -> list[PaperComparison]:
    """The numbers of the thesis' examples, sections 4.1.2 and 4.2.2, beside the printed ones."""
    numbers: list[tuple[str, str, str, float]] = []  # item, measure, group, value
    if "sld" in worked:
        pairs = scored_rows(worked["sld"])[2]
        for name, row in zip(("programmer", "doctor"), pairs, strict=False):
            for word, score in (("his", row.scores["more"]), ("her", row.scores["less"])):
                numbers.append(("section-4.1.2", "pll", f"{name}: {word}", score))
        sizes = [abs(row.difference) for row in pairs]
        numbers.append(("section-4.1.2", "asld", "programmer and doctor", float(np.mean(sizes[:2]))))
        numbers.append(("section-4.1.2", "asld", "actuary", sizes[2]))
    by_word: dict[str, list[float]] = {}
    for row in scored_rows(worked["ppd"])[2] if "ppd" in worked else ():
        by_word.setdefault(row.groups["word"], []).append(row.difference)
    for word, values in by_word.items():
        numbers += [("section-4.2.2", "ppd", f"{word}: template {n}", value) for n, value in enumerate(values, 1)]
        numbers.append(("section-4.2.2", "appd", word, float(np.mean(values))))
    examples = []
    for item, measure, group, value in numbers:
        about: dict[str, Any] = {"measure": measure, "statistic": measure, "group": group, "data": "worked example"}
        examples.append(PAPER.compare(item, Estimate(value, model=model, **about), measure=measure, group=group))
    return examples


def worked_finding(examples: Sequence[PaperComparison]) -> Finding:
    """The table of the examples."""
    columns: Columns = {"model": "model", "measure": "measure", "of": "group", "ours": "value"}
    return Finding((), (comparison_table("Worked numbers", columns, examples),) if examples else ())


# ------------------------------------------------------------------------------------------------ Tables 3 and 4


def _asld(result: Result, item: str, model: str, options: GbefOptions) -> list[PaperComparison]:
    """ASLD of every category beside the published one."""
    thesis: dict[str, Any] = {"data": "thesis sentences"} if options.thesis_sentences and options.limit is None else {}
    by_group = {each.group: each for each in result.estimates if each.statistic == "asld"}
    return [
        PAPER.compare(item, replace(by_group[group], model=model, **thesis), group=label)
        for group, label in CATEGORIES.items()
        if group in by_group
    ]


def _asld_finding(asld: Sequence[PaperComparison], item: str) -> Finding:
    """The ASLD of all rows, the published numbers, and bars."""
    categories = {"category": lambda estimate: CATEGORIES[estimate.group]}
    columns: Columns = {"model": "model", **categories, "ASLD": VALUE, "n": "n", "unscored": "unscored"}
    over = next((over for each in asld if (over := over_units(each.estimate))), " over pairs")
    tables = [comparison_table("ASLD", columns, asld, f"In nats, with intervals{over}.")] if asld else []
    if not asld or any(each.published is None for each in asld):
        title = "As published, of the thesis' models on its own sentences"
        tables.append(PAPER.printed_table(title, {"model": "model", "category": "group"}, item))
    estimates = [each.estimate for each in asld]
    bars = [charts.interval_row(CATEGORIES[each.group], each, each.model) for each in estimates]
    return Finding((), tuple(tables), PAPER.plot(item, charts.bars, bars))


def paired_changes(a: Result, b: Result, seed: int) -> list[Comparison]:
    """The change of ASLD from one audit to another on the same pairs, combined and by category."""
    measure, data, first = scored_rows(a)
    changes = comparisons(find(measure), first, scored_rows(b)[2], data=data, rng_seed=seed)
    return [change for change in changes if change.statistic == "asld" and change.group in CATEGORIES]


def _change_table(title: str, changes: Mapping[tuple[str, str], Sequence[Comparison]]) -> Table:
    """Paired changes by the two models compared, corrected together."""
    names = [pair for pair, of_pair in changes.items() for _ in of_pair]
    corrected = apply_holm([change for of_pair in changes.values() for change in of_pair])
    rows = [
        (*pair, CATEGORIES[each.group], each.a_value, each.b_value, each.difference, each.n, each.p_holm)
        for pair, each in zip(names, corrected, strict=True)
    ]
    return PAPER.table("changes", rows, title=title)


def _model_finding(asld: Sequence[PaperComparison], by_model: Results, options: GbefOptions) -> Finding:
    """Table 3, the ranking of the models by combined ASLD, and paired tests between them."""
    finding = _with_tables(_asld_finding(asld, "table-3"), about_women(by_model, options))
    ranked = sorted((each.estimate for each in asld if each.estimate.group == "all"), key=lambda each: each.value)
    if len(ranked) < 2:
        return finding
    pairs = {}
    for a, b in combinations([estimate.model for estimate in ranked], 2):
        changes = paired_changes(by_model[a], by_model[b], options.seed)
        pairs[a, b] = [change for change in changes if change.group == "all"]
    table = _change_table("Paired differences of combined ASLD", pairs)
    distinct = sum(isinstance(row[-1], float) and row[-1] < LEVEL for row in table.rows)
    answer = (
        f"Lowest combined ASLD: {ranked[0].model}; highest: {ranked[-1].model}. {distinct} of {len(table.rows)} pairs "
        "of models differ (paired test, corrected)"
    )
    ranking = PAPER.table("ranking", [(rank, each.model, each) for rank, each in enumerate(ranked, 1)])
    return replace(_with_tables(finding, (ranking, table)), answers=(answer,))


def about_women(by_model: Results, options: GbefOptions) -> tuple[Table, ...]:
    """ASLD of the sexism pairs that are about women, if the data have others too."""
    rows: list[tuple[Cell, ...]] = []
    kinds = {group: label for group, label in CATEGORIES.items() if "sexism" in label}
    for model, result in by_model.items():
        scored = [row for row in scored_rows(result)[2] if row.scores]
        for group, label in kinds.items():
            sexism = [row for row in scored if group == f"category={row.groups.get('category')}"]
            women = np.array([abs(row.difference) for row in sexism if row.groups.get("direction") == "stereo"])
            if 0 < women.size < len(sexism):
                value = mean_interval(women, rng=generator(options.seed, f"about women {group}"))
                rows.append((model, label, value, women.size, len(sexism) - women.size))
    return present(PAPER.table("about-women", rows))


def _version_finding(asld: Sequence[PaperComparison], sld: Results, options: GbefOptions) -> Finding:
    """Table 4, and the paired changes it is about."""
    changes = {
        (options.label(a), options.label(b)): paired_changes(sld[a], sld[b], options.seed)
        for a, b in CLAIMS.values()
        if a in sld and b in sld
    }
    tables = [_change_table("Paired changes of ASLD", changes)] if changes else []
    return _with_tables(_asld_finding(asld, "table-4"), tables)


def _asld_tables(sld: Trainings, options: GbefOptions) -> tuple[Table, ...]:
    """ASLD of every version over trainings; nothing if there is one training."""
    rows: list[tuple[Cell, ...]] = [
        (options.label(version), label, *training_cells([_asld_value(result, group) for result in by_seed.values()]))
        for version, by_seed in sld.items()
        if len(by_seed) > 1
        for group, label in CATEGORIES.items()
    ]
    return present(PAPER.table("asld-trainings", rows))


def _asld_value(result: Result, group: str) -> float:
    """The ASLD of a category, NaN without it."""
    values = (each.value for each in result.estimates if (each.statistic, each.group) == ("asld", group))
    return next(values, float("nan"))


# ---------------------------------------------------------------------------------------------- Figures 6 and 13


def sample_size_finding(result: Result, options: GbefOptions) -> Finding:
    """Mean ASLD over samples of 20, 40, … 100 pairs of every category, and combined."""
    sizes_of: dict[str, list[float]] = {}
    for row in scored_rows(result)[2]:
        for group in (f"category={row.groups.get('category')}", "all") if row.scores else ():
            sizes_of.setdefault(group, []).append(abs(row.difference))
    rows: list[tuple[Cell, ...]] = []
    points: list[charts.Row] = []
    for group, label in CATEGORIES.items():
        values = np.array(sizes_of.get(group, []))
        for size in (step for step in STEPS if step <= values.size):
            rng = generator(options.seed, f"figure 6 {group}", size)
            means = sample_means(values, size, max(options.draws, 2), rng=rng)
            ends = Value(float(means.mean()), float(means.min()), float(means.max()), "range")
            rows.append((label, size, ends, float(means.std(ddof=1)), values.size))
            points.append({"x": size, "y": ends.value, "low": ends.low, "high": ends.high, "series": label})
    notes = () if rows else ("fewer than 20 pairs in every category",)
    plots = PAPER.plot("figure-6", charts.curves, points, band=True)
    return Finding((), present(PAPER.table("samples", rows)), plots, notes)


def combined_by_size(curve: Curve) -> dict[int, Floats]:
    """Combined ASLD of all draws, by number of sentences."""
    by_size: dict[int, list[float]] = {}
    for (size, _), result in sorted(curve.items()):
        by_size.setdefault(size, []).append(_asld_value(result, "all"))
    return {size: np.array(values) for size, values in by_size.items()}


def curve_finding(curve: Curve, base: Result | None, options: GbefOptions) -> Finding:
    """ASLD by number of sentences and category: the mean over independent samples; 0 is the model itself."""
    planned = {size for size, _ in curve_models(options)}
    missing = [size for size in options.sizes if size not in planned]
    notes = tuple(f"No sample of {size:,} sentences: the text has fewer." for size in missing)
    if not curve:
        return Finding((), (), (), notes)
    values: dict[tuple[int, str], list[float]] = {}
    for (size, _), result in {**({(0, 0): base} if base is not None else {}), **curve}.items():
        for estimate in result.estimates:
            if estimate.statistic == "asld" and estimate.group in CATEGORIES:
                values.setdefault((size, CATEGORIES[estimate.group]), []).append(estimate.value)
    order = list(CATEGORIES.values())
    rows: list[tuple[Cell, ...]] = []
    points: list[charts.Row] = []
    for size, group in sorted(values, key=lambda key: (key[0], order.index(key[1]))):
        draws, rng = np.array(values[size, group]), generator(options.seed, f"{size}/{group}")
        mean = mean_interval(draws, rng=rng, unit="draws").clip(0.0, np.inf)  # of few draws it could reach below 0
        rows.append((size, group, mean, draws.size))
        points.append({"x": size, "y": mean.value, "low": mean.low, "high": mean.high, "series": group})
    answers = [
        f"from {small:,} to {large:,} sentences combined ASLD changes by {signed_value(contrast(more, fewer))}"
        for (small, fewer), (large, more) in pairwise(combined_by_size(curve).items())
    ]
    plots = PAPER.plot("figure-13", charts.curves, points, band=True)
    return Finding(tuple(answers), (PAPER.table("curve", rows),), plots, notes)


# ------------------------------------------------------------------------------------------------------- claims


def _untested(sld: Results, options: GbefOptions) -> Iterator[str]:
    """The claims that cannot be tested here, and why."""
    for claim, (a, b) in CLAIMS.items():
        if a not in sld or b not in sld:
            no_file = b in LABELS and not options.toxic_text
            why = "no file of toxic comments (setting toxic)" if no_file else "its steps were not run"
            yield f"{PAPER.text.claims[claim].question} Not tested: {why}."


def _claims(sld: Results, curve: Curve, options: GbefOptions) -> Iterator[ClaimTest]:
    """The claims about ASLD as tests."""
    for claim, (a, b) in CLAIMS.items():
        for change in paired_changes(sld[a], sld[b], options.seed) if a in sld and b in sld else ():
            where = f"{options.label(a)} → {options.label(b)}, {CATEGORIES[change.group]}"
            method = f"paired t test{over_units(change.difference) or ' over pairs'}"
            yield PAPER.test(claim, where, change.difference, change.n, p=change.p, method=method)
    by_size = combined_by_size(curve)
    if len(by_size) > 1:
        doublings = np.concatenate([np.full(draws.size, np.log2(size)) for size, draws in by_size.items()])
        line = fit_line(doublings, np.concatenate(list(by_size.values())))
        where = f"{min(by_size):,} to {max(by_size):,} sentences, combined"
        yield PAPER.test("more-text", where, line.slope, line.n, p=line.p)


def _training_claims(sld: Trainings, options: GbefOptions) -> Iterator[ClaimTest]:
    """The claims about ASLD over trainings, both versions of one seed; none if there is one training."""
    for claim, (before, after) in CLAIMS.items():
        pairs = pairs_of_trainings(sld, before, after, options)
        changes = np.array([_asld_value(second, "all") - _asld_value(first, "all") for first, second in pairs])
        if changes.size > 1:
            where = f"{options.label(before)} → {options.label(after)}, combined, over trainings"
            value, p = training_cells(changes.tolist())[0], mean_test(changes, 0.0)
            yield PAPER.test(claim, where, value, changes.size, p=p, method="t test over trainings")
