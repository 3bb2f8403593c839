"""`unmask explain`: which tokens make the difference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.findings.terminal import console

if TYPE_CHECKING:
    from unmask.audit.attribution import Explanation, TokenPart
    from unmask.audit.result import Result


def explain(
    run: Annotated[Path, typer.Argument(help="Result folder.")],
    item: Annotated[
        str | None, typer.Argument(help="Item id; default: the items with the largest differences.")
    ] = None,
    measure: Annotated[str | None, typer.Option(help="Measure.", show_default="the first of the run")] = None,
    top: Annotated[int, typer.Option(help="Number of items or tokens to show.")] = 5,
) -> None:
    """Show how much each token contributes to the difference of a pair."""
    from unmask.audit.result import load, measures_of, require_measure

    result = load(run)
    if measure is not None:
        require_measure(result, measure)
    if item is not None:
        _show(result.explain(item, measure), top)
        return
    name = measure or measures_of(result)[0]
    for chosen in _largest_differences(result, name, top):
        _show(result.explain(chosen, name), 3)


def _largest_differences(result: Result, measure: str, top: int) -> list[str]:
    import pyarrow.compute as pc

    table = result.items
    scored = table.filter(pc.and_(pc.equal(table["measure"], measure), pc.is_valid(table["difference"])))
    order = pc.sort_indices(pc.abs(scored["difference"]), sort_keys=[("", "descending")])
    return list(scored["item"].take(order[:top]).to_pylist())


def _show(explanation: Explanation, top: int) -> None:
    screen = console()
    winner = {"more": "the stereotyping sentence", "less": "the other sentence", "tie": "neither"}[
        explanation.outcome
    ]
    screen.print(
        f"{explanation.item}  {explanation.measure}: {winner} wins by {abs(explanation.difference):.4f}"
    )
    screen.print(f"  more: {_mark_changed(explanation.more) or explanation.text_more}")
    screen.print(f"  less: {_mark_changed(explanation.less) or explanation.text_less}")
    for token, part, in_span in explanation.deciding()[:top]:
        where = "changed word" if in_span else "shared word"
        screen.print(f"    {part:+9.4f}  {token}  ({where})")
    screen.print("")


def _mark_changed(tokens: tuple[TokenPart, ...]) -> str:
    """The tokens of the sentence, changed ones in brackets."""
    return " ".join(f"[{token.token}]" if token.in_span else token.token for token in tokens)
