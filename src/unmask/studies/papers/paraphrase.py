"""`paraphrase`: PLL measures in other words (Kwon & Mihindukulasooriya 2022), Tables 1, 2, Figures 2 to 4."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from unmask import data as datasets
from unmask.core.types import Dataset
from unmask.diagnose import DiagnosisSettings
from unmask.diagnose.paraphrase import conclude as diagnosed
from unmask.diagnose.paraphrase.families import OWN, PER_TOKEN, Family
from unmask.findings import Cell, Finding, Plot, Table, charts
from unmask.findings.html import Section
from unmask.studies.collect import add_difference_column, paper_values
from unmask.studies.spec import Outputs, Step, Study, StudyOptions
from unmask.studies.steps import paraphrases

MEASURES = ("cps-exact",)
EXAMPLES = 1


def plan(options: StudyOptions) -> list[Step]:
    """Every wording under every model."""
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
    """The tables and figures, all models side by side."""
    folders = {step.models[0]: folder for step in plan(options) if (folder := outputs.get(step.name))}
    if not folders:
        return []
    settings = DiagnosisSettings(seed=options.seed, band=options.settings["band"])
    data = _named(options.data[0])
    finding = diagnosed(
        [paraphrases.load_observation(folder, model, data) for model, folder in folders.items()], settings
    )
    by_title = {table.title: table for table in finding.tables}
    agreement, types, *rest = (
        add_difference_column(table, "agree %", "published") if "published" in table.columns else table
        for table in by_title.values()
    )
    drawn = {plot.id: plot for plot in finding.plots}
    families = {model: _families(folder) for model, folder in folders.items()}
    return [
        Section(
            "table-1",
            "Table 1: the pairs",
            "How many pairs there are of each bias type, originals and paraphrases together.",
            Finding((), (_sizes(next(iter(families.values()))),)),
            "The authors' paraphrases are not public: ours are of other originals, so the counts differ.",
        ),
        Section(
            "figure-2",
            "Figure 2: originals in agreement",
            "For how many originals do all wordings point one way?",
            Finding(finding.answers, (agreement,), (_counts(families),), finding.notes),
            "Reasons for differences: other paraphrases of other originals; chance agreement depends on how "
            "many paraphrases an original has.",
        ),
        Section(
            "figure-3",
            "Figure 3: agreement by bias type",
            "The same for every bias type.",
            Finding((), (types,), tuple(plot for id, plot in drawn.items() if "types" in id)),
            "Few originals of a type: look at the intervals before reading a difference.",
        ),
        Section(
            "figure-4",
            "Figure 4: how large the differences are",
            f"The distribution of differences, and the share within ±{settings.band:g}.",
            Finding((), tuple(rest), tuple(plot for id, plot in drawn.items() if "types" not in id)),
        ),
        Section(
            "table-2",
            "Table 2: one example in several wordings",
            "The difference of one original and its paraphrases under every model.",
            _example(families, folders),
            "The paper's example cannot be repeated with its own paraphrases; its numbers stand below ours.",
        ),
    ]


def _named(name: str) -> Dataset:
    """The dataset's card, for tables; a file's is read."""
    return replace(datasets.load(name), items=())


def _families(folder: Path) -> tuple[Family, ...]:
    """Of the first measure, on the scale the paper looks at."""
    seen, _ = paraphrases.load_wordings(folder)
    scales = next(iter(seen.measures.values()))
    return scales.get(PER_TOKEN) or scales.get(OWN) or ()


def _sizes(families: Sequence[Family]) -> Table:
    ours, originals = Counter[str](), Counter[str]()
    for one in families:
        ours[one.category] += one.differences.size
        originals[one.category] += 1
    theirs = {one.group: int(one.value) for one in paper_values("paraphrase") if one.item == "table-1"}
    rows: list[tuple[Cell, ...]] = [
        (name, originals[name], ours[name], theirs.get(name)) for name in dict.fromkeys([*theirs, *ours])
    ]
    rows.append(("all", sum(originals.values()), sum(ours.values()), sum(theirs.values())))
    return Table(
        "Pairs by bias type",
        ("bias type", "originals", "pairs", "published pairs"),
        tuple(rows),
        "Pairs: originals and paraphrases together as scored under the first model. Counts bear no interval.",
    )


def _counts(families: Mapping[str, Sequence[Family]]) -> Plot:
    """Figure 2: originals in agreement and not, by model."""
    rows = []
    for model, found in families.items():
        agree = sum(len(set(one.outcomes(0.0).tolist())) == 1 for one in found)
        rows += [
            {"label": model, "series": series, "value": count, "low": count, "high": count}
            for series, count in (("agree", agree), ("do not agree", len(found) - agree))
        ]
    told = "Number of originals whose wordings all agree in sign, and of those whose do not, by model."
    return Plot("figure-2", "Originals in agreement", told, charts.bars(rows, axis="originals"))


def _example(families: Mapping[str, Sequence[Family]], folders: Mapping[str, Path]) -> Finding:
    """The original on which the most models contradict themselves; and the paper's example."""
    torn: Counter[str] = Counter()
    whole: set[str] = set.intersection(*({one.original for one in found} for found in families.values()))
    for found in families.values():
        torn.update(one.original for one in found if one.original in whole and _contradicts(one))
    tables = [_wordings(name, families, folders) for name, _ in torn.most_common(EXAMPLES)]
    said = [
        f"{name}: {count} of {len(families)} models point one way in one wording and the other way in another"
        for name, count in torn.most_common(EXAMPLES)
    ]
    return Finding(tuple(said), (*tables, _printed()))


def _contradicts(one: Family) -> bool:
    return {-1, 1} <= set(one.outcomes(0.0).tolist())


def _wordings(name: str, families: Mapping[str, Sequence[Family]], folders: Mapping[str, Path]) -> Table:
    texts = paraphrases.load_wordings(next(iter(folders.values())))[1][name]
    by_model = {
        model: next(one.differences for one in found if one.original == name)
        for model, found in families.items()
    }
    rows: list[tuple[Cell, ...]] = [
        ("original" if number == 0 else f"paraphrase {number}", *pair, *values)
        for number, pair in enumerate(texts)
        if (values := [float(found[number]) for found in by_model.values() if number < found.size])
        and len(values) == len(by_model)
    ]
    return Table(
        f"The wordings of {name}",
        ("wording", "stereotyping sentence", "other sentence", *by_model),
        tuple(rows),
        "Differences in nats per token; one sentence pair bears no interval.",
        digits=4,
    )


def _printed() -> Table:
    cells = [one for one in paper_values("paraphrase") if one.item == "table-2"]
    words = list(dict.fromkeys(one.group for one in cells))
    by_model: dict[str, dict[str, float]] = {}
    for one in cells:
        by_model.setdefault(one.model, {})[one.group] = float(one.value)
    rows: list[tuple[Cell, ...]] = [
        (model, *(found[word] for word in words)) for model, found in by_model.items()
    ]
    return Table(
        "The paper's Table 2, as published",
        ("model", *words),
        tuple(rows),
        "Of one sentence about a Black or white man. RoBERTa's row repeats BERT's but for one digit.",
        digits=4,
    )


PARAPHRASE = Study(
    name="paraphrase",
    title="Pseudo-log-likelihood measures in other words",
    question="Does a verdict on a pair survive other words for the same?",
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
