"""`aul`: Unmasking the Mask (Kaneko & Bollegala 2022), Tables 1 to 5 and Figure 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from unmask.audit.result import load
from unmask.core.estimate import Estimate
from unmask.diagnose.published import published_numbers, published_value
from unmask.findings import Cell, Finding, Section, Table
from unmask.findings.envelope import Result
from unmask.measures import find
from unmask.studies import collect
from unmask.studies.spec import Conclusion, Outputs, PaperComparison, Role, Step, Study, StudyOptions
from unmask.studies.steps import audits, diagnoses

PAIRS, TRIPLES = ("cps", "aul", "aula"), ("sss", "aul", "aula")  # Table 5
UNMASKED = ("all-masked", "aul", "aula")  # Table 3
HUMAN = ("aul", "aula", "cps", "sss")  # Figure 1
TABLE_5 = "Table 5"
PUBLISHED = "As published, of the paper's models"
SHUFFLED = {"tokens-shuffled": "shuffled", "unrelated-word": "unrelated"}  # perturbations of Table 4


def plan(options: StudyOptions) -> dict[Role, Step]:
    """An audit and a diagnosis step per model and dataset; word frequencies once."""
    steps: dict[Role, Step] = {}
    for model in options.models:
        for number, data in enumerate(options.data[:2]):
            measures = TRIPLES if number else PAIRS
            steps["audit", model, data] = audits.step(
                model, data, measures, model=model, shard=options.shard, **options.scoring
            )
            settings: dict[str, Any] = {"accuracy": {}, "meaning": {"draws": options.settings["draws"]}}
            if not number:
                settings |= {"direction": {"measures": UNMASKED}, "human": {"measures": HUMAN}}
                settings |= {"frequency": {"measures": ("aul",)}} if model == options.models[0] else {}
            steps["diagnose", model, data] = diagnoses.step(model, data, settings, model=model, **options.scoring)
    return steps


def conclude(outputs: Outputs, options: StudyOptions) -> Conclusion:
    """One section per table, and one for the figure."""
    accuracy, meaning, direction = (
        _compare(outputs, name, item)
        for name, item in (("accuracy", "table-1"), ("meaning", "table-4"), ("direction", "table-3"))
    )
    scores = [
        PaperComparison("table-5", replace(estimate, model=role[1]), _published_score(role[1], estimate))
        for role, folder in outputs.items()
        if role[0] == "audit"
        for estimate in load(folder).headlines()
    ]
    sections = [
        Section(
            "table-1",
            "Table 1: token prediction accuracy",
            "How often the tokens that a measure reads are the model's top prediction.",
            _finding(outputs, "accuracy", accuracy),
            "Reasons for differences: the published code counts AUL over all tokens including special ones, "
            "and SSS over changed tokens where the paper describes whole candidates; both are shown.",
        ),
        Section(
            "table-2",
            "Table 2: word frequency",
            "Are the words of advantaged groups more frequent?",
            _words(outputs),
            "Reasons for differences: the paper counts Wikipedia and BookCorpus, which are not available "
            "here; the list of ambiguous words is ours, the authors' is not public.",
        ),
        Section(
            "table-3",
            "Table 3: advantaged and disadvantaged groups",
            "Bias scores by direction, with everything masked and with nothing masked.",
            _finding(outputs, "direction", direction),
            "Reasons for differences: code for the All-Masked condition was never published; here every "
            "content token is masked and the special ones are kept.",
        ),
        Section(
            "table-4",
            "Table 4: meaningful associations",
            "Accuracy of unmasked tokens when the words of the sentence are shuffled.",
            _finding(outputs, "meaning", meaning),
            "Reasons for differences: neither the number of shuffles nor the seed is published.",
        ),
        Section(
            "table-5",
            "Table 5: bias scores",
            "Share of pairs in which the stereotyping sentence scores higher; 50 is no preference.",
            _score_table(scores),
            "Reasons for differences: the published code compares CPS after rounding to three decimals "
            "(as here) and adds in single precision; it was written for an older transformers, whose "
            "tokenizers and attention weights differ in details.",
        ),
        Section(
            "figure-1",
            "Figure 1: agreement with human ratings",
            "ROC curves of the measures against the votes of six annotators per pair.",
            _merged(outputs, "human"),
            "The paper prints the areas in the figure only, so there are no published numbers to compare.",
        ),
    ]
    return Conclusion(sections, (*scores, *accuracy, *direction, *meaning))


def _results(outputs: Outputs, name: str) -> Iterator[tuple[str, Result]]:
    """The results of a diagnosis with their model, in the order of the steps."""
    for role, folder in outputs.items():
        if role[0] == "diagnose" and (result := diagnoses.load_diagnosis(folder, name)):
            yield role[1], result


def _merged(outputs: Outputs, name: str) -> Finding:
    """The findings of a diagnosis of all models and datasets as one."""
    return collect.merge_findings([result.findings[0].finding for _, result in _results(outputs, name)])


def _compare(outputs: Outputs, name: str, item: str) -> list[PaperComparison]:
    """The estimates of a diagnosis beside the published ones."""
    estimates = [
        replace(estimate, model=model) for model, result in _results(outputs, name) for estimate in result.estimates
    ]
    return [PaperComparison(item, estimate, _published(estimate)) for estimate in estimates]


def _published(estimate: Estimate) -> float | None:
    """The published number of an estimate of a diagnosis."""
    diagnosis, _, measure = estimate.measure.partition("/")
    statistic, group = estimate.statistic, "all"
    if diagnosis == "direction":
        statistic = "difference" if estimate.group == "all" else estimate.group.partition("=")[2]
    if diagnosis == "meaning":
        measure, group = "aul", SHUFFLED.get(measure, measure)
    where = {"data": estimate.data, "measure": measure, "statistic": statistic, "group": group}
    return published_value(diagnosis, estimate.model, **where)


def _finding(outputs: Outputs, name: str, comparisons: Sequence[PaperComparison]) -> Finding:
    """The merged finding of a diagnosis, with a table that compares it with the paper."""
    finding, tables = _merged(outputs, name), collect.compared_with_paper(comparisons)
    if not tables:
        printed = [number for number in published_numbers() if number.diagnosis == name]
        columns = {label: label for label in ("model", "data", "measure", "statistic", "group")}
        tables = [collect.published_table(PUBLISHED, columns, printed)]
    return replace(finding, tables=(*finding.tables, *tables))


def _words(outputs: Outputs) -> Finding:
    """The finding on word frequency, and how many of the eight published words are among ours."""
    rows: list[tuple[Cell, ...]] = []
    for _, result in _results(outputs, "frequency"):
        by_data = result.meta["details"].get("frequency", {}).get("words", {})
        for data, bias_type, words in (
            (data, name, entry["top"]) for data, types in by_data.items() for name, entry in types.items()
        ):
            ours = [word["text"] for word in words]
            published = [cell.value for cell in collect.paper_values("aul") if cell.group == bias_type]
            if published:
                shared = len(set(published) & set(ours))
                rows.append((data, bias_type, ", ".join(published), ", ".join(ours), shared))
    shared_words = Table(
        "The published eight words, and ours",
        ("data", "bias type", "published", "ours", "shared"),
        tuple(rows),
        "Ordered by frequency. Shared: the number of words in both lists, of eight.",
    )
    finding = _merged(outputs, "frequency")
    return replace(finding, tables=(*finding.tables, *([shared_words] if rows else [])))


def _score_table(scores: Sequence[PaperComparison]) -> Finding:
    """Table 5."""
    labels = ("model", "data", "measure")
    columns: collect.Columns = {**{name: name for name in labels}, "bias score": collect.itself}
    columns = {**columns, **{name: name for name in ("n", "ties", "unscored")}}
    table = collect.comparison_table("Bias scores", columns, scores, "Wilson intervals.")
    inside = [each.in_interval for each in scores if each.in_interval is not None]
    answers = (f"{inside.count('yes')} of {len(inside)} published scores lie in our intervals",)
    tables = [table] if scores else []
    if not inside:
        names = dict.fromkeys((*PAIRS, *TRIPLES))
        rows = tuple(
            (number.model, number.data, name, number.value)
            for name in names
            for number in find(name).published
            if number.where.endswith(TABLE_5)
        )
        tables.append(Table(PUBLISHED, (*labels, "published"), rows))
    return Finding(answers if inside else (), tuple(tables))


def _published_score(model: str, estimate: Estimate) -> float | None:
    """The bias score of Table 5."""
    matching = (
        number.value
        for number in find(estimate.measure).published
        if (number.model, number.data) == (collect.short_name(model), estimate.data) and number.where.endswith(TABLE_5)
    )
    return next(matching, None)


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
