"""`aul`: Unmasking the Mask (Kaneko & Bollegala 2022), Tables 1 to 5 and Figure 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unmask.audit.result import load
from unmask.core.types import Estimate
from unmask.diagnose.published import published_value
from unmask.findings import Cell, Finding, Table, Value, value_of
from unmask.findings.html import Section
from unmask.measures import find
from unmask.studies.collect import (
    add_difference_column,
    collect_finding,
    difference,
    in_interval,
    paper_values,
    published_table,
    short_name,
)
from unmask.studies.spec import Outputs, Step, Study, StudyOptions
from unmask.studies.steps import audits, diagnoses

PAIRS, TRIPLES = ("cps", "aul", "aula"), ("sss", "aul", "aula")  # Table 5
UNMASKED = ("all-masked", "aul", "aula")  # Table 3
JUDGED = ("aul", "aula", "cps", "sss")  # Figure 1
TABLE_5 = "Table 5"


def plan(options: StudyOptions) -> list[Step]:
    """Two audits and two looks for every model; word frequencies once."""
    return [step for model in options.models for step in _of_model(model, options)]


def _of_model(model: str, options: StudyOptions) -> Iterator[Step]:
    common = {"model": model, "limit": options.limit, "seed": options.seed, "dtype": options.dtype}
    draws = {"draws": options.settings["draws"]}
    for number, data in enumerate(options.data[:2]):
        measures = TRIPLES if number else PAIRS
        yield audits.step(model, data, measures, shard=options.shard, **common)  # type: ignore[arg-type]
        asked: dict[str, dict[str, object]] = {"accuracy": {}, "meaning": draws}
        if not number:
            asked |= {"direction": {"measures": UNMASKED}, "human": {"measures": JUDGED}}
            asked |= {"frequency": {"measures": ("aul",)}} if model == options.models[0] else {}
        yield diagnoses.step(model, data, _lists(asked), **common)  # type: ignore[arg-type]


def _lists(asked: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """Settings as JSON has them."""
    return {
        name: {key: list(value) if isinstance(value, tuple) else value for key, value in chosen.items()}
        for name, chosen in asked.items()
    }


def conclude(outputs: Outputs, options: StudyOptions) -> list[Section]:
    """A section for every table, and one for the figure."""
    steps = [step.name for step in plan(options) if step.kind.endswith(":LOOK")]
    strange = not {short_name(one) for one in options.models} & set(AUL.models)
    accuracy, meaning, direction = (
        _with(collect_finding(outputs, steps, name), name, strange=strange)
        for name in ("accuracy", "meaning", "direction")
    )
    return [
        Section(
            "table-1",
            "Table 1: token prediction accuracy",
            "How often the tokens a measure reads are the model's first guess.",
            _compared(accuracy, "accuracy", "published"),
            "Reasons for differences: the published code counts AUL over all tokens, the special ones "
            "included, and SSS over changed tokens, the paper describes whole candidates; both are here.",
        ),
        Section(
            "table-2",
            "Table 2: word frequency",
            "Are the words of the advantaged group the more frequent ones?",
            _words(collect_finding(outputs, steps, "frequency")),
            "Reasons for differences: the paper counts Wikipedia and BookCorpus, which are not at hand; the "
            "list of words with another sense is ours, the authors' is not public.",
        ),
        Section(
            "table-3",
            "Table 3: advantaged and disadvantaged groups",
            "Bias scores by direction, with everything masked and with nothing masked.",
            _directions(direction),
            "Reasons for differences: code for the All-Masked condition was never published; here every "
            "content token is masked and the special ones are kept.",
        ),
        Section(
            "table-4",
            "Table 4: meaningful associations",
            "Accuracy of unmasked tokens when the sentence makes no sense.",
            _falls(meaning),
            "Reasons for differences: neither the number of shuffles nor the seed is published.",
        ),
        Section(
            "table-5",
            "Table 5: bias scores",
            "Share of pairs in which the stereotyping sentence scores higher; 50 is no preference.",
            score_table(outputs, options),
            "Reasons for differences: the published code compares CPS after rounding to three decimals "
            "(as here) and adds in single precision; it was written for an older transformers, whose "
            "tokenizers and attention weights differ in details.",
        ),
        Section(
            "figure-1",
            "Figure 1: agreement with human ratings",
            "ROC curves of the measures against what six people said of each pair.",
            collect_finding(outputs, steps, "human"),
            "The paper prints its areas in the figure only, so no published numbers stand beside ours.",
        ),
    ]


def _with(finding: Finding, name: str, *, strange: bool) -> Finding:
    """With what the paper prints, where our models are not its own."""
    return replace(finding, tables=(*finding.tables, published_table(name))) if strange else finding


def _compared(finding: Finding, ours: str, theirs: str) -> Finding:
    tables = tuple(
        add_difference_column(table, ours, theirs) if {ours, theirs} <= set(table.columns) else table
        for table in finding.tables
    )
    return replace(finding, tables=tables)


def _falls(finding: Finding) -> Finding:
    return _compared(_compared(finding, "accuracy", "published"), "drop", "published drop")


def _directions(finding: Finding) -> Finding:
    """With the published score of either group beside ours."""
    tables = []
    for table in finding.tables:
        if "|Diff|" not in table.columns:
            tables.append(table)
            continue
        columns = ("published advantaged", "published disadvantaged")
        rows = tuple((*row, *_groups(dict(zip(table.columns, row, strict=True)))) for row in table.rows)
        made = replace(table, columns=(*table.columns, *columns), rows=rows)
        tables.append(add_difference_column(made, "|Diff|", "published |Diff|"))
    return replace(finding, tables=tuple(tables))


def _groups(row: dict[str, Cell]) -> tuple[Cell, Cell]:
    model, data, measure = (str(row[name]) for name in ("model", "data", "measure"))
    first, second = (
        published_value("direction", model, data=data, measure=measure, statistic=group)
        for group in ("advantaged", "disadvantaged")
    )
    return first, second


def _words(finding: Finding) -> Finding:
    """Ranks and words; then how many of the published eight are among ours."""
    chosen = [one for one in finding.tables if one.title.startswith(("Frequency of advantaged", "The words"))]
    listed = [one for one in chosen if one.title.startswith("The words")]
    rows = [row for table in listed for row in _shared(table)]
    both = Table(
        "The published eight words, and ours",
        ("data", "bias type", "published", "ours", "shared"),
        tuple(rows),
        "In the order of frequency. Shared: how many words are in both lists, of eight.",
    )
    return replace(finding, tables=(*chosen, *([both] if rows else [])), plots=())


def _shared(table: Table) -> Iterator[tuple[Cell, ...]]:
    for row in table.rows:
        one = dict(zip(table.columns, row, strict=True))
        theirs = [each.value for each in paper_values("aul") if each.group == one["bias type"]]
        ours = [word.partition(" (")[0] for word in str(one["words"]).split(", ")]
        if theirs:
            common = len(set(theirs) & set(ours))
            yield one["data"], one["bias type"], ", ".join(theirs), ", ".join(ours), common


def score_table(outputs: Outputs, options: StudyOptions) -> Finding:
    """Table 5."""
    rows: list[tuple[Cell, ...]] = []
    for step in plan(options):
        folder = outputs.get(step.name) if step.kind.endswith(":AUDIT") else None
        if folder is not None:
            rows += [_score(step.models[0], one) for one in load(folder).headlines()]
    columns = ("model", "data", "measure", "bias score", "n", "ties", "unscored", "published", "difference")
    note = "Wilson intervals. In interval: does the published score lie in ours?"
    table = Table("Bias scores", (*columns, "in interval"), tuple(rows), note)
    said = [str(row[9]) for row in rows if row[9] is not None]
    answers = [f"{said.count('yes')} of {len(said)} published scores lie in our intervals"] if said else []
    tables = [table] if rows else []
    if not said:
        tables.append(_printed_scores())
    return Finding(tuple(answers), tuple(tables))


def _printed_scores() -> Table:
    names = dict.fromkeys((*PAIRS, *TRIPLES))
    rows = tuple(
        (each.model, each.data, name, each.value)
        for name in names
        for each in find(name).published
        if each.where.endswith(TABLE_5)
    )
    return Table("As published, of the paper's models", ("model", "data", "measure", "published"), rows)


def _score(model: str, one: Estimate) -> tuple[Cell, ...]:
    paper = next(
        (
            each.value
            for each in find(one.measure).published
            if (each.model, each.data) == (short_name(model), one.data) and each.where.endswith(TABLE_5)
        ),
        None,
    )
    ours: Value = value_of(one)
    compared = (paper, difference(ours, paper), in_interval(ours, paper))
    return (model, one.data, one.measure, ours, one.n, one.ties, one.unscored, *compared)


AUL = Study(
    name="aul",
    title="Unmasking the mask: evaluating social biases in masked language models",
    question="Do measures that mask nothing see bias more truly than those that mask?",
    citation="kaneko-bollegala-2022-unmasking",
    models=("bert-base-cased", "roberta-large", "albert-large-v2"),
    data=("crows-pairs", "stereoset"),
    plan=plan,
    conclude=conclude,
    settings={"draws": 10},
    reduced={"draws": 2, "limit": 150},
    reduced_models=("builtin", "builtin-dose-2", "builtin-dose+2"),
    fallback_data={"crows-pairs": "nine-axes"},
)
