"""Files embedded in a page for download."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from unmask.findings import embed
from unmask.findings.envelope import Result
from unmask.findings.html import Download
from unmask.measures import MEASURES
from unmask.report import selection, tables
from unmask.report.citations import bibliography

if TYPE_CHECKING:
    from unmask.stats import Comparison

CITED = (  # in the text of every page
    "blodgett-etal-2021-stereotyping",
    "kwon-mihindukulasooriya-2022-empirical",
    "kaneko-etal-2022-debiasing",
)


def of_one(result: Result, bibtex: str) -> list[Download]:
    """The files of the page of one run."""
    (name,) = selection.model_names([result])
    numbers = tables.as_csv(tables.estimate_frame([result], [name]))
    return [
        Download("result.json", "everything on this page except single items", embed.as_link(result.meta)),
        Download("estimates.csv", "every estimate with its interval", _csv(numbers)),
        *_bib(bibtex),
    ]


def of_several(
    runs: Sequence[Result], names: Sequence[str], compared: Sequence[Comparison], bibtex: str
) -> list[Download]:
    """The files of a page that compares runs."""
    changes = tables.change_records(compared, names)
    content = {"runs": [run.meta for run in runs], "changes": changes}
    numbers = tables.as_csv(tables.estimate_frame(runs, names))
    return [
        Download("comparison.json", "the runs and their changes", embed.as_link(content)),
        Download("changes.csv", "every paired change", _csv(tables.as_csv(pd.DataFrame(changes)))),
        Download("estimates.csv", "every estimate of every run", _csv(numbers)),
        *_bib(bibtex),
    ]


def collect_bibtex(runs: Iterable[Result]) -> str:
    """Collect the BibTeX of every measure and dataset of the runs, and of what the page itself cites."""
    listed = list(runs)
    measures = dict.fromkeys(estimate.measure for result in listed for estimate in result.headlines())
    keys = [MEASURES[name].citation for name in measures if name in MEASURES]
    data = [str(card.get("citation") or "") for result in listed for card in result.meta.get("data") or []]
    return bibliography([*keys, *CITED], data)


def _csv(text: str) -> str:
    return embed.as_file(text, "text/csv;charset=utf-8")


def _bib(bibtex: str) -> list[Download]:
    link = embed.as_file(f"{bibtex}\n", "text/plain;charset=utf-8")
    return [Download("citations.bib", "BibTeX entries to cite", link)] if bibtex else []
