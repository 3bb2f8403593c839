"""`unmask explain`: which tokens make the difference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unmask.core.files import plain
from unmask.findings.terminal import console, print_json


def explain(
    run: Annotated[Path, typer.Argument(help="Result folder.")],
    item: Annotated[
        str | None, typer.Argument(help="Item id; default: the largest differences in both directions.")
    ] = None,
    measure: Annotated[str | None, typer.Option(help="Measure.", show_default="the first of the run")] = None,
    top: Annotated[int, typer.Option(help="Number of items or tokens to show.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print items and tokens as JSON.")] = False,
) -> None:
    """Show how much each token contributes to the difference of a pair.

    Contributions add up to the difference. That is arithmetic and shows no cause: without a word that contributes much
    the difference need not change much.
    """
    from unmask.audit.attribution import ARITHMETIC
    from unmask.audit.attribution import explain as explain_run
    from unmask.core.options import check_number

    check_number("--top", top, least=1)
    explanations = explain_run(run, item, measure=measure, top=top)
    if as_json:
        print_json([plain(explanation) for explanation in explanations])
        return
    for explanation in explanations:
        console().print(explanation.text(top if item is not None else 3) + "\n")
    if any(explanation.adds_up for explanation in explanations):
        console().print(ARITHMETIC)
