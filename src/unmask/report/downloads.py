"""Files embedded in a page for download."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from unmask.audit.result import AuditResult
from unmask.findings.assets import as_file, as_link
from unmask.findings.html import Download
from unmask.report import selection, tables
from unmask.report.citations import bibliography

if TYPE_CHECKING:
    from unmask.stats import Comparison

CITED = (  # in the text of every page
    "blodgett-etal-2021-stereotyping",
    "kwon-mihindukulasooriya-2022-empirical",
    "kaneko-etal-2022-debiasing",
)


def of_one(result: AuditResult, bibtex: str) -> list[Download]:
    """The files of the page of one run."""
    content = Download("result.json", "everything on this page except single items", as_link(result.meta))
    numbers = tables.estimate_frame([result], selection.model_names([result]))
    return [content, _csv("estimates.csv", "every estimate with its interval", numbers), *_bib(bibtex)]


def of_several(
    runs: Sequence[AuditResult], names: Sequence[str], compared: Sequence[Comparison], bibtex: str
) -> list[Download]:
    """The files of a page that compares runs."""
    changes = tables.change_records(compared, names)
    content = {"runs": [run.meta for run in runs], "changes": changes}
    return [
        Download("comparison.json", "the runs and their changes", as_link(content)),
        _csv("changes.csv", "every paired change", pd.DataFrame(changes)),
        _csv("estimates.csv", "every estimate of every run", tables.estimate_frame(runs, names)),
        *_bib(bibtex),
    ]


def collect_bibtex(runs: Sequence[AuditResult]) -> str:
    """Collect the BibTeX of every measure and dataset of the runs, and of what the page itself cites."""
    found = {e.measure: run.find_measure(e.measure) for run in runs for e in run.headlines()}
    keys = [measure.citation for measure in found.values() if measure]
    data = [str(card.get("citation") or "") for run in runs for card in run.meta.get("data") or []]
    return bibliography([*keys, *CITED], data)


def _csv(name: str, description: str, table: pd.DataFrame) -> Download:
    return Download(name, description, as_file(tables.as_csv(table), "text/csv;charset=utf-8"))


def _bib(bibtex: str) -> list[Download]:
    link = as_file(f"{bibtex}\n", "text/plain;charset=utf-8")
    return [Download("citations.bib", "BibTeX entries to cite", link)] if bibtex else []
