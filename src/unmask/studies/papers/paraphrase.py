"""`paraphrase`: PLL measures under paraphrasing (Kwon & Mihindukulasooriya 2022), Tables 1–2, Figures 2–4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from unmask import data as datasets
from unmask.core.types import Dataset
from unmask.diagnose import DiagnosisSettings
from unmask.diagnose.paraphrase import conclude as conclude_diagnosis
from unmask.diagnose.paraphrase.families import OWN, PER_TOKEN, Family
from unmask.findings import Cell, Finding, Plot, Section, Table, charts
from unmask.studies.collect import add_difference_column, paper_values
from unmask.studies.spec import Outputs, Step, Study, StudyOptions
from unmask.studies.steps import paraphrases

MEASURES = ("cps-exact",)
EXAMPLES = 1


def plan(options: StudyOptions) -> list[Step]:
    """One step per model that scores every original and paraphrase."""
    return [
        Step(
            f"wordings of {options.data[0]} under {model}",
            "unmask.studies.steps.paraphrases:WORDED",
            {
                "measures": list(options.settings["measures"]),
                "limit": options.limit,
                "seed": options.seed,
                "dtype": options.dtype,
            },
            models=(model,),
            data=(options.data[0],),
        )
        for model in options.models
    ]


def conclude(outputs: Outputs, options: StudyOptions) -> list[Section]:
    """The tables and figures, with all models side by side."""
    folders = {step.models[0]: folder for step in plan(options) if (folder := outputs.get(step.name))}
    if not folders:
        return []
    settings = DiagnosisSettings(seed=options.seed, band=options.settings["band"])
    data = _dataset_card(options.data[0])
    finding = conclude_diagnosis(
        [paraphrases.load_observation(folder, model, data) for model, folder in folders.items()], settings
    )
    by_title = {table.title: table for table in finding.tables}
    agreement, types, *rest = (
        add_difference_column(table, "agree %", "published") if "published" in table.columns else table
        for table in by_title.values()
    )
    plots = {plot.id: plot for plot in finding.plots}
    families = {model: _families(folder) for model, folder in folders.items()}
    return [
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
            Finding(finding.answers, (agreement,), (_agreement_plot(families),), finding.notes),
            "Reasons for differences: other paraphrases of other originals; chance agreement depends on how "
            "many paraphrases an original has.",
        ),
        Section(
            "figure-3",
            "Figure 3: agreement by bias type",
            "The same for every bias type.",
            Finding((), (types,), tuple(plot for id, plot in plots.items() if "types" in id)),
            "With few originals per type, read the intervals before any difference.",
        ),
        Section(
            "figure-4",
            "Figure 4: how large the differences are",
            f"The distribution of differences, and the share within ±{settings.band:g}.",
            Finding((), tuple(rest), tuple(plot for id, plot in plots.items() if "types" not in id)),
        ),
        Section(
            "table-2",
            "Table 2: one example in several wordings",
            "The difference of one original and its paraphrases under every model.",
            _example(families, folders),
            "The paper's paraphrases are not public: its example cannot be repeated. Its numbers are last.",
        ),
    ]


def _dataset_card(name: str) -> Dataset:
    """The dataset without its items, for the tables."""
    return replace(datasets.load(name), items=())


def _families(folder: Path) -> tuple[Family, ...]:
    """The families under the first measure, on the paper's scale."""
    result, _ = paraphrases.load_wordings(folder)
    scales = next(iter(result.measures.values()))
    return scales.get(PER_TOKEN) or scales.get(OWN) or ()


def _sizes(families: Sequence[Family]) -> Table:
    pairs, originals = Counter[str](), Counter[str]()
    for family in families:
        pairs[family.category] += family.differences.size
        originals[family.category] += 1
    published = {cell.group: int(cell.value) for cell in paper_values("paraphrase") if cell.item == "table-1"}
    rows: list[tuple[Cell, ...]] = [
        (name, originals[name], pairs[name], published.get(name))
        for name in dict.fromkeys([*published, *pairs])
    ]
    rows.append(("all", sum(originals.values()), sum(pairs.values()), sum(published.values())))
    return Table(
        "Pairs by bias type",
        ("bias type", "originals", "pairs", "published pairs"),
        tuple(rows),
        "Pairs: originals and paraphrases as scored by the first model. Counts have no interval.",
    )


def _agreement_plot(families: Mapping[str, Sequence[Family]]) -> Plot:
    """Figure 2: originals whose wordings agree in sign and those whose wordings do not, by model."""
    rows = []
    for model, group in families.items():
        agree = sum(len(set(family.outcomes(0.0).tolist())) == 1 for family in group)
        rows += [
            {"label": model, "series": series, "value": count, "low": count, "high": count}
            for series, count in (("agree", agree), ("do not agree", len(group) - agree))
        ]
    alt = "Number of originals whose wordings all agree in sign, and of those whose do not, by model."
    return Plot("figure-2", "Originals in agreement", alt, charts.bars(rows, axis="originals"))


def _example(families: Mapping[str, Sequence[Family]], folders: Mapping[str, Path]) -> Finding:
    """The original on which most models contradict themselves, and the paper's example."""
    contradictions: Counter[str] = Counter()
    common: set[str] = set.intersection(
        *({family.original for family in group} for group in families.values())
    )
    for group in families.values():
        contradictions.update(
            family.original for family in group if family.original in common and _contradicts(family)
        )
    tables = [_wordings(name, families, folders) for name, _ in contradictions.most_common(EXAMPLES)]
    answers = [
        f"{name}: for {count} of {len(families)} models the sign depends on the wording"
        for name, count in contradictions.most_common(EXAMPLES)
    ]
    return Finding(tuple(answers), (*tables, _published_example()))


def _contradicts(family: Family) -> bool:
    return {-1, 1} <= set(family.outcomes(0.0).tolist())


def _wordings(name: str, families: Mapping[str, Sequence[Family]], folders: Mapping[str, Path]) -> Table:
    texts = paraphrases.load_wordings(next(iter(folders.values())))[1][name]
    by_model = {
        model: next(family.differences for family in group if family.original == name)
        for model, group in families.items()
    }
    rows: list[tuple[Cell, ...]] = [
        ("original" if number == 0 else f"paraphrase {number}", *pair, *row)
        for number, pair in enumerate(texts)
        if (row := [float(values[number]) for values in by_model.values() if number < values.size])
        and len(row) == len(by_model)
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
    rows: list[tuple[Cell, ...]] = [
        (model, *(values[word] for word in words)) for model, values in by_model.items()
    ]
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
