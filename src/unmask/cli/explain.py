"""`unmask explain`: which tokens make the difference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.findings.terminal import console

if TYPE_CHECKING:
    from unmask.audit.attribution import Explanation, TokenPart

NO_SUM = "(contributions do not add up: these scores are not sums of log-probabilities)"


def explain(
    run: Annotated[Path, typer.Argument(help="Result folder.")],
    item: Annotated[
        str | None, typer.Argument(help="Item id; default: the largest differences in both directions.")
    ] = None,
    measure: Annotated[str | None, typer.Option(help="Measure.", show_default="the first of the run")] = None,
    top: Annotated[int, typer.Option(help="Number of items or tokens to show.")] = 5,
) -> None:
    """Show how much each token contributes to the difference of a pair."""
    from unmask.audit.attribution import explain as explain_run
    from unmask.core.options import check_number

    check_number("--top", top, least=1)
    for explanation in explain_run(run, item, measure=measure, top=top):
        _show(explanation, top if item is not None else 3)


def _show(explanation: Explanation, top: int) -> None:
    screen = console()
    winners = {"more": "the stereotyping sentence", "less": "the other sentence", "tie": "neither"}
    won = f"{winners[explanation.outcome]} wins by {abs(explanation.difference):.4f}"
    screen.print(f"{explanation.item}  {explanation.measure}: {won}")
    screen.print(f"  more: {_mark_changed(explanation.more) or explanation.text_more}")
    screen.print(f"  less: {_mark_changed(explanation.less) or explanation.text_less}")
    for words, contribution, changed in explanation.deciding()[:top]:
        screen.print(f"    {contribution:+9.4f}  {words}  ({'changed' if changed else 'shared'} word)")
    screen.print("" if explanation.adds_up else f"    {NO_SUM}\n")


def _mark_changed(tokens: tuple[TokenPart, ...]) -> str:
    """The tokens of the sentence, changed ones in brackets."""
    return " ".join(f"[{token.token}]" if token.in_span else token.token for token in tokens)
