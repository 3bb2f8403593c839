"""`paraphrase`: PLL measures under paraphrasing (Kwon & Mihindukulasooriya 2022), Tables 1–2, Figures 2–4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from unmask.core.estimate import Estimate, Value
from unmask.diagnose import DiagnosisSettings
from unmask.diagnose.paraphrase import answer, tables
from unmask.diagnose.paraphrase.families import ALL, OWN, PER_TOKEN, Family, FamilyVerdicts
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.findings.envelope import Result
from unmask.studies.collect import compared_with_paper, paper_values
from unmask.studies.spec import Conclusion, Outputs, PaperComparison, Role, Step, Study, StudyOptions
from unmask.studies.steps import diagnoses

MEASURES = ("cps-exact",)
EXAMPLES = 1
Families = Mapping[str, Sequence[Family]]  # by model


def plan(options: StudyOptions) -> dict[Role, Step]:
    """One step per model that scores every original and paraphrase."""
    data, settings = options.data[0], {"paraphrase": {"measures": options.settings["measures"]}}
    steps: dict[Role, Step] = {}
    for model in options.models:
        step = diagnoses.step(model, data, settings, model=model, **options.scoring)
        steps["diagnose", model] = replace(step, name=f"wordings of {data} under {model}")
    return steps


def conclude(outputs: Outputs, options: StudyOptions) -> Conclusion:
    """The tables and figures, with all models side by side."""
    settings = DiagnosisSettings(seed=options.seed, band=options.settings["band"])
    loaded = {role[1]: diagnoses.load_diagnosis(folder, "paraphrase") for role, folder in outputs.items()}
    results = {model: result for model, result in loaded.items() if result is not None}
    every = [verdicts for result in results.values() for verdicts in _verdicts(result, options.seed)]
    main = [verdicts for verdicts in every if verdicts.scale in (PER_TOKEN, OWN)]
    notes = dict.fromkeys(note for result in results.values() for note in result.findings[0].finding.notes)
    if not main:
        nothing = Finding((), (), (), tuple(notes))
        return Conclusion([Section("figure-2", "Figure 2: originals in agreement", "", nothing)])
    families: dict[str, Sequence[Family]] = {}
    for verdicts in main:  # under the first measure, on the paper's scale
        families.setdefault(verdicts.model, verdicts.families)
    sizes = (tables.band_table(every, settings), tables.size_table(main, settings), tables.opposed_table(main))
    overall, by_type = _comparisons(main, "figure-2"), _comparisons(main, "figure-3")
    sections = [
        Section(
            "table-1",
            "Table 1: the pairs",
            "Pairs per bias type, originals and paraphrases together.",
            Finding((), (_sizes(next(iter(families.values()))),)),
            "The authors' paraphrases are not public: ours are of other originals, so the counts differ.",
        ),
        Section(
            "figure-2",
            "Figure 2: originals in agreement",
            "For how many originals do all wordings have the same sign?",
            Finding(
                tuple(answer(verdicts, settings) for verdicts in main),
                (tables.agreement_table(main), *compared_with_paper(overall, 1)),
                (_agreement_plot(families),),
                tuple(notes),
            ),
            "Reasons for differences: other paraphrases of other originals; chance agreement depends on how "
            "many paraphrases an original has.",
        ),
        Section(
            "figure-3",
            "Figure 3: agreement by bias type",
            "The same for every bias type.",
            Finding((), (tables.type_table(main), *compared_with_paper(by_type, 1)), tables.type_plots(main)),
            "With few originals per type, read the intervals before any difference.",
        ),
        Section(
            "figure-4",
            "Figure 4: how large the differences are",
            f"The distribution of differences, and the share within ±{settings.band:g}.",
            Finding((), tuple(table for table in sizes if table.rows), (tables.histogram_plot(main, settings),)),
        ),
        Section(
            "table-2",
            "Table 2: one example in several wordings",
            "The difference of one original and its paraphrases under every model.",
            _example(families, next(iter(results.values())).meta["details"]["paraphrase"]["sentences"]),
            "The paper's paraphrases are not public: its example cannot be repeated. Its numbers are last.",
        ),
    ]
    return Conclusion(sections, [*overall, *by_type])


def _verdicts(result: Result, seed: int) -> list[FamilyVerdicts]:
    """The families of every measure and scale that a step observed."""
    data = str(result.meta["data"][0]["name"]) if result.meta["data"] else ""
    verdicts = []
    for each in result.meta["details"].get("paraphrase", {}).get("differences", ()):
        families = tuple(Family(of["original"], of["category"], np.array(of["differences"])) for of in each["families"])
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
            tables.published_agreement(verdicts, name),
        )
        for verdicts in main
        for name, agreement in verdicts.signs.items()
        if (name == ALL) == (item == "figure-2")
    ]


def _sizes(families: Sequence[Family]) -> Table:
    pairs, originals = Counter[str](), Counter[str]()
    for family in families:
        pairs[family.category] += family.differences.size
        originals[family.category] += 1
    published = {cell.group: int(cell.value) for cell in paper_values("paraphrase") if cell.item == "table-1"}
    rows: list[tuple[Cell, ...]] = [
        (name, originals[name], pairs[name], published.get(name)) for name in dict.fromkeys([*published, *pairs])
    ]
    rows.append(("all", sum(originals.values()), sum(pairs.values()), sum(published.values())))
    return Table(
        "Pairs by bias type",
        ("bias type", "originals", "pairs", "published pairs"),
        tuple(rows),
        "Pairs: originals and paraphrases as scored by the first model. Counts have no interval.",
    )


def _agreement_plot(families: Families) -> Plot:
    """Figure 2: originals whose wordings agree in sign and those whose wordings do not, by model."""
    rows = []
    for model, group in families.items():
        agree = sum(len(set(family.outcomes(0.0).tolist())) == 1 for family in group)
        for series, count in (("agree", agree), ("do not agree", len(group) - agree)):
            rows.append(charts.interval_row(model, Value(count, count, count), series))
    alt = "Number of originals whose wordings all agree in sign, and of those whose do not, by model."
    return Plot("figure-2", "Originals in agreement", alt, charts.bars(rows, axis="originals"))


def _example(families: Families, sentences: Mapping[str, Sequence[Sequence[str]]]) -> Finding:
    """The original on which most models contradict themselves, and the paper's example."""
    common = set.intersection(*({family.original for family in group} for group in families.values()))
    contradictions = Counter(
        family.original
        for group in families.values()
        for family in group
        if family.original in common and {-1, 1} <= set(family.outcomes(0.0).tolist())
    )
    examples = contradictions.most_common(EXAMPLES)
    wordings = [_wordings(name, families, sentences[name]) for name, _ in examples]
    answers = [
        f"{name}: for {count} of {len(families)} models the sign depends on the wording" for name, count in examples
    ]
    return Finding(tuple(answers), (*wordings, _published_example()))


def _wordings(name: str, families: Families, sentences: Sequence[Sequence[str]]) -> Table:
    by_model = {
        model: next(family.differences for family in group if family.original == name)
        for model, group in families.items()
    }
    rows: list[tuple[Cell, ...]] = [
        (
            "original" if number == 0 else f"paraphrase {number}",
            *pair,
            *(float(values[number]) for values in by_model.values()),
        )
        for number, pair in enumerate(sentences)
        if all(number < values.size for values in by_model.values())
    ]
    return Table(
        f"The wordings of {name}",
        ("wording", "stereotyping sentence", "other sentence", *by_model),
        tuple(rows),
        "Differences in nats per token; a single pair has no interval.",
        digits=4,
    )


def _published_example() -> Table:
    cells = [cell for cell in paper_values("paraphrase") if cell.item == "table-2"]
    words = list(dict.fromkeys(cell.group for cell in cells))
    by_model: dict[str, dict[str, float]] = {}
    for cell in cells:
        by_model.setdefault(cell.model, {})[cell.group] = float(cell.value)
    rows: list[tuple[Cell, ...]] = [(model, *(values[word] for word in words)) for model, values in by_model.items()]
    return Table(
        "The paper's Table 2, as published",
        ("model", *words),
        tuple(rows),
        "One sentence about a Black or white man. RoBERTa's row repeats BERT's except for one digit.",
        digits=4,
    )


PARAPHRASE = Study(
    name="paraphrase",
    title="Pseudo-log-likelihood measures in other words",
    question="Does a model's preference on a pair survive paraphrasing?",
    citation="kwon-mihindukulasooriya-2022-empirical",
    models=(
        *("bert-base-uncased", "roberta-large", "albert-xxlarge-v2"),
        *("distilbert-base-uncased", "microsoft/mpnet-base"),
    ),
    data=("paraphrases",),
    plan=plan,
    conclude=conclude,
    settings={"measures": MEASURES, "band": 0.25},
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
)
