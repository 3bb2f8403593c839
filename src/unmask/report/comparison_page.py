"""The page that compares runs: models side by side, paired changes, templates before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unmask.audit.compare import compare
from unmask.core.errors import ResultError
from unmask.findings import numbers
from unmask.report import (
    comparison_figures,
    comparison_wording,
    downloads,
    selection,
    wording,
)
from unmask.report.audit_page import render_page
from unmask.report.check_texts import summarize_checks
from unmask.report.comparison_wording import LETTERS
from unmask.report.pairs import OPEN_SIDES, SIDES
from unmask.report.tables import estimate_row, spread_row
from unmask.stats import apply_holm

if TYPE_CHECKING:
    from unmask.core.estimate import Estimate
    from unmask.findings.envelope import Result
    from unmask.findings.figure import Figure
    from unmask.stats import Comparison

FLIPPED = 6  # pairs shown per measure
LIMITS = (
    "A change is a change of these scores on these sentences. A score that moved to its null does not show "
    "that the model behaves more fairly in use: mitigations have been found to lower such scores and to "
    "leave the behaviour of fine-tuned models as it was (Kaneko et al., 2022).",
    "A score can also move to its null because the model has become worse at language modelling. Look at the "
    "checks, and at words that rightly go with one gender: these should still do so.",
    "The intervals cover the sampling of sentences, not the randomness of training: the same mitigation with "
    "another seed may give another change.",
)


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Paired changes over all items and by category; p-values are corrected within each."""

    whole: tuple[Comparison, ...]
    split: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class Flip:
    """A pair whose preferred sentence changed."""

    item: str
    groups: str
    sides: tuple[str, str]
    more: str
    less: str
    before: str
    after: str


def compare_runs(runs: Sequence[Result], *, seed: int = 0) -> RunComparison:
    """Compare every run with the first, item by item."""
    if len(runs) > len(LETTERS):
        raise ResultError(f"{len(runs)} runs given: compare at most {len(LETTERS)} on one page")
    comparisons = compare(*runs, categories=True, seed=seed)
    return RunComparison(
        apply_holm([change for change in comparisons if change.group == "all"]),
        apply_holm([change for change in comparisons if change.group != "all"]),
    )


def draw_figures(runs: Sequence[Result], comparison: RunComparison) -> dict[str, list[Figure]]:
    """Draw every chart of the page, by section."""
    names, several = selection.model_names(runs), len({change.data for change in comparison.whole}) > 1
    return {
        "headline": comparison_figures.side_by_side(runs, names),
        "changes": comparison_figures.changes(comparison.whole, names, several=several),
        "category": comparison_figures.by_category([*comparison.whole, *comparison.split], names),
        "templates": [
            figure
            for number, other in enumerate(runs[1:], start=1)
            for figure in comparison_figures.templates(runs[0], other, number)
        ],
        "spread": comparison_figures.difference_histograms(runs),
    }


def page(runs: Sequence[Result], comparison: RunComparison) -> str:
    """Render the page of two or more runs; all others are compared with the first."""
    figures = draw_figures(runs, comparison)
    flat = [figure for group in figures.values() for figure in group]
    return render_page("comparison.html.jinja", flat, figures=figures, **_content(runs, comparison))


def _content(runs: Sequence[Result], comparison: RunComparison) -> dict[str, Any]:
    names, known, bibtex = (
        selection.model_names(runs),
        comparison_wording.nulls(runs),
        downloads.collect_bibtex(runs),
    )
    several = len({change.data for change in comparison.whole}) > 1
    labels = comparison_wording.lettered_names(names)
    failed = [
        (f"{name} · {check.name}", check.detail)
        for name, result in zip(names, runs, strict=True)
        for check in result.checks
        if not check.ok
    ]
    return {
        "names": names,
        "models": list(zip(LETTERS, names, (result.meta for result in runs), strict=False)),
        "version": runs[0].meta.get("unmask", ""),
        "introduction": wording.introduction(*runs),
        "checked": summarize_checks(runs, labels),
        "failed": failed,
        "count": sum(len(result.checks) for result in runs),
        "headlines": _headlines(runs, labels),
        "readings": [
            (labels[number], _readings(comparison.whole, number, known, several=several))
            for number in range(1, len(runs))
        ],
        "changes_rows": [
            comparison_wording.row(change, known, several=several) for change in comparison.whole
        ],
        "categories": [comparison_wording.row(change, known, several=several) for change in comparison.split],
        "spreads": [
            spread_row(e, result) | {"label": f"{letter} · {e.measure} · {e.data}"}
            for letter, result in zip(LETTERS, runs, strict=False)
            for e in result.headlines()
        ],
        "flips": [
            (f"{LETTERS[number]} · {head.measure} · {head.data}", flipped_pairs(runs[0], other, head))
            for number, other in enumerate(runs[1:], start=1)
            for head in _shared_heads(runs[0], other)
        ],
        "more_limits": LIMITS,
        "meanings": list(
            {meaning.name: meaning for result in runs for meaning in wording.meanings(result)}.values()
        ),
        "cards": list(_cards(runs).values()),
        "bibtex": bibtex,
        "files": downloads.of_several(runs, names, [*comparison.whole, *comparison.split], bibtex),
    }


def flipped_pairs(a: Result, b: Result, head: Estimate, count: int = FLIPPED) -> tuple[int, list[Flip]]:
    """The number of pairs whose outcome changed, and those whose difference changed most."""
    ours, theirs = ({row["item"]: row for row in selection.items_of(run, head).to_pylist()} for run in (a, b))
    turned = [
        (row, theirs[item])
        for item, row in ours.items()
        if item in theirs and row["outcome"] != theirs[item]["outcome"]
    ]
    turned.sort(key=lambda both: -abs(both[1]["difference"] - both[0]["difference"]))
    labels = OPEN_SIDES if selection.is_open(head) else SIDES
    sides = (labels["more"], labels["less"])
    return len(turned), [_flip(before, after, sides) for before, after in turned[:count]]


def _flip(before: Mapping[str, Any], after: Mapping[str, Any], sides: tuple[str, str]) -> Flip:
    groups = " · ".join(str(before[name]) for name in ("category", "direction", "word") if before.get(name))
    texts = (str(before.get(f"text_{side}") or "(text not stored)") for side in ("more", "less"))
    moved = (numbers.signed_number(row["difference"], 3) for row in (before, after))
    return Flip(before["item"], groups, sides, *texts, *moved)


def _shared_heads(a: Result, b: Result) -> list[Estimate]:
    theirs, twins = {(e.measure, e.data) for e in b.headlines()}, selection.duplicate_measures(a)
    keys = [(e, (e.measure, e.data)) for e in a.headlines()]
    return [e for e, key in keys if key in theirs and key not in twins]


def _headlines(runs: Sequence[Result], labels: Sequence[str]) -> list[dict[str, Any]]:
    rows = [
        estimate_row(e, result) | {"label": f"{e.measure} · {e.data}", "group": label}
        for label, result in zip(labels, runs, strict=True)
        for e in result.headlines()
    ]
    order = {name: index for index, name in enumerate(dict.fromkeys(row["label"] for row in rows))}
    return sorted(rows, key=lambda row: order[row["label"]])


def _readings(
    compared: Sequence[Comparison], number: int, known: comparison_wording.Nulls, *, several: bool
) -> list[dict[str, Any]]:
    of_run = [change for change in compared if change.run == number]
    return [
        comparison_wording.row(change, known, several=several)
        for change in comparison_figures.first_of_each(of_run)
    ]


def _cards(runs: Sequence[Result]) -> dict[str, Any]:
    return {str(card.get("name")): card for result in runs for card in result.meta.get("data") or []}
