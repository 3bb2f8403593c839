"""`unmask data`: fetch and verify datasets, show their cards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli.words import console

if TYPE_CHECKING:
    from unmask.types import Card

app = typer.Typer(help="Fetch and verify datasets; show a card and a sample.", no_args_is_help=True)


@app.command("get")
def get(
    name: Annotated[str, typer.Argument(help="Dataset; see `unmask list data`.")],
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of datasets.", show_default="the cache")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch again what is there.")] = False,
) -> None:
    """Download a dataset's files and check their sha256."""
    from unmask import data

    for path in data.get(name, data_dir=data_dir, force=force):
        console().print(f"{name}: {path}", soft_wrap=True)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="Dataset or file of pairs.")],
    data_dir: Annotated[Path | None, typer.Option(help="Folder of datasets.")] = None,
    sample: Annotated[int, typer.Option(help="How many items to show.")] = 3,
) -> None:
    """Print a dataset's card, and some of its items if it is on this machine."""
    from unmask import data
    from unmask.errors import DataError

    screen = console()
    try:
        loaded = data.load(name, data_dir=data_dir)
    except DataError as error:
        if name not in data.names():
            raise
        _card(data.card(name))
        screen.print(f"items: {error}", soft_wrap=True)
        return
    _card(loaded.card)
    screen.print(f"sha256: {loaded.sha256} ({'verified' if loaded.verified else 'unverified'})")
    for item in loaded.items[:sample]:
        groups = ", ".join(f"{key}={value}" for key, value in item.groups.items())
        screen.print(f"\n{item.id}  {groups}", soft_wrap=True)
        for side, text in item.sides().items():
            screen.print(f"  {side}: {text}", soft_wrap=True)


def _card(card: Card) -> None:
    screen = console()
    for label, value in (
        ("name", card.name),
        ("title", card.title),
        ("items", f"{card.size:,}"),
        ("languages", ", ".join(card.languages)),
        ("licence", card.licence),
        ("source", card.source),
        ("known problems", card.problems),
        ("cite", card.citation),
    ):
        screen.print(f"{label}: {value}", soft_wrap=True)
