"""`aul`: Unmasking the Mask (Kaneko & Bollegala 2022), Tables 1 to 5 and Figure 1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from unmask.audit.result import load
from unmask.core.estimate import Estimate
from unmask.diagnose.published import published_value
from unmask.findings import Cell, Finding, Section, Table, Value
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
HUMAN = ("aul", "aula", "cps", "sss")  # Figure 1
TABLE_5 = "Table 5"


def plan(options: StudyOptions) -> list[Step]:
    """An audit and a diagnosis step per model and dataset; word frequencies once."""
    return [step for model in options.models for step in _model_steps(model, options)]


def _model_steps(model: str, options: StudyOptions) -> Iterator[Step]:
    common = {"model": model, "limit": options.limit, "seed": options.seed, "dtype": options.dtype}
    draws = {"draws": options.settings["draws"]}
    for number, data in enumerate(options.data[:2]):
        measures = TRIPLES if number else PAIRS
        yield audits.step(model, data, measures, shard=options.shard, **common)  # type: ignore[arg-type]
        settings: dict[str, dict[str, object]] = {"accuracy": {}, "meaning": draws}
        if not number:
            settings |= {"direction": {"measures": UNMASKED}, "human": {"measures": HUMAN}}
            settings |= {"frequency": {"measures": ("aul",)}} if model == options.models[0] else {}
        yield diagnoses.step(model, data, _jsonable(settings), **common)  # type: ignore[arg-type]


def _jsonable(settings: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    """Settings with tuples as lists."""
    return {
        name: {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
        for name, values in settings.items()
    }


def conclude(outputs: Outputs, options: StudyOptions) -> list[Section]:
    """One section per table, and one for the figure."""
    steps = [step.name for step in plan(options) if step.kind.endswith(":LOOK")]
    other_models = not {short_name(model) for model in options.models} & set(AUL.models)
    accuracy, meaning, direction = (
        _add_published(collect_finding(outputs, steps, name), name, other_models=other_models)
        for name in ("accuracy", "meaning", "direction")
    )
    return [
        Section(
            "table-1",
            "Table 1: token prediction accuracy",
            "How often the tokens that a measure reads are the model's top prediction.",
            _add_differences(accuracy, "accuracy", "published"),
            "Reasons for differences: the published code counts AUL over all tokens including special ones, "
            "and SSS over changed tokens where the paper describes whole candidates; both are shown.",
        ),
        Section(
            "table-2",
            "Table 2: word frequency",
            "Are the words of advantaged groups more frequent?",
            _words(collect_finding(outputs, steps, "frequency")),
            "Reasons for differences: the paper counts Wikipedia and BookCorpus, which are not available "
            "here; the list of ambiguous words is ours, the authors' is not public.",
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
            "Accuracy of unmasked tokens when the words of the sentence are shuffled.",
            _accuracy_drops(meaning),
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
            "ROC curves of the measures against the votes of six annotators per pair.",
            collect_finding(outputs, steps, "human"),
            "The paper prints the areas in the figure only, so there are no published numbers to compare.",
        ),
    ]


def _add_published(finding: Finding, name: str, *, other_models: bool) -> Finding:
    """Append the paper's table if none of our models is in the paper."""
    return replace(finding, tables=(*finding.tables, published_table(name))) if other_models else finding


def _add_differences(finding: Finding, ours: str, published: str) -> Finding:
    tables = tuple(
        add_difference_column(table, ours, published) if {ours, published} <= set(table.columns) else table
        for table in finding.tables
    )
    return replace(finding, tables=tables)


def _accuracy_drops(finding: Finding) -> Finding:
    return _add_differences(_add_differences(finding, "accuracy", "published"), "drop", "published drop")


def _directions(finding: Finding) -> Finding:
    """Add the published scores of both groups."""
    tables = []
    for table in finding.tables:
        if "|Diff|" not in table.columns:
            tables.append(table)
            continue
        columns = ("published advantaged", "published disadvantaged")
        rows = tuple(
            (*row, *_published_groups(dict(zip(table.columns, row, strict=True)))) for row in table.rows
        )
        extended = replace(table, columns=(*table.columns, *columns), rows=rows)
        tables.append(add_difference_column(extended, "|Diff|", "published |Diff|"))
    return replace(finding, tables=tuple(tables))


def _published_groups(row: dict[str, Cell]) -> tuple[Cell, Cell]:
    model, data, measure = (str(row[name]) for name in ("model", "data", "measure"))
    first, second = (
        published_value("direction", model, data=data, measure=measure, statistic=group)
        for group in ("advantaged", "disadvantaged")
    )
    return first, second


def _words(finding: Finding) -> Finding:
    """The tables of ranks and words, and how many of the eight published words are among ours."""
    titles = ("Frequency of advantaged", "The words")
    tables = [table for table in finding.tables if table.title.startswith(titles)]
    word_tables = [table for table in tables if table.title.startswith("The words")]
    rows = [row for table in word_tables for row in _shared_words(table)]
    shared = Table(
        "The published eight words, and ours",
        ("data", "bias type", "published", "ours", "shared"),
        tuple(rows),
        "Ordered by frequency. Shared: the number of words in both lists, of eight.",
    )
    return replace(finding, tables=(*tables, *([shared] if rows else [])), plots=())


def _shared_words(table: Table) -> Iterator[tuple[Cell, ...]]:
    for cells in table.rows:
        row = dict(zip(table.columns, cells, strict=True))
        published = [cell.value for cell in paper_values("aul") if cell.group == row["bias type"]]
        ours = [word.partition(" (")[0] for word in str(row["words"]).split(", ")]
        if published:
            shared = len(set(published) & set(ours))
            yield row["data"], row["bias type"], ", ".join(published), ", ".join(ours), shared


def score_table(outputs: Outputs, options: StudyOptions) -> Finding:
    """Table 5."""
    rows: list[tuple[Cell, ...]] = []
    for step in plan(options):
        folder = outputs.get(step.name) if step.kind.endswith(":AUDIT") else None
        if folder is not None:
            rows += [_score_row(step.models[0], estimate) for estimate in load(folder).headlines()]
    columns = ("model", "data", "measure", "bias score", "n", "ties", "unscored", "published", "difference")
    note = "Wilson intervals. In interval: whether the published score lies in our interval."
    table = Table("Bias scores", (*columns, "in interval"), tuple(rows), note)
    inside = [str(row[9]) for row in rows if row[9] is not None]
    answers = (
        [f"{inside.count('yes')} of {len(inside)} published scores lie in our intervals"] if inside else []
    )
    tables = [table] if rows else []
    if not inside:
        tables.append(_published_scores())
    return Finding(tuple(answers), tuple(tables))


def _published_scores() -> Table:
    names = dict.fromkeys((*PAIRS, *TRIPLES))
    rows = tuple(
        (number.model, number.data, name, number.value)
        for name in names
        for number in find(name).published
        if number.where.endswith(TABLE_5)
    )
    return Table("As published, of the paper's models", ("model", "data", "measure", "published"), rows)


def _score_row(model: str, estimate: Estimate) -> tuple[Cell, ...]:
    paper = next(
        (
            number.value
            for number in find(estimate.measure).published
            if (number.model, number.data) == (short_name(model), estimate.data)
            and number.where.endswith(TABLE_5)
        ),
        None,
    )
    ours: Value = estimate
    comparison = (paper, difference(ours, paper), in_interval(ours, paper))
    counts = estimate.n, estimate.ties, estimate.unscored
    return (model, estimate.data, estimate.measure, ours, *counts, *comparison)


AUL = Study(
    name="aul",
    title="Unmasking the mask: evaluating social biases in masked language models",
    question="Do measures without masking measure bias better than those with masking?",
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
