"""The sections of `paraphrase`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.estimate import Estimate, Value
from unmask.diagnose import DiagnosisSettings
from unmask.diagnose.paraphrase import answer, tables
from unmask.diagnose.paraphrase.families import ALL, OWN, PER_TOKEN, Family, FamilyVerdicts
from unmask.diagnose.published import published_numbers
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.findings.envelope import Result
from unmask.studies.claims import claims_section
from unmask.studies.collect import compared_with_paper, paper_values
from unmask.studies.papers.paraphrase import FIGURE_1, TABLE_2, ParaphraseOptions
from unmask.studies.results.paraphrase_claims import agrees, bias_table, claim_tests, wording_claims
from unmask.studies.results.paraphrase_examples import (
    Families,
    Sentences,
    example_finding,
    most_opposed,
    papers_example,
    repeated_example,
    table_2_finding,
)
from unmask.studies.results.paraphrase_real_models import real_models_section, real_verdicts
from unmask.studies.spec import Outputs, PaperComparison, PaperConclusion
from unmask.studies.steps import diagnoses, scores

NOT_AUTHORS = "other data than the authors' 383 pairs"


@dataclass(frozen=True, slots=True)
class Wordings:
    """The differences of all wordings under all models, of the data and of the paper's examples."""

    every: Sequence[FamilyVerdicts]  # on all scales
    main: Sequence[FamilyVerdicts]  # per token, or on the measure's own scale
    sentences: Sentences
    examples: Sequence[FamilyVerdicts]
    example_sentences: Sentences
    notes: tuple[str, ...]
    settings: DiagnosisSettings

    @property
    def families(self) -> Families:
        """The families of the data by model."""
        return _by_label(self.main)

    @property
    def own_examples(self) -> tuple[Families, Sentences]:
        """The paper's examples by model, and their sentences."""
        return _by_label(self.examples), self.example_sentences


def replicate(outputs: Outputs, options: ParaphraseOptions) -> PaperConclusion:
    """The claims, tables and figures, with all models side by side."""
    scored = _wordings(outputs, options)
    overall, by_type = (_comparisons(scored.main, item) for item in ("figure-2", "figure-3"))
    repeated = [
        *repeated_example(scored.main, scored.sentences),
        *repeated_example(scored.examples, scored.example_sentences),
    ]
    published = scores.load_scores(outputs["scores",]) if ("scores",) in outputs else None
    real = real_verdicts(published, options.seed) if published else []
    tests = claim_tests(scored.main, scored.settings.band, options.seed)
    sections = [
        claims_section([*tests, *(test for each in real for test in wording_claims(each))]),
        Section(
            "figure-1",
            "Figure 1: an example",
            "One sentence of CrowS-Pairs in four wordings.",
            example_finding(FIGURE_1, *scored.own_examples),
            "The paper's figure adds a pronoun that the pair of the published file does not have.",
        ),
        *(_data_sections(scored, overall, by_type, options.seed) if scored.main else [_nothing_scored(scored)]),
        _example_section(scored, repeated),
        *([real_models_section(real)] if real else []),
    ]
    return PaperConclusion(sections, [*overall, *by_type, *repeated])


def _data_sections(
    scored: Wordings, overall: Sequence[PaperComparison], by_type: Sequence[PaperComparison], seed: int
) -> list[Section]:
    """Table 1 and Figures 2 to 4."""
    return [
        Section(
            "table-1",
            "Table 1: the pairs",
            "Pairs per bias type, originals and paraphrases together.",
            Finding((), _sizes(next(iter(scored.families.values())))),
            "The authors' paraphrases are not public: ours are of other originals, so the counts differ.",
        ),
        _agreement_section(scored, overall, seed),
        _type_section(scored, by_type),
        _size_section(scored),
    ]


def _nothing_scored(scored: Wordings) -> Section:
    return Section("figure-2", "Figure 2: originals in agreement", "", Finding((), (), (), scored.notes))


def _wordings(outputs: Outputs, options: ParaphraseOptions) -> Wordings:
    """What the steps scored."""
    results, examples = (_load(outputs, name) for name in ("diagnose", "examples"))
    every, of_examples = (
        [verdicts for result in loaded.values() for verdicts in _verdicts(result, options.seed)]
        for loaded in (results, examples)
    )
    main, shown = ([each for each in verdicts if each.scale in (PER_TOKEN, OWN)] for verdicts in (every, of_examples))
    notes = tuple(dict.fromkeys(note for result in results.values() for note in result.findings[0].finding.notes))
    settings = DiagnosisSettings(seed=options.seed, band=options.band)
    return Wordings(every, main, _sentences(results), shown, _sentences(examples), notes, settings)


def _agreement_section(scored: Wordings, overall: Sequence[PaperComparison], seed: int) -> Section:
    main = scored.main
    printed = compared_with_paper(overall, 1) or [_printed(ALL)]
    return Section(
        "figure-2",
        "Figure 2: originals in agreement",
        "For how many originals do all wordings have the same sign?",
        Finding(
            tuple(answer(verdicts, scored.settings) for verdicts in main),
            (tables.agreement_table(main), bias_table(main, seed), *printed),
            (_agreement_plot(scored.families),),
            scored.notes,
        ),
        "Reasons for differences: other paraphrases of other originals; chance agreement depends on how "
        "many paraphrases an original has.",
    )


def _type_section(scored: Wordings, by_type: Sequence[PaperComparison]) -> Section:
    types = tables.type_table(scored.main)
    return Section(
        "figure-3",
        "Figure 3: agreement by bias type",
        "The same for every bias type.",
        Finding(
            (),
            (*([types] if types.rows else []), *(compared_with_paper(by_type, 1) or [_printed("")])),
            tables.type_plots(scored.main),
            () if types.rows else ("The pairs have no bias types.",),
        ),
        "With few originals per type, read the intervals before any difference.",
    )


def _size_section(scored: Wordings) -> Section:
    main, settings = scored.main, scored.settings
    units = " or ".join(dict.fromkeys(verdicts.unit for verdicts in main))
    sizes = (tables.band_table(scored.every, settings), tables.size_table(main, settings), tables.opposed_table(main))
    return Section(
        "figure-4",
        "Figure 4: how large the differences are",
        f"The distribution of differences, and the share within ±{settings.band:g} {units}.",
        Finding((), tuple(table for table in sizes if table.rows), (tables.histogram_plot(main, settings),)),
    )


def _example_section(scored: Wordings, repeated: Sequence[PaperComparison]) -> Section:
    families, sentences = scored.families, scored.sentences
    shown = papers_example((families, sentences), scored.own_examples)
    return Section(
        "table-2",
        "Table 2: one example in several wordings",
        "The difference of one original and its paraphrases under every model.",
        table_2_finding(shown, most_opposed(families, sentences), repeated),
        f"The paper's example is {TABLE_2} with one word exchanged: it is scored if CrowS-Pairs is on this "
        "machine, or if --data is a file with its wordings.",
    )


def _load(outputs: Outputs, name: str) -> dict[str, Result]:
    """The results of the steps of one role that scored anything, by model."""
    loaded = {
        role[1]: diagnoses.load_diagnosis(path, "paraphrase") for role, path in outputs.items() if role[0] == name
    }
    return {model: result for model, result in loaded.items() if result is not None}


def _sentences(results: Mapping[str, Result]) -> Sentences:
    found: dict[str, Sequence[Sequence[str]]] = {}
    for result in results.values():
        found |= result.meta["details"].get("paraphrase", {}).get("sentences", {})
    return found


def _by_label(main: Sequence[FamilyVerdicts]) -> Families:
    """Families by model; with the measure if there are several."""
    several = len({verdicts.measure for verdicts in main}) > 1
    return {
        f"{verdicts.model}, {verdicts.measure}" if several else verdicts.model: verdicts.families for verdicts in main
    }


def _verdicts(result: Result, seed: int) -> list[FamilyVerdicts]:
    """The families of every measure and scale that a step observed."""
    data = str(result.meta["data"][0]["name"]) if result.meta["data"] else ""
    verdicts = []
    for each in result.meta["details"].get("paraphrase", {}).get("differences", ()):
        families = tuple(
            Family(of["original"], of["category"], np.array(of["differences"]), tuple(of["numbers"]))
            for of in each["families"]
        )
        if families:
            verdicts.append(FamilyVerdicts(each["model"], data, each["measure"], each["scale"], families, seed))
    return verdicts


def _comparisons(main: Sequence[FamilyVerdicts], item: str) -> list[PaperComparison]:
    """The agreement over all originals (Figure 2), or by bias type (Figure 3), beside the published one."""
    return [
        PaperComparison(
            item,
            Estimate.of(
                agreement.share,
                measure=f"paraphrase/{verdicts.measure}",
                data=verdicts.data,
                group=name if name == ALL else f"category={name}",
                statistic="agreement",
                n=agreement.families,
                p=agreement.p,
                model=verdicts.model,
            ),
            published,
            "" if published is not None else NOT_AUTHORS,
        )
        for verdicts in main
        for name, agreement in verdicts.signs.items()
        if (name == ALL) == (item == "figure-2")
        for published in (tables.published_agreement(verdicts, name),)
    ]


def _printed(group: str) -> Table:
    """The agreement that the paper prints: of all originals, or (empty) of bias types."""
    rows: list[tuple[Cell, ...]] = [
        (each.model, each.group, each.value)
        for each in published_numbers()
        if each.diagnosis == "paraphrase" and (each.group == ALL) == (group == ALL)
    ]
    note = "On the authors' own 383 pairs, which are not public: no number of ours is compared with these."
    return Table("As published, on other data", ("model", "bias type", "agree %"), tuple(rows), note, digits=0)


def _sizes(families: Sequence[Family]) -> tuple[Table, Table]:
    pairs, originals = Counter[str](), Counter[str]()
    for family in families:
        pairs[family.category] += family.differences.size
        originals[family.category] += 1
    ours: list[tuple[Cell, ...]] = [(name or "none", originals[name], pairs[name]) for name in pairs]
    ours.append(("all", sum(originals.values()), sum(pairs.values())))
    note = "Pairs: originals and paraphrases as scored by the first model. Counts have no interval."
    published = {cell.group: int(cell.value) for cell in paper_values("paraphrase") if cell.item == "table-1"}
    theirs: list[tuple[Cell, ...]] = [*published.items(), ("all", sum(published.values()))]
    return (
        Table("Pairs by bias type", ("bias type", "originals", "pairs"), tuple(ours), note),
        Table("As published, of 100 originals of CrowS-Pairs", ("bias type", "pairs"), tuple(theirs)),
    )


def _agreement_plot(families: Families) -> Plot:
    """Figure 2: originals whose wordings agree in sign and those whose wordings do not, by model."""
    rows = []
    for label, group in families.items():
        agree = sum(map(agrees, group))
        for series, count in (("agree", agree), ("do not agree", len(group) - agree)):
            rows.append(charts.interval_row(label, Value(count, count, count), series))
    alt = "Number of originals whose wordings all agree in sign, and of those whose do not, by model."
    return Plot("figure-2", "Originals in agreement", alt, charts.bars(rows, axis="originals"))
