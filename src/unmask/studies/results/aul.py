"""The sections of `aul`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from unmask.audit.result import load
from unmask.core.estimate import Estimate
from unmask.data import card
from unmask.diagnose.human import LOW_AGREEMENT
from unmask.diagnose.published import published_numbers
from unmask.diagnose.shuffle import CANDIDATE
from unmask.findings import Cell, Finding, Section, Table
from unmask.findings.envelope import Result
from unmask.measures import find
from unmask.stats.table import ScoreTable
from unmask.studies import collect
from unmask.studies.claims import claims_section
from unmask.studies.papers.aul import ALL_MASKED, PAIRS, STEREOSET, TRIPLES, AulOptions
from unmask.studies.results.aul_claims import CLAIMS, audit_claims, diagnosis_claims, score_tables
from unmask.studies.results.aul_real_models import (
    RealAnswers,
    answers_of,
    real_model_claims,
    real_model_scores,
    real_models_section,
)
from unmask.studies.spec import Outputs, PaperComparison, PaperConclusion
from unmask.studies.steps import diagnoses, scores

TABLE_5 = "Table 5"
PUBLISHED = "As published, of the paper's models"
SHUFFLED = {"tokens-shuffled": "shuffled", "unrelated-word": "unrelated"}  # perturbations of Table 4


def replicate(outputs: Outputs, options: AulOptions) -> PaperConclusion:
    """The claims, one section per table, and one for the figure."""
    accuracy, meaning, direction = (
        _compare(outputs, name, item, options.limit)
        for name, item in (("accuracy", "table-1"), ("meaning", "table-4"), ("direction", "table-3"))
    )
    table_5 = [
        PaperComparison("table-5", estimate, *_published_score(estimate, options.limit))
        for role, folder in outputs.items()
        if role[0] == "audit"
        for estimate in (replace(headline, model=role[1]) for headline in load(folder).headlines(published=True))
        if estimate.measure != ALL_MASKED
    ]
    answers = answers_of(scores.load_scores(outputs["scores",])) if ("scores",) in outputs else None
    real = real_model_scores(answers, options.seed) if answers else []
    sections = [
        _claims(outputs, answers, options),
        *_diagnosis_sections(outputs, accuracy, meaning, direction, options.limit),
        Section(
            "table-5",
            "Table 5: bias scores",
            "Share of pairs in which the stereotyping sentence scores higher; 50 is no preference.",
            _score_table(table_5),
            "Reasons for differences: the published code compares CPS after rounding to three decimals "
            "(as here) and adds in single precision; it was written for an older transformers, whose "
            "tokenizers and attention weights differ in details.",
        ),
        Section(
            "figure-1",
            "Figure 1: agreement with human ratings",
            "ROC curves of the measures against annotators' votes: of six people, as the paper says, and of the five "
            "in the file, as its examples count.",
            _agreement(outputs),
            "The paper prints the areas in the figure only, so there are no published numbers to compare.",
        ),
    ]
    if answers:
        sections.append(real_models_section(answers, _run_tables(outputs), real, options.seed))
    return PaperConclusion(sections, (*table_5, *accuracy, *direction, *meaning, *real))


def _diagnosis_sections(
    outputs: Outputs,
    accuracy: Sequence[PaperComparison],
    meaning: Sequence[PaperComparison],
    direction: Sequence[PaperComparison],
    limit: int | None,
) -> list[Section]:
    """Tables 1 to 4."""
    return [
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
            _words(outputs, limit),
            "Reasons for differences: the paper counts Wikipedia and BookCorpus; counts of them, or of the text of "
            "another model, are used if they are given as the setting `counts`. The list of ambiguous words is ours, "
            "the authors' is not public.",
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
    ]


def _run_tables(outputs: Outputs) -> dict[str, dict[str, ScoreTable]]:
    """The scores of this run on StereoSet, by model and measure."""
    found = {
        role[1]: score_tables(folder).get(STEREOSET, {})
        for role, folder in outputs.items()
        if (role[0], role[-1]) == ("audit", STEREOSET)
    }
    return {model: {name: by[name] for name in TRIPLES if name in by} for model, by in found.items()}


def _results(outputs: Outputs, name: str) -> Iterator[tuple[str, Result]]:
    """The results of a diagnosis with their model, in the order of the steps."""
    for role, folder in outputs.items():
        if role[0] == "diagnose" and (result := diagnoses.load_diagnosis(folder, name)):
            yield role[1], result


def _merged(outputs: Outputs, name: str) -> Finding:
    """The findings of a diagnosis of all models and datasets as one; plots are titled by what they show."""
    parts = []
    for model, result in _results(outputs, name):
        finding, data = result.findings[0].finding, result.meta["data"]
        where = f"{model}, {data[0]['name']}" if data else model
        plots = tuple(
            plot if model in plot.title else replace(plot, title=f"{plot.title}: {where}") for plot in finding.plots
        )
        parts.append(replace(finding, plots=plots))
    return collect.merge_findings(parts)


def _claims(outputs: Outputs, answers: RealAnswers | None, options: AulOptions) -> Section:
    """The paper's claims with their tests."""
    names = ("accuracy", "frequency", "meaning", "human")
    estimates = [estimate for name in names for estimate in _estimates(outputs, name)]
    tests = [*audit_claims(outputs), *diagnosis_claims(estimates)]
    tests += real_model_claims(answers) if answers else []
    note = (
        "As published: the measures as defined by the published code, ties and empty spans count as not won. As "
        "corrected: by scores that are not rounded, SSS by its equation, over the pairs that both measures decide."
    )
    order = {claim: place for place, claim in enumerate(CLAIMS)}
    return claims_section(sorted(tests, key=lambda test: order[test.claim]), [note])


def _agreement(outputs: Outputs) -> Finding:
    """Figure 1 of all models; pairs of low agreement, which are the same for all, once."""
    finding = _merged(outputs, "human")
    once = [
        replace(table, rows=tuple(dict.fromkeys(table.rows))) if table.title == LOW_AGREEMENT else table
        for table in finding.tables
    ]
    return replace(finding, tables=tuple(once))


def _estimates(outputs: Outputs, name: str) -> list[Estimate]:
    """The estimates of a diagnosis of all models, by the models' names in the study."""
    return [
        replace(estimate, model=model) for model, result in _results(outputs, name) for estimate in result.estimates
    ]


def _compare(outputs: Outputs, name: str, item: str, limit: int | None) -> list[PaperComparison]:
    """The estimates of a diagnosis beside the published ones."""
    return [PaperComparison(item, estimate, *_published(estimate, limit)) for estimate in _estimates(outputs, name)]


def _published(estimate: Estimate, limit: int | None) -> collect.PublishedMatch:
    """The published number of an estimate of a diagnosis, or why there is none."""
    diagnosis, _, measure = estimate.measure.partition("/")
    statistic, group = estimate.statistic, "all"
    if diagnosis == "direction":
        statistic = "difference" if estimate.group == "all" else estimate.group.partition("=")[2]
    if diagnosis == "meaning":
        measure, group = "aul", SHUFFLED.get(measure, measure)
    key = (diagnosis, measure, statistic, group)
    printed = [
        each for each in published_numbers() if (each.diagnosis, each.measure, each.statistic, each.group) == key
    ]
    if estimate.group == f"counted={CANDIDATE}" and statistic == "drop":
        printed = []  # the paper's drop is against all tokens
    return collect.match_published(printed, estimate, limit=limit)


def _finding(outputs: Outputs, name: str, comparisons: Sequence[PaperComparison]) -> Finding:
    """The merged finding of a diagnosis, with a table that compares it with the paper."""
    finding, tables = _merged(outputs, name), collect.compared_with_paper(comparisons)
    if not tables:
        printed = [number for number in published_numbers() if number.diagnosis == name]
        columns = {label: label for label in ("model", "data", "measure", "statistic", "group")}
        tables = [collect.published_table(PUBLISHED, columns, printed)]
    return replace(finding, tables=(*finding.tables, *tables))


def _words(outputs: Outputs, limit: int | None) -> Finding:
    """The finding on word frequency, and how many of the eight published words are among ours, in the same group."""
    rows: list[tuple[Cell, ...]] = []
    for _, result in _results(outputs, "frequency"):
        by_data = result.meta["details"].get("frequency", {}).get("words", {})
        for data, bias_type, words in (
            (data, name, entry["top"]) for data, types in by_data.items() for name, entry in types.items()
        ):
            printed = [cell for cell in collect.paper_values("aul") if (cell.data, cell.group) == (data, bias_type)]
            published = {cell.value: cell.measure.rpartition("-")[2] for cell in printed}
            ours = {word["text"]: word["group"] for word in words}
            if published and (limit is None or limit >= card(data).size):  # the paper's are those of all pairs
                both = [word for word in published if word in ours]
                moved = [word for word in both if ours[word] != published[word]]
                shared = len(both) - len(moved)
                rows.append((data, bias_type, _listed(published), _listed(ours), shared, ", ".join(moved)))
    shared_words = Table(
        "The published eight words, and ours",
        ("data", "bias type", "published", "ours", "shared", "in the other group"),
        tuple(rows),
        "Ordered by frequency; A: advantaged, D: disadvantaged. Shared: the number of words, of eight, that both lists "
        "have in the same group.",
    )
    finding = _merged(outputs, "frequency")
    return replace(finding, tables=(*finding.tables, *([shared_words] if rows else [])))


def _listed(words: Mapping[str, str]) -> str:
    return ", ".join(f"{word} ({group[0].upper()})" for word, group in words.items())


def _score_table(scores: Sequence[PaperComparison]) -> Finding:
    """Table 5."""
    labels = ("model", "data", "measure")
    columns: collect.Columns = {**{name: name for name in labels}, "bias score": collect.VALUE}
    columns = {**columns, **{name: name for name in ("n", "ties", "unscored")}}
    note = collect.interval_note("Wilson", (each.estimate for each in scores))
    table = collect.comparison_table("Bias scores", columns, scores, note)
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


def _published_score(estimate: Estimate, limit: int | None) -> collect.PublishedMatch:
    """The bias score of Table 5, or why there is none."""
    printed = [number for number in find(estimate.measure).published if number.where.endswith(TABLE_5)]
    return collect.match_published(printed, estimate, limit=limit)
