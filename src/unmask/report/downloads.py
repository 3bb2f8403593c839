"""Files embedded in a page for download."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from unmask.findings import embed
from unmask.measures import MEASURES
from unmask.report import selection, tabular
from unmask.report.citations import bibliography
from unmask.report.selection import Run

if TYPE_CHECKING:
    from unmask.stats import Comparison

CITED = (  # in the text of every page
    "blodgett-etal-2021-stereotyping",
    "kwon-mihindukulasooriya-2022-empirical",
    "kaneko-etal-2022-debiasing",
)


@dataclass(frozen=True, slots=True)
class Download:
    """A file: its name, a description, and a data URL with its content."""

    name: str
    description: str
    link: str


def of_one(result: Run, bibtex: str) -> list[Download]:
    """The files of the page of one run."""
    (name,) = selection.model_names([result])
    numbers = tabular.as_csv(tabular.estimates([result], names=[name]))
    return [
        Download(
            "result.json", "everything on this page except single items", embed.as_link(as_json(result))
        ),
        Download("estimates.csv", "every estimate with its interval", _csv(numbers)),
        *_bib(bibtex),
    ]


def of_several(
    runs: Sequence[Run], names: Sequence[str], compared: Sequence[Comparison], bibtex: str
) -> list[Download]:
    """The files of a page that compares runs."""
    content = {"runs": [as_json(run) for run in runs], "changes": _changes(compared, names)}
    return [
        Download("comparison.json", "the runs and their changes", embed.as_link(content)),
        Download(
            "changes.csv", "every paired change", _csv(tabular.as_csv(tabular.changes(compared, names=names)))
        ),
        Download(
            "estimates.csv",
            "every estimate of every run",
            _csv(tabular.as_csv(tabular.estimates(runs, names=names))),
        ),
        *_bib(bibtex),
    ]


def as_json(result: Run) -> dict[str, Any]:
    """The content of result.json, with estimates and checks."""
    estimates = [asdict(estimate) for estimate in result.estimates]
    return {**result.meta, "estimates": estimates, "checks": [asdict(check) for check in result.checks]}


def collect_bibtex(runs: Iterable[Run]) -> str:
    """Collect the BibTeX of every measure and dataset of the runs, and of what the page itself cites."""
    listed = list(runs)
    measures = dict.fromkeys(
        estimate.measure for result in listed for estimate in selection.headlines(result)
    )
    keys = [MEASURES[name].citation for name in measures if name in MEASURES]
    data = [str(card.get("citation") or "") for result in listed for card in result.meta.get("data") or []]
    return bibliography([*keys, *CITED], data)


def _changes(compared: Sequence[Comparison], names: Sequence[str]) -> list[dict[str, Any]]:
    return [{"a": names[0], "b": names[comparison.run], **asdict(comparison)} for comparison in compared]


def _csv(text: str) -> str:
    return embed.as_file(text, "text/csv;charset=utf-8")


def _bib(bibtex: str) -> list[Download]:
    link = embed.as_file(f"{bibtex}\n", "text/plain;charset=utf-8")
    return [Download("citations.bib", "BibTeX entries to cite", link)] if bibtex else []
