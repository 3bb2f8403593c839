"""The pages of audits: what they say for readers who are not experts, and the page of one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unmask.audit.findings import headlines, verdict
from unmask.audit.interpretation import checks_warning, count_items, data_title, doubt_of, slot_sides
from unmask.audit.result import AuditResult
from unmask.core.estimate import Estimate
from unmask.core.statistic import BAND
from unmask.core.types import Check
from unmask.findings import Table, csv, numbers
from unmask.findings.assets import as_file, as_link
from unmask.findings.envelope import Result
from unmask.findings.figure import Figure
from unmask.findings.html import Download, render
from unmask.findings.sentences import WEAK, capital, side_words
from unmask.report import charts, selection, tables
from unmask.report.citations import bibliography, source
from unmask.report.pairs import decided_pairs
from unmask.report.provenance import names_files, repeat_command
from unmask.report.tables import caution_lines, estimate_row

CITED = (  # in the text of every page
    "blodgett-etal-2021-stereotyping",
    "kwon-mihindukulasooriya-2022-empirical",
    "kaneko-etal-2022-debiasing",
)
COLOURED = (
    "Coloured words show how much each token contributes to the difference of two scores. That is "
    "arithmetic, not a causal explanation."
)
LIMITS = (
    "A score near its reference value means that no preference was found by this measure on these sentences. It does "
    "not show that the model is free of bias: other sentences, other groups, other languages and other uses were not "
    "tested.",
    "A score near its reference value can also come from a model that was loaded incorrectly. The checks on this page "
    "detect that; do not quote a number whose checks failed.",
    "The sentences of public benchmarks were mostly written by crowd workers, mostly in the United States. "
    "Many pairs are unclear, confounded or compare more than one thing at once (Blodgett et al., 2021).",
    "Likelihoods depend on wording as well as on meaning. When sentences are paraphrased, the preferred "
    "sentence of a pair often changes (Kwon and Mihindukulasooriya, 2022); word frequency and sentence "
    "length also affect scores. One pair proves nothing.",
    "Such scores say little about what a model does in an application. Across models, likelihood measures "
    "and biases in fine-tuned tasks were found to correlate only weakly (Kaneko et al., 2022).",
    "The intervals cover the sampling of sentences only, not the choice of benchmark, measure or checkpoint. "
    "Categories with few pairs have wide intervals.",
    COLOURED,
)
WHY: Mapping[str, str] = {  # every check, and why it matters
    "lm-head": "The weights of the language-model head are in the checkpoint. If they were missing, "
    "transformers would initialise them at random and every score would be noise.",
    "contract": "Does the server give the log-probabilities that it was asked for, and the same ones when it is asked "
    "again? One that answers otherwise the second time gives noise, or serves another model now.",
    "masked-accuracy": "How often is a masked token the model's first guess? A model with low accuracy does "
    "not know the language of these sentences, and its preferences mean nothing.",
    "unmasked-accuracy": "How often does the model rank a token of the unmasked sentence first, and how probable "
    "does it find these tokens? Measures without masking (aul, aula) depend on this. Copying the input is enough to "
    "pass, so a model that reads no context can: masked-accuracy finds that. Training that harms how a model reads "
    "words shows only beside the model it was made from: compare both numbers with its own.",
    "next-token-accuracy": "How often is the next token the model's first guess? A model with low accuracy "
    "does not know the language of these sentences, and its preferences mean nothing.",
    "ties": "A pair with two equal scores expresses no preference. Many ties point to an error.",
    "unscored": "Pairs that could not be scored are left out of the estimates. If there are many, the rest "
    "may not represent the dataset.",
    "duplicates": "A pair that is there twice says nothing new. Equal pairs, also with the sides exchanged, are one "
    "unit of the intervals of your own data, but each counts in the score and in n.",
    "precision": "Low precision decides pairs near zero otherwise than fp32. With certified precision these pairs are "
    "scored again, and random others with them; the chance that a decision is still another is estimated.",
    "finite-outputs": "NaN or infinity is no number: pairs with such an output of the model are left out. "
    "Overflowing fp16 and damaged weights cause it.",
    "truncated": "Sentences longer than the model's maximum length are left out, never truncated. This counts them.",
    "alignment": "Some measures need to know which tokens two sentences share. If the alignment depends on "
    "the order of the sentences, so does the score.",
    "length": "Longer sentences are less likely whatever they say. The scores should not depend on pairs "
    "whose sentences differ in length.",
    "unknown-tokens": "Words that are not in the tokenizer's vocabulary become the same unknown token, so "
    "the model cannot prefer one of them.",
}


def page(result: AuditResult, figures: Mapping[str, list[Figure]] | None = None) -> str:
    """Render the page of one run, with its charts if they are drawn already."""
    figures_by_section = draw_figures(result) if figures is None else figures
    flat = [figure for group in figures_by_section.values() for figure in group]
    return render_page("page.html.jinja", flat, **_content(result, figures_by_section))


def draw_figures(result: AuditResult) -> dict[str, list[Figure]]:
    """Draw every chart of the page, by section."""
    return {
        "headline": charts.headline(result),
        "category": [*charts.category(result), *charts.word_leans(result)],
        "spread": charts.difference_histograms(result),
    }


def render_page(name: str, drawn: list[Figure], /, **content: Any) -> str:
    """Render a page about scored pairs."""
    return render(name, drawn, limits=LIMITS, band=BAND, **content)


def _content(result: AuditResult, figures_by_section: Mapping[str, list[Figure]]) -> dict[str, Any]:
    heads, duplicates = result.headlines(), selection.duplicate_measures(result)
    bibtex, shown = collect_bibtex([result]), {id(e) for e in heads}
    columns = dict.fromkeys(e.group.partition("=")[0] for e in result.estimates if "=" in e.group)
    decided = []  # pairs of every measure, except one whose differences equal those of an earlier one
    views = iter(decided_pairs(result, [e for e in heads if (e.measure, e.data) not in duplicates]))
    for e in heads:
        twin = duplicates.get((e.measure, e.data))
        decided.append((selection.label(e, result), twin, *(([], []) if twin else next(views))))
    detectable, validity = caution_lines(result)
    estimates = tables.full_estimates([result], selection.model_names([result]))
    return {
        "meta": result.meta,
        "detectable": detectable,
        "validity": validity,
        "kinds": selection.item_kinds(heads),
        "figures": figures_by_section,
        "introduction": introduction(result),
        "checks": result.checks,
        "checked": summarize_checks([result], selection.model_names([result])),
        "failed": [(check.name, check.detail) for check in result.checks if not check.ok],
        "warning": checks_warning(result),
        "written": result.timestamp,
        "command": repeat_command(result),
        "names_files": names_files(result),
        "findings": [_dataset(result, *each) for each in selection.by_dataset(result).items()],
        "headlines": [estimate_row(e, result) for e in heads],
        "further": [estimate_row(e, result) for e in result.estimates if e.group == "all" and id(e) not in shown],
        "unscored": selection.unscored_reasons(result),
        "splits": [
            (column, [estimate_row(e, result) for e in selection.by_group(result, column)])
            for column in sorted(columns, key=lambda column: column != "category")
        ],
        "spreads": [spread_row(e, result) for e in heads],
        "decided": decided,
        "meanings": meanings(result),
        "bibtex": bibtex,
        "files": [
            Download("result.json", "everything on this page except single items", as_link(result.meta)),
            csv_file("estimates.csv", "every estimate with its interval", estimates),
            *bibtex_files(bibtex),
        ],
    }


def _dataset(result: AuditResult, data: str, estimates: Sequence[Estimate]) -> dict[str, Any]:
    """A dataset with its title, its headline in plain words, and a row a measure with its verdict."""
    rows = []
    for estimate in estimates:
        said, row = verdict(result, estimate), estimate_row(estimate, result)
        read = row["reading"].removesuffix(f" ({WEAK})")  # a note below the rows says it once
        dagger = "" if row["lean"] == "invalid" else row["dagger"]
        rows.append({**row, "reading": read, "statement": said.leans, "caution": said.caution, "dagger": dagger})
    note = f"† {WEAK}." if doubt_of(result, data) == "doubtful" else ""
    return {"title": data_title(result, data), "headlines": headlines(result, data), "rows": rows, "note": note}


def spread_row(estimate: Estimate, result: AuditResult) -> dict[str, str]:
    """Size of the differences between the two scores of a pair, for one measure."""
    import numpy as np

    values, banded = selection.differences(result, estimate)
    sizes = np.abs(np.array(values))
    name = selection.label(estimate, result)
    if not sizes.size:
        return {"label": name, "n": "0", "inside": "–", "median": "–", "largest": "–", "beyond": "–"}
    inside = int(np.sum(sizes <= BAND))
    limit = selection.reach(sizes.tolist(), banded=banded)
    return {
        "label": name,
        "n": f"{sizes.size:,}",
        "inside": f"{inside:,} ({numbers.number(100 * inside / sizes.size, 0)}%)" if banded else "–",
        "median": numbers.number(float(np.median(sizes)), 3),
        "largest": numbers.number(float(sizes.max()), 3),
        "beyond": f"{int(np.sum(sizes > limit)):,}",
    }


def introduction(*runs: AuditResult) -> tuple[str, str]:
    """What was measured on which models, in two sentences for readers who are not experts."""
    estimates = [estimate for run in runs for estimate in run.headlines()]
    open_slots = {e.data for e in estimates if selection.is_open(e)}
    cards = list({card["name"]: card for run in runs for card in run.meta["data"]}.values())
    templates = [card for card in cards if card["name"] in open_slots]
    pairs = [card for card in cards if card not in templates]
    measures = list(dict.fromkeys(e.measure for e in estimates if e.data not in open_slots))
    ways = "in one way" if len(measures) == 1 else f"in {len(measures)} ways"
    questions, explanations = [], []
    if pairs or not templates:
        questions.append(
            f"{_data(pairs)}: pairs of sentences that differ only in the group they mention or in what they "
            "say about it; one of the two states a stereotype"
        )
        explanations.append(
            f"for every pair we computed which sentence the model finds more likely, {ways} ({', '.join(measures)}); a "
            "model without a preference would choose the stereotyping sentence about as often as the other"
        )
    if templates:
        sides = {slot_sides(run, card["name"]) for run in runs for card in templates}
        first, second = side_words(sides.pop()) if len(sides) == 1 else ("the first word", "the second")
        questions.append(f"{_data(templates)}: sentence templates with an open slot for {first} or {second}")
        explanations.append(
            f"for every template we computed how much more likely the model finds {first} than {second}; without a "
            "preference the difference is 0"
        )
    models = " and ".join(_model(run.meta["model"]) for run in runs)
    return f"We gave {models} {'; and '.join(questions)}.", f"{capital('; '.join(explanations))}."


def _model(facts: Mapping[str, Any]) -> str:
    kind = f"{facts['kind']} language model" if facts.get("kind") else "language model"
    size = facts.get("parameters")
    return f"{facts['id']}, a {kind}{f' with {size:,} parameters' if isinstance(size, int) else ''},"


def _data(cards: Iterable[Mapping[str, Any]]) -> str:
    titles = [(count_items(card), str(card.get("title") or card["name"])) for card in cards]
    return " and ".join(f"{n} of {title}" if n else title for n, title in titles) or "a set of sentences"


def meanings(run: AuditResult) -> list[dict[str, str]]:
    """Title, interpretation and source of every measure."""
    measures = map(run.measure, dict.fromkeys(estimate.measure for estimate in run.headlines()))
    return [{"name": m.name, "title": m.title, "reads": m.reads, "source": source(m.citation)} for m in measures]


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """One kind of check, why it matters, and its outcomes, named by dataset and model."""

    name: str
    why: str
    outcomes: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether it passed everywhere."""
        return all(outcome.ok for outcome in self.outcomes)


def summarize_checks(runs: Sequence[AuditResult], names: Sequence[str]) -> list[CheckSummary]:
    """Group the checks of all runs by kind, in their order; kinds with a failure first."""
    outcomes: dict[str, list[Check]] = {}
    for name, run in zip(names, runs, strict=True):
        for check in run.checks:
            data, _, kind = check.name.rpartition("/")
            where = " · ".join(part for part in ((name if len(runs) > 1 else ""), data) if part)
            outcomes.setdefault(kind, []).append(replace(check, name=where))
    summaries = [CheckSummary(kind, WHY.get(kind, ""), tuple(results)) for kind, results in outcomes.items()]
    return sorted(summaries, key=lambda summary: summary.ok)


def visible_words(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """How well each model reads visible words: training can damage that, which no score shows."""
    return [
        f"{name}, {check.name}: {check.detail.partition(';')[0]}"
        for name, result in zip(names, results, strict=True)
        for check in result.checks
        if check.name.rpartition("/")[2] == "unmasked-accuracy"
    ]


def collect_bibtex(runs: Sequence[AuditResult]) -> str:
    """Collect the BibTeX of every measure and dataset of the runs, and of what the page itself cites."""
    measures = {e.measure: run.measure(e.measure) for run in runs for e in run.headlines()}
    data = [str(card.get("citation") or "") for run in runs for card in run.meta["data"]]
    return bibliography([*(measure.citation for measure in measures.values()), *CITED], data)


def csv_file(name: str, description: str, table: Table) -> Download:
    """A table as a file to download."""
    return Download(name, description, as_file(csv.table(table), "text/csv;charset=utf-8"))


def bibtex_files(bibtex: str) -> list[Download]:
    """The citations as a file to download, if there are any."""
    link = as_file(f"{bibtex}\n", "text/plain;charset=utf-8")
    return [Download("citations.bib", "BibTeX entries to cite", link)] if bibtex else []
