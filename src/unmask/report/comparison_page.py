"""The page that compares runs: models side by side, paired changes, templates before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unmask.audit.compare import compare
from unmask.audit.interpretation import checks_warning, doubt_of
from unmask.audit.result import AuditResult
from unmask.core.errors import ResultError
from unmask.core.estimate import Estimate
from unmask.findings import numbers
from unmask.findings.assets import as_link
from unmask.findings.figure import Figure
from unmask.findings.html import Download
from unmask.report import comparison_figures, selection, tables
from unmask.report import page as pages
from unmask.report.changes import change_row, is_significant, summarize_changes
from unmask.report.pairs import side_names
from unmask.report.provenance import names_files, repeat_command
from unmask.report.selection import LETTERS
from unmask.report.tables import estimate_row
from unmask.stats.paired import Comparison

Changes = tuple[tuple[Comparison, ...], tuple[Comparison, ...]]  # over all items; by category
FLIPPED = 6  # pairs shown per measure
LIMITS = (
    "A change is a change of these scores on these sentences. A score that moved to its reference value does not show "
    "that the model behaves more fairly in use: mitigations have been found to lower such scores and to "
    "leave the behaviour of fine-tuned models as it was (Kaneko et al., 2022).",
    "A score can also move to its reference value because the model has become worse at language modelling. Look "
    "at the checks, and at words that rightly go with one gender: these should still do so.",
    "The intervals cover the sampling of sentences, not the randomness of training: the same mitigation with "
    "another seed may give another change.",
)


def compare_runs(runs: Sequence[AuditResult], *, seed: int = 0) -> Changes:
    """Compare every run with the first, item by item, as `unmask compare` does: over all items, and by category."""
    if len(runs) > len(LETTERS):
        raise ResultError(f"{len(runs)} runs given: compare at most {len(LETTERS)} on one page")
    comparisons = compare(*runs, categories=True, seed=seed)
    whole = tuple(change for change in comparisons if change.group == "all")
    return whole, tuple(change for change in comparisons if change.group != "all")


def draw_figures(runs: Sequence[AuditResult], compared: Changes) -> dict[str, list[Figure]]:
    """Draw every chart of the page, by section."""
    names, (whole, split) = selection.model_names(runs), compared
    return {
        "headline": comparison_figures.side_by_side(runs, names),
        "changes": comparison_figures.changes(whole, names, several=_several_data(whole)),
        "category": comparison_figures.by_category([*whole, *split], names),
        "templates": [
            figure
            for number, other in enumerate(runs[1:], start=1)
            for figure in comparison_figures.templates(runs[0], other, number)
        ],
        "spread": comparison_figures.difference_histograms(runs),
    }


def page(runs: Sequence[AuditResult], compared: Changes, figures: Mapping[str, list[Figure]] | None = None) -> str:
    """Render the page of two or more runs, with its charts if they are drawn already."""
    figures = draw_figures(runs, compared) if figures is None else figures
    flat = [figure for group in figures.values() for figure in group]
    return pages.render_page("comparison.html.jinja", flat, figures=figures, **_content(runs, compared))


def _content(runs: Sequence[AuditResult], compared: Changes) -> dict[str, Any]:
    names, (whole, split) = selection.model_names(runs), compared
    several, metas = _several_data(whole), [run.meta for run in runs]
    labels, bibtex = selection.lettered_names(names), pages.collect_bibtex(runs)
    meanings = {meaning["name"]: meaning for run in runs for meaning in pages.meanings(run)}
    cards = {card["name"]: card for run in runs for card in run.meta["data"]}
    doubtful = {(e.measure, e.data) for run in runs for e in run.headlines() if doubt_of(run, e.data, e.measure)}
    records = tables.full_changes([*whole, *split], names)

    def rows(changes: Sequence[Comparison]) -> list[dict[str, Any]]:
        marks = (" †" if (change.measure, change.data) in doubtful else "" for change in changes)
        return [
            {**change_row(change, several=several), "dagger": dagger}
            for change, dagger in zip(changes, marks, strict=True)
        ]

    return {
        "names": names,
        "models": list(zip(LETTERS, names, metas, strict=False)),
        "version": runs[0].meta["unmask"],
        "introduction": pages.introduction(*runs),
        "checked": pages.summarize_checks(runs, labels),
        "failed": [
            (f"{name} · {check.name}", check.detail)
            for name, run in zip(names, runs, strict=True)
            for check in run.checks
            if not check.ok
        ],
        "warning": checks_warning(*runs),
        "visible": pages.visible_words(runs, labels),
        "verdicts": [
            (labels[number], summarize_changes(runs[0], other, (*whole, *split), number=number))
            for number, other in enumerate(runs[1:], start=1)
        ],
        "written": max((run.timestamp for run in runs if run.timestamp), default=None),
        "commands": [(letter, repeat_command(run)) for letter, run in zip(LETTERS, runs, strict=False)],
        "names_files": any(map(names_files, runs)),
        "headlines": comparison_figures.by_label(
            [
                estimate_row(e, run) | {"label": f"{e.measure} · {e.data}", "group": label}
                for label, run in zip(labels, runs, strict=True)
                for e in run.headlines()
            ]
        ),
        "readings": [
            (labels[number], rows(_shown([c for c in whole if c.run == number]))) for number in range(1, len(runs))
        ],
        "changes_rows": rows(whole),
        "categories": rows(split),
        "spreads": [
            pages.spread_row(e, run) | {"label": f"{letter} · {e.measure} · {e.data}"}
            for letter, run in zip(LETTERS, runs, strict=False)
            for e in run.headlines()
        ],
        "flips": [
            (f"{LETTERS[number]} · {head.measure} · {head.data}", flipped_pairs(runs[0], other, head))
            for number, other in enumerate(runs[1:], start=1)
            for head in _shared_heads(runs[0], other)
        ],
        "kinds": selection.item_kinds([e for run in runs for e in run.headlines()]),
        "more_limits": LIMITS,
        "meanings": list(meanings.values()),
        "cards": list(cards.values()),
        "bibtex": bibtex,
        "files": [
            Download("comparison.json", "the runs and their changes", as_link({"runs": metas, "changes": records})),
            pages.csv_file("changes.csv", "every paired change", tables.as_table("Changes", records)),
            pages.csv_file("estimates.csv", "every estimate of every run", tables.full_estimates(runs, names)),
            *pages.bibtex_files(bibtex),
        ],
    }


def flipped_pairs(
    a: AuditResult, b: AuditResult, head: Estimate, count: int = FLIPPED
) -> tuple[int, list[dict[str, Any]]]:
    """The number of pairs whose outcome changed, and those whose difference changed most."""
    ours, theirs = ({row["item"]: row for row in selection.items_of(run, head).to_pylist()} for run in (a, b))
    both = [(row, theirs[item]) for item, row in ours.items() if item in theirs]
    turned = [(row, other) for row, other in both if row["outcome"] != other["outcome"]]
    turned.sort(key=lambda pair: -abs(pair[1]["difference"] - pair[0]["difference"]))
    sides = side_names(a, head)
    shown = [
        {
            "item": before["item"],
            "groups": selection.groups_of(before),
            "sides": (sides.labels["more"], sides.labels["less"]),
            **{side: str(before.get(f"text_{side}") or "(text not stored)") for side in ("more", "less")},
            "before": numbers.signed_number(before["difference"], 3),
            "after": numbers.signed_number(after["difference"], 3),
        }
        for before, after in turned[:count]
    ]
    return len(turned), shown


def _shown(changes: Sequence[Comparison]) -> list[Comparison]:
    """The changes in words: the first of every measure and dataset, and what else changed beyond chance."""
    first = comparison_figures.first_of_each(changes)
    return [change for change in changes if change in first or is_significant(change)]


def _several_data(changes: Sequence[Comparison]) -> bool:
    return len({change.data for change in changes}) > 1


def _shared_heads(a: AuditResult, b: AuditResult) -> list[Estimate]:
    shared = {(e.measure, e.data) for e in b.headlines()} - selection.duplicate_measures(a).keys()
    return [e for e in a.headlines() if (e.measure, e.data) in shared]
