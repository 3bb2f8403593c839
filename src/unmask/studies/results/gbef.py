"""The sections of `gbef`, and Tables 3 and 4; words of templates are in `gbef_words`, curves in `gbef_curves`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from unmask.audit.result import load
from unmask.core.seeds import generator
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.findings.envelope import Result
from unmask.measures import find
from unmask.stats.intervals import mean_interval
from unmask.stats.paired import Comparison, apply_holm, comparisons
from unmask.stats.regression import fit_line
from unmask.studies.claims import ClaimTest, claims_section
from unmask.studies.collect import VALUE, Columns, compare, comparison_table, over_units, paper_values, published_table
from unmask.studies.papers.gbef import ALL_TOXIC, BALANCED, BASE, CDS, LABELS, SEVERE, TOXIC_SAMPLE, GbefOptions
from unmask.studies.results import gbef_trainings, gbef_words
from unmask.studies.results.gbef_curves import (
    CATEGORIES,
    combined_by_size,
    curve_finding,
    sample_size_finding,
    scored_rows,
)
from unmask.studies.results.gbef_words import FIGURES, GENDERED, Results, as_trained
from unmask.studies.results.gbef_worked import worked_finding, worked_numbers
from unmask.studies.spec import Outputs, PaperComparison, PaperConclusion
from unmask.studies.steps.words import load_word_facts

SENTENCE_VERSIONS = (BASE, CDS, ALL_TOXIC, TOXIC_SAMPLE, SEVERE)  # the rows of Table 4
CLAIMS = {  # ASLD of the second version less that of the first, and where the thesis puts it
    "Does counterfactual data substitution lower ASLD?": (BASE, CDS, "below"),
    "Do toxic comments raise the ASLD of the mitigated model?": (CDS, ALL_TOXIC, "above"),
    "Do severely toxic comments raise it more than as many toxic ones?": (TOXIC_SAMPLE, SEVERE, "above"),
}
OTHER_ITEMS = (
    "The thesis' sentence pairs are not public, ours differ; its templates are in its Appendix II and can be given as "
    "--thesis-templates FILE. A published number stands only beside the same model, data and measure."
)


def replicate(outputs: Outputs, options: GbefOptions) -> PaperConclusion:
    """The claims, then one section per table or figure."""
    by_model, worked = (
        {role[1]: load(folder) for role, folder in outputs.items() if role[0] == name} for name in ("audit", "worked")
    )
    repeated = {name: gbef_trainings.load_trainings(outputs, name, options) for name in ("sld", "ppd")}
    sld, ppd = (
        {version: by_seed[options.seed] for version, by_seed in each.items() if options.seed in by_seed}
        for each in repeated.values()
    )
    curve = {(int(role[1]), int(role[2])): load(folder) for role, folder in outputs.items() if role[0] == "curve"}
    facts = load_word_facts(outputs["words",]) if ("words",) in outputs else {}
    first = options.models[0]
    three = [each for model, result in by_model.items() for each in _asld(result, "table-3", model, options)]
    four = [
        as_trained(each, version, options)
        for version in SENTENCE_VERSIONS
        if version in sld
        for each in _asld(sld[version], "table-4", _model_name(version, options), options)
    ]
    five = gbef_words.reminder_comparisons(ppd, options)
    examples = worked_numbers(worked, first)
    claims, untested = _claims(sld, curve, options)
    claims += gbef_trainings.asld_claims(repeated["sld"], CLAIMS, options)
    sections = [
        claims_section([*claims, *gbef_words.claims(ppd, facts, options)], untested),
        Section("worked-numbers", "Sections 4.1.2 and 4.2.2: the worked numbers",
                f"The thesis' examples, scored by {first}; no training is involved.",
                worked_finding(examples), "The thesis' professions are doctor and dentist; it prints patient."),
        Section("table-3", "Table 3: ASLD of models", "Mean absolute difference within pairs, in nats.",
                _model_finding(three, by_model, options), OTHER_ITEMS),
        Section("figure-6", "Figure 6: sample size", f"ASLD of {first} on samples of every category.",
                sample_size_finding(by_model.get(first), options),
                "Every point is the mean of several independent samples."),
        Section("table-4", "Table 4: the bias of a corpus, by training on it",
                f"ASLD of {first} before, after mitigation, and after training on toxic text.",
                _with_tables(_version_finding(four, sld, options),
                             gbef_trainings.asld_tables(repeated["sld"], options)),
                f"{OTHER_ITEMS} All toxic comments are more text than the severely toxic ones: the fair comparison is "
                "that with as many comments, which gives equally many training steps."),
        Section("figures-8-19", "Figures 8, 9 and 14 to 19: professions before and after",
                "Difference of the pronouns' probabilities; 0 is no preference, above it he is likelier.",
                _with_tables(gbef_words.before_and_after(ppd, BALANCED, FIGURES, facts, options),
                             gbef_trainings.word_tables(repeated["ppd"], BALANCED, options)), OTHER_ITEMS),
        Section("figure-10", "Figure 10: before against after", "Every point is a profession.",
                gbef_words.scatter(ppd, options)),
        Section("figures-11-12", "Figures 11 and 12: words that have a gender",
                "Here a value far from 0 is correct: mitigation should not change these.",
                _with_tables(gbef_words.before_and_after(ppd, CDS, GENDERED, facts, options),
                             gbef_trainings.word_tables(repeated["ppd"], CDS, options)), OTHER_ITEMS),
        Section("table-5", "Table 5: reminders", "Do reminders preserve the gender of words that have one?",
                _with_tables(gbef_words.reminder_finding(five),
                             gbef_trainings.reminder_tables(repeated["ppd"], options)),
                f"{OTHER_ITEMS} Every version has reminders of one word only."),
        Section("figure-13", "Figure 13: learning curve", "ASLD against the number of sentences trained on.",
                curve_finding(curve, sld.get(BASE), options),
                "Every sample of sentences is independent of the others; intervals are over samples."),
    ]  # fmt: skip
    return PaperConclusion(sections, [*examples, *three, *four, *five])


def _with_tables(finding: Finding, tables: Sequence[Table]) -> Finding:
    return replace(finding, tables=(*finding.tables, *tables))


def _model_name(version: str, options: GbefOptions) -> str:
    """The model of a row: the first one, or what became of it."""
    first = options.models[0]
    return first if version == BASE else f"{first}, {options.label(version)}"


def paired_changes(a: Result, b: Result, seed: int) -> list[Comparison]:
    """The change of ASLD from one audit to another on the same pairs, combined and by category."""
    measure, data, first = scored_rows(a)
    found = comparisons(find(measure), first, scored_rows(b)[2], data=data, rng_seed=seed)
    return [each for each in found if each.statistic == "asld" and each.group in CATEGORIES]


def _asld(result: Result, item: str, model: str, options: GbefOptions) -> list[PaperComparison]:
    """ASLD of every category beside the published one."""
    thesis = options.thesis_sentences and options.limit is None
    by_group = {each.group: each for each in result.estimates if each.statistic == "asld"}
    found = [(by_group[group], label) for group, label in CATEGORIES.items() if group in by_group]
    return [
        compare("gbef", item, replace(each, data="thesis sentences") if thesis else each, model, group=label)
        for each, label in found
    ]


def _asld_finding(asld: Sequence[PaperComparison], item: str) -> Finding:
    columns: Columns = {
        "model": "model",
        "category": lambda estimate: CATEGORIES[estimate.group],
        "ASLD": VALUE,
        "n": "n",
        "unscored": "unscored",
    }
    over = next((over for each in asld if (over := over_units(each.estimate))), " over pairs")
    tables = [comparison_table("ASLD", columns, asld, f"In nats, with intervals{over}.")] if asld else []
    if not asld or any(each.published is None for each in asld):
        printed = [cell for cell in paper_values("gbef") if cell.item == item]
        title = "As published, of the thesis' models on its own sentences"
        tables.append(published_table(title, {"model": "model", "category": "group"}, printed))
    bars = [charts.interval_row(CATEGORIES[each.estimate.group], each.estimate, each.estimate.model) for each in asld]
    alt = "Bars of ASLD by category and model, with intervals."
    plots = (Plot(item, "ASLD", alt, charts.bars(bars, axis="ASLD, nats")),) if bars else ()
    return Finding((), tuple(tables), plots)


def _change_table(title: str, changes: Mapping[tuple[str, str], Sequence[Comparison]], note: str) -> Table:
    """Paired changes by the two models compared, corrected together."""
    every = [(names, each) for names, found in changes.items() for each in found]
    corrected = apply_holm([each for _, each in every])
    rows = [
        (*names, CATEGORIES[each.group], each.a_value, each.b_value, each.difference, each.n, each.p_holm)
        for (names, _), each in zip(every, corrected, strict=True)
    ]
    columns = ("first", "second", "category", "of the first", "of the second", "change", "n", "p (Holm)")
    return Table(title, columns, tuple(rows), f"Second less first on the same pairs, t test. {note}")


def _model_finding(asld: Sequence[PaperComparison], by_model: Results, options: GbefOptions) -> Finding:
    """Table 3, the ranking of the models by combined ASLD, and paired tests between them."""
    finding = _asld_finding(asld, "table-3")
    finding = replace(finding, tables=(*finding.tables, *_about_women(by_model, options)))
    combined = [each.estimate for each in asld if each.estimate.group == "all"]
    if len(combined) < 2:
        return finding
    ranked = sorted(combined, key=lambda estimate: estimate.value)
    names = [estimate.model for estimate in ranked]
    pairs = {
        (a, b): [each for each in paired_changes(by_model[a], by_model[b], options.seed) if each.group == "all"]
        for a, b in combinations(names, 2)
    }
    table = _change_table("Paired differences of combined ASLD", pairs, "Holm's correction over this table.")
    distinct = sum(1 for row in table.rows if isinstance(row[-1], float) and row[-1] < 0.05)
    answer = (
        f"Lowest combined ASLD: {names[0]}; highest: {names[-1]}. {distinct} of {len(table.rows)} pairs of models "
        "differ (paired test, corrected)"
    )
    ranking = Table(
        "Ranking by combined ASLD",
        ("rank", "model", "ASLD"),
        tuple((rank, estimate.model, estimate) for rank, estimate in enumerate(ranked, 1)),
        "Rank 1 is the least biased.",
    )
    return replace(finding, answers=(answer,), tables=(*finding.tables, ranking, table))


def _about_women(by_model: Results, options: GbefOptions) -> list[Table]:
    """ASLD of the sexism pairs that are about women, if the data have others too."""
    rows: list[tuple[Cell, ...]] = []
    for model, result in by_model.items():
        scored = [row for row in scored_rows(result)[2] if row.scores]
        for group, label in CATEGORIES.items():
            sexism = [row for row in scored if "sexism" in label and group == f"category={row.groups.get('category')}"]
            women = np.array([abs(row.difference) for row in sexism if row.groups.get("direction") == "stereo"])
            if 0 < women.size < len(sexism):
                value = mean_interval(women, rng=generator(options.seed, f"about women {group}"))
                rows.append((model, label, value, women.size, len(sexism) - women.size))
    columns = ("model", "category", "ASLD", "pairs about women", "left out")
    note = "As in the thesis, sexism against women only; the pairs about men are left out."
    return [Table("ASLD of sexism about women", columns, tuple(rows), note)] if rows else []


def _version_finding(asld: Sequence[PaperComparison], sld: Results, options: GbefOptions) -> Finding:
    """Table 4, and the paired changes it is about."""
    finding = _asld_finding(asld, "table-4")
    changes = {
        (options.label(a), options.label(b)): paired_changes(sld[a], sld[b], options.seed)
        for a, b, _ in CLAIMS.values()
        if a in sld and b in sld
    }
    table = _change_table("Paired changes of ASLD", changes, "Holm's correction over this table.")
    return replace(finding, tables=(*finding.tables, table)) if changes else finding


def _claims(
    sld: Results, curve: Mapping[tuple[int, int], Result], options: GbefOptions
) -> tuple[list[ClaimTest], list[str]]:
    """The claims about ASLD as tests, and those that cannot be tested here."""
    tests, untested = [], []
    for claim, (a, b, expected) in CLAIMS.items():
        if a not in sld or b not in sld:
            no_file = b in LABELS and not options.toxic_text
            why = "no file of toxic comments (--toxic FILE)" if no_file else "its steps were not run"
            untested.append(f"{claim} Not tested: {why}.")
            continue
        where = f"{options.label(a)} → {options.label(b)}"
        tests += [
            ClaimTest(
                *(claim, f"{where}, {CATEGORIES[each.group]}", "change of ASLD, nats", each.difference, each.n),
                expected="above" if expected == "above" else "below",
                p=each.p,
                method=f"paired t test{over_units(each.difference) or ' over pairs'}",
            )
            for each in paired_changes(sld[a], sld[b], options.seed)
        ]
    by_size = combined_by_size(curve)
    if len(by_size) > 1:
        doublings = np.concatenate([np.full(draws.size, np.log2(size)) for size, draws in by_size.items()])
        line = fit_line(doublings, np.concatenate(list(by_size.values())))
        tests.append(
            ClaimTest(
                "Does more counterfactual text lower ASLD?",
                f"{min(by_size):,} to {max(by_size):,} sentences, combined",
                "change of ASLD by twice the text, nats",
                line.slope,
                line.n,
                expected="below",
                p=line.p,
                method="least squares over draws",
            )
        )
    return tests, untested
