"""Estimates, changes and checks as tables: rows of a page, rounded for readers, CSV and files to download."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from unmask.audit.headline import headlines
from unmask.audit.interpretation import (
    BALANCED_SCORE,
    BOTH_DIRECTIONS,
    DOUBTFUL,
    HOLM_STARS,
    WEAK,
    all_pairs,
    count_items,
    digits_of,
    failure,
    failure_note,
    interval,
    plural_unit,
    result_reading,
    short_reading,
    stars,
    stars_note,
    subset_note,
    with_companions,
)
from unmask.audit.result import AuditResult
from unmask.audit.verdict import Verdict, cautions, sentence_case, verdict
from unmask.core.estimate import Estimate
from unmask.core.files import escape
from unmask.core.statistic import BAND
from unmask.findings import Table, numbers
from unmask.findings.assets import as_file, as_link
from unmask.findings.envelope import Result, estimate_json
from unmask.findings.html import Download
from unmask.report import selection, wording
from unmask.report.charts import tone
from unmask.report.citations import bibliography

if TYPE_CHECKING:
    from unmask.stats.paired import Comparison

NULL = "The reference value is the expected value for a model without a preference."
HOLM = HOLM_STARS.format("the categories of each measure")
CHANGED = "Change is after minus before over the items both runs scored; p is corrected by Holm's method."
NUMBERS = ("value", "interval", "null", "n", "ties", "unscored", "unit", "design_effect")
CHANGES = ("before", "after", "change", "interval", "p_holm", "n", "flips", "left_out")
TITLES = {"interval": "95% interval", "null": "reference value", "design_effect": "design effect"}
TITLES |= {"p_holm": "p (Holm)", "left_out": "left out"}
CONSTANTS: dict[str, Callable[[str], str]] = {  # columns with one value for all rows are a sentence of the caption
    "null": "Reference value {}.".format,
    "ties": lambda n: "No ties." if n == "0" else f"{n} ties each.",
    "unscored": lambda n: "All items were scored." if n == "0" else f"{n} items unscored each.",
    "unit": lambda unit: "" if unit == "–" else f"Intervals over {plural_unit(unit)}.",
    "design_effect": lambda effect: "" if effect == "–" else f"Design effect {effect}.",
}
CITED = (  # in the text of every page
    "blodgett-etal-2021-stereotyping",
    "kwon-mihindukulasooriya-2022-empirical",
    "kaneko-etal-2022-debiasing",
)


def estimate_row(estimate: Estimate, result: AuditResult) -> dict[str, Any]:
    """One estimate as a table row."""
    digits, group = digits_of(estimate.statistic), selection.group_name(estimate.group)
    mark, plain = stars(result, estimate), all_pairs(result, estimate)
    return {
        "label": selection.label(estimate, result),
        "data": estimate.data,
        "measure": estimate.measure,
        "group": group,
        "category": group,
        "statistic": estimate.statistic,
        "value": numbers.number(estimate.value, digits),
        "interval": interval(estimate, digits),
        "null": numbers.number(estimate.null, 0),
        **{name: f"{getattr(estimate, name):,}" for name in ("n", "ties", "unscored")},
        "unit": estimate.unit or "–",
        "design_effect": numbers.number(estimate.design_effect, 2),
        "method": method_text(estimate),
        "p": numbers.p_value(estimate.p),
        "p_holm": numbers.p_value(estimate.p_holm),
        "marked": bool(mark),
        "all_pairs": "" if plain is None else numbers.number(plain.value, digits),
        "mark": "baseline" if result.is_baseline(estimate.measure) else mark,
        "lean": tone(estimate, result),
        "reading": result_reading(result, estimate),
    }


def method_text(estimate: Estimate) -> str:
    """The method of the interval, with the design effect."""
    effect = estimate.design_effect
    return estimate.method if effect is None else f"{estimate.method}, design effect {effect:.2f}"


def headlines_by_dataset(result: AuditResult) -> list[dict[str, Any]]:
    """For every dataset its title, its headline in plain words, and a row a measure."""
    cards = result.meta.get("data") or []
    titles = {
        card.get("name"): (card.get("title") or card.get("name"))
        + (f" ({count_items(card)})" if "subset_of" in card else "")
        for card in cards
    }
    return [
        {
            "title": str(titles.get(data, data)),
            "headlines": headlines(result, data),
            "rows": [verdict_row(each, result) for each in estimates],
            "note": f"† {WEAK}." if failure(result, data) == DOUBTFUL else "",
        }
        for data, estimates in _by_dataset(result).items()
    ]


def caution_lines(result: AuditResult) -> tuple[list[str], list[str]]:
    """What the data would show, and what is known of the measures: a sentence for all datasets of which it is true."""
    by_dataset = _by_dataset(result)
    shared: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})  # the datasets of every line
    for data, estimates in by_dataset.items():
        *detectable, validity = cautions(result, estimates)
        for lines, by_line in zip((detectable, [validity]), shared, strict=True):
            for line in lines:
                by_line.setdefault(line, []).append(data)

    def sentences(by_line: Mapping[str, Sequence[str]]) -> list[str]:
        several = len(by_dataset) > 1
        return [f"{', '.join(names)}: {line}." if several else sentence_case(line) for line, names in by_line.items()]

    return sentences(shared[0]), sentences(shared[1])


def _by_dataset(result: AuditResult) -> dict[str, list[Estimate]]:
    """The headline estimates of every dataset."""
    by_dataset: dict[str, list[Estimate]] = {}
    for estimate in result.headlines():
        by_dataset.setdefault(estimate.data, []).append(estimate)
    return by_dataset


def verdict_row(estimate: Estimate, result: AuditResult) -> dict[str, Any]:
    """A headline estimate as a row, with its verdict and the published scores of known models."""
    said = verdict(result, estimate)
    read = result_reading(result, estimate).removesuffix(f" ({WEAK})")  # a note below the rows says it once
    dagger = " †" if failure(result, estimate.data, estimate.measure) == DOUBTFUL else ""
    words = {"reading": read, "leans": said.leans, "caution": said.caution}
    return {**estimate_row(estimate, result), **words, "dagger": dagger}


def spread_row(estimate: Estimate, result: AuditResult) -> dict[str, str]:
    """Size of the differences between the two scores of a pair, for one measure."""
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


def headline_table(results: Sequence[AuditResult], names: Sequence[str]) -> Table:
    """The headline estimate of every measure, dataset and model."""
    columns = _model_first(names, "data", "measure", "statistic", *NUMBERS, "p", "p_holm", "mark")
    records = _records(results, names, lambda run: with_companions(run, run.headlines()))
    return _short_table(
        _of("Headline estimates", names),
        columns,
        records,
        _note(results, NULL, _directions(records), stars_note(results)),
    )


def card_table(result: AuditResult) -> Table:
    """The headline estimates with their verdicts in a few words, for a model card."""
    select = with_companions(result, result.headlines())
    verdicts = [short_reading(result, each).removesuffix(" †") for each in select]  # a dagger is beside the measure
    records = _records([result], [""], lambda _: select)
    rows = [record | {"verdict": said} for record, said in zip(records, verdicts, strict=True)]
    columns = ("data", "measure", "statistic", "value", "interval", "null", "n", "p_holm", "mark", "verdict")
    return _short_table(
        "Headline estimates", columns, rows, _note([result], NULL, _directions(rows), stars_note([result]))
    )


def verdict_table(results: Sequence[AuditResult], names: Sequence[str]) -> Table:
    """The verdict on every headline estimate in plain words; what the data would show is in the note."""
    said = {line: None for result in results for lines in caution_lines(result) for line in lines}
    columns = _model_first(names, "data", "measure", "verdict")
    return _table(_of("Verdicts", names), columns, _verdicts(results, names, lambda each: each.finding), " ".join(said))


def verdict_records(results: Sequence[AuditResult], names: Sequence[str]) -> list[dict[str, str]]:
    """The whole verdict on every headline estimate, with the names of its model, data and measure."""
    return _verdicts(results, names, str)


def _verdicts(
    results: Sequence[AuditResult], names: Sequence[str], write: Callable[[Verdict], str]
) -> list[dict[str, str]]:
    return [
        {"model": name, "data": each.data, "measure": each.measure, "verdict": write(verdict(result, each))}
        for name, result in zip(names, results, strict=True)
        for each in result.headlines()
    ]


def category_table(results: Sequence[AuditResult], names: Sequence[str]) -> Table:
    """The headline estimates by category, marked if significant after Holm's correction."""
    columns = _model_first(names, "data", "measure", "category", *NUMBERS, "p_holm", "mark")
    records = _records(results, names, lambda run: selection.by_group(run, "category"))
    return _short_table(_of("By category", names), columns, records, _note(results, HOLM))


def change_table(compared: Sequence[Comparison], names: Sequence[str]) -> Table:
    """Every paired comparison with the first run."""
    records = [{"model": names[change.run], **wording.change_row(change, several=False)} for change in compared]
    columns = ("model", "data", "measure", "statistic", "group", *CHANGES)
    return _table(f"Changes from {names[0]}", columns, records, CHANGED)


def check_table(results: Sequence[Result], names: Sequence[str]) -> Table:
    """The checks of all runs, and what is recorded beside them without a verdict."""
    records = [
        {
            "model": name,
            "check": each.name,
            "result": outcome or ("passed" if each.ok else "FAILED"),
            "detail": each.detail,
        }
        for name, result in zip(names, results, strict=True)
        for outcome, recorded in (("", result.checks), ("note", result.descriptions))
        for each in recorded
    ]
    return _table("Checks", _model_first(names, "result", "check", "detail"), records)


def estimate_frame(results: Sequence[Result], names: Sequence[str]) -> pd.DataFrame:
    """Every estimate of every run in full precision; the first column is the model."""
    named = ((name, each) for name, result in zip(names, results, strict=True) for each in result.estimates)
    rows = [{"model": name, **estimate_json(each)} | {"model": name} for name, each in named]
    return pd.DataFrame(rows or None, columns=None if rows else ["model", *estimate_json(Estimate(0.0))])


def change_records(compared: Sequence[Comparison], names: Sequence[str]) -> list[dict[str, Any]]:
    """Every comparison in full precision, with the names of the two models."""
    records = [{"a": names[0], "b": names[change.run], **asdict(change)} for change in compared]
    return [{name: value for name, value in record.items() if name != "run"} for record in records]


def check_frame(results: Sequence[Result], names: Sequence[str]) -> pd.DataFrame:
    """Every check of every run."""
    named = zip(names, results, strict=True)
    rows = [{"model": name, **asdict(check)} for name, result in named for check in result.checks]
    return pd.DataFrame(rows, columns=["model", "name", "ok", "detail"])


def record_frame(records: Sequence[dict[str, Any]], last: Sequence[str]) -> pd.DataFrame:
    """Records with different columns as one frame: p-values after all values, then the columns in `last`."""
    names = dict.fromkeys(name for record in records for name in record)
    order = sorted(names, key=lambda name: (name in last, name.startswith("p (Holm)")))
    return pd.DataFrame(records, columns=order)


def as_csv(table: pd.DataFrame) -> str:
    """CSV in which no text can be read as a formula by a spreadsheet."""
    return str(table.rename(columns=escape).map(escape).to_csv(index=False, lineterminator="\n"))


def files_of_one(result: AuditResult, bibtex: str) -> list[Download]:
    """The files of the page of one run."""
    content = Download("result.json", "everything on this page except single items", as_link(result.meta))
    numbers = estimate_frame([result], selection.model_names([result]))
    return [content, _csv("estimates.csv", "every estimate with its interval", numbers), *_bib(bibtex)]


def files_of_several(
    runs: Sequence[AuditResult], names: Sequence[str], compared: Sequence[Comparison], bibtex: str
) -> list[Download]:
    """The files of a page that compares runs."""
    changes = change_records(compared, names)
    content = {"runs": [run.meta for run in runs], "changes": changes}
    return [
        Download("comparison.json", "the runs and their changes", as_link(content)),
        _csv("changes.csv", "every paired change", pd.DataFrame(changes)),
        _csv("estimates.csv", "every estimate of every run", estimate_frame(runs, names)),
        *_bib(bibtex),
    ]


def collect_bibtex(runs: Sequence[AuditResult]) -> str:
    """Collect the BibTeX of every measure and dataset of the runs, and of what the page itself cites."""
    measures = {e.measure: run.measure(e.measure) for run in runs for e in run.headlines()}
    data = [str(card.get("citation") or "") for run in runs for card in run.meta["data"]]
    return bibliography([*(measure.citation for measure in measures.values()), *CITED], data)


def _csv(name: str, description: str, table: pd.DataFrame) -> Download:
    return Download(name, description, as_file(as_csv(table), "text/csv;charset=utf-8"))


def _bib(bibtex: str) -> list[Download]:
    link = as_file(f"{bibtex}\n", "text/plain;charset=utf-8")
    return [Download("citations.bib", "BibTeX entries to cite", link)] if bibtex else []


def _note(results: Sequence[Result], *notes: str) -> str:
    """The notes of a table after what it says of subsets and failed checks."""
    cards = [card for result in results for card in result.meta.get("data") or ()]
    return " ".join(filter(None, (failure_note(results), subset_note(cards), *notes)))


def _directions(records: Sequence[Mapping[str, Any]]) -> str:
    """What the score that counts both directions alike is, if a table has it."""
    return BOTH_DIRECTIONS if any(record["statistic"] == BALANCED_SCORE for record in records) else ""


def _records(
    results: Sequence[AuditResult], names: Sequence[str], select: Callable[[AuditResult], Sequence[Estimate]]
) -> list[dict[str, Any]]:
    """The rows of the selected estimates, with the name of their model; a dagger marks a failed check."""
    records = []
    for name, run in zip(names, results, strict=True):
        for each in select(run):
            mark = "†" if failure(run, each.data, each.measure) else ""
            records.append({"model": name, **estimate_row(each, run), "measure": f"{each.measure}{mark}"})
    return records


def _model_first(names: Sequence[str], *columns: str) -> tuple[str, ...]:
    """The columns, after that of the model if there are several."""
    return ("model", *columns) if len(names) > 1 else columns


def _of(title: str, names: Sequence[str]) -> str:
    """The title, with the model if there is one."""
    return f"{title} of {names[0]}" if len(names) == 1 else title


def _short_table(title: str, columns: Sequence[str], records: Sequence[dict[str, Any]], note: str) -> Table:
    """A table whose constant columns are sentences of its note."""
    values = {name: {record[name] for record in records} for name in CONSTANTS if name in columns}
    constant = {name: next(iter(found)) for name, found in values.items() if len(found) == 1}
    said = (CONSTANTS[name](value) for name, value in constant.items())
    kept = [name for name in columns if name not in constant]
    return _table(title, kept, records, " ".join(filter(None, (*said, note))))


def _table(title: str, columns: Sequence[str], records: Sequence[dict[str, Any]], note: str = "") -> Table:
    rows = tuple(tuple(record[column] for column in columns) for record in records)
    return Table(title, tuple(TITLES.get(column, column) for column in columns), rows, note)
