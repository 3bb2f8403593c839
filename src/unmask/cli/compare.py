"""`unmask compare`: compare runs with paired tests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unmask.core.errors import ResultError


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Result folders; each is compared with the first.")],
    categories: Annotated[bool, typer.Option("--categories", help="Also list the changes by category.")] = False,
    seed: Annotated[int, typer.Option(help="Random seed of the bootstrap.")] = 0,
    independent: Annotated[
        bool, typer.Option("--independent", help="Take pairs for independent, whatever writer, term, … they share.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparisons as JSON.")] = False,
) -> None:
    """Compare runs: change of every score, interval, paired test with Holm's correction.

    The sentences say what changed over all items and by category. Audits are compared item by item, results of other
    commands by their estimates. Of audits of masked models it also says how well each model reads visible words:
    training can damage that without a check that fails.
    """
    from unmask.audit.compare import compare as compare_results
    from unmask.audit.result import AuditResult, load
    from unmask.core.files import plain
    from unmask.findings import Finding
    from unmask.findings.terminal import print_json, show
    from unmask.report.changes import summarize_changes
    from unmask.report.page import visible_words
    from unmask.report.tables import change_table

    if len(runs) < 2:
        raise ResultError(f"{len(runs)} run given: name at least two result folders to compare")
    results = [load(run) for run in runs]
    changes = compare_results(*results, categories=True, seed=seed, independent=independent)
    listed = [change for change in changes if categories or change.group == "all"]
    names = [run.name for run in runs]
    if not as_json:
        first, *others = results
        said = [
            f"{name}: {line}"
            for number, (name, other) in enumerate(zip(names[1:], others, strict=True), start=1)
            if isinstance(first, AuditResult) and isinstance(other, AuditResult)
            for line in summarize_changes(first, other, changes, number=number)
        ]
        show(Finding(tuple(said), (change_table(listed, names),), notes=tuple(visible_words(results, names))))
        return
    by_run = [[plain(change) for change in listed if change.run == number] for number in range(1, len(runs))]
    print_json([{"a": names[0], "b": b, "comparisons": c} for b, c in zip(names[1:], by_run, strict=True)])
