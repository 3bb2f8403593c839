"""Files a page carries inside itself, to be saved from it."""

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

CITED = (  # by the words of every page
    "blodgett-etal-2021-stereotyping",
    "kwon-mihindukulasooriya-2022-empirical",
    "kaneko-etal-2022-debiasing",
)


@dataclass(frozen=True, slots=True)
class Download:
    """A file, what it holds, and the link that is its content."""

    name: str
    description: str
    link: str


def of_one(result: Run, bibtex: str) -> list[Download]:
    """The files of the page of one run."""
    (name,) = selection.model_names([result])
    numbers = tabular.as_csv(tabular.estimates([result], names=[name]))
    return [
        Download(
            "result.json", "everything on this page but the single items", embed.as_link(as_json(result))
        ),
        Download("estimates.csv", "every number with its interval", _csv(numbers)),
        *_bib(bibtex),
    ]


def of_several(
    runs: Sequence[Run], names: Sequence[str], compared: Sequence[Comparison], bibtex: str
) -> list[Download]:
    """The files of a page that compares runs."""
    whole = {"runs": [as_json(one) for one in runs], "changes": _changes(compared, names)}
    return [
        Download("comparison.json", "the runs and their changes", embed.as_link(whole)),
        Download(
            "changes.csv", "every paired change", _csv(tabular.as_csv(tabular.changes(compared, names=names)))
        ),
        Download(
            "estimates.csv",
            "every number of every run",
            _csv(tabular.as_csv(tabular.estimates(runs, names=names))),
        ),
        *_bib(bibtex),
    ]


def as_json(result: Run) -> dict[str, Any]:
    """A run as the page hands it out: result.json with its estimates and checks."""
    estimates = [asdict(estimate) for estimate in result.estimates]
    return {**result.meta, "estimates": estimates, "checks": [asdict(check) for check in result.checks]}


def collect_bibtex(runs: Iterable[Run]) -> str:
    """BibTeX of every measure and dataset of the runs, and of what the page itself cites."""
    kept = list(runs)
    measures = dict.fromkeys(one.measure for result in kept for one in selection.headlines(result))
    keys = [MEASURES[name].citation for name in measures if name in MEASURES]
    data = [str(card.get("citation") or "") for result in kept for card in result.meta.get("data") or []]
    return bibliography([*keys, *CITED], data)


def _changes(compared: Sequence[Comparison], names: Sequence[str]) -> list[dict[str, Any]]:
    return [{"a": names[0], "b": names[one.run], **asdict(one)} for one in compared]


def _csv(text: str) -> str:
    return embed.as_file(text, "text/csv;charset=utf-8")


def _bib(bibtex: str) -> list[Download]:
    link = embed.as_file(f"{bibtex}\n", "text/plain;charset=utf-8")
    return [Download("citations.bib", "the works to cite", link)] if bibtex else []
