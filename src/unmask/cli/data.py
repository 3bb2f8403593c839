"""`unmask data`: fetch and verify datasets, show their cards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.findings.terminal import console

if TYPE_CHECKING:
    from unmask.core.types import Card

app = typer.Typer(help="Fetch and verify datasets; show a card and a sample.", no_args_is_help=True)


@app.command("get")
def get(
    name: Annotated[str, typer.Argument(help="Dataset; see `unmask list data`.")],
    data_dir: Annotated[Path | None, typer.Option(help="Folder of datasets.", show_default="the cache")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace existing files that differ from the published ones.")
    ] = False,
) -> None:
    """Download a dataset's files and check their sha256."""
    from unmask import data

    for path in data.get(name, data_dir=data_dir, force=force):
        console().print(f"{name}: {path}", soft_wrap=True)


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(help="Dataset or file of pairs.")],
    data_dir: Annotated[Path | None, typer.Option(help="Folder of datasets.")] = None,
    sample: Annotated[int, typer.Option(help="Number of items to show.")] = 3,
) -> None:
    """Print a dataset's card, and some of its items if it is on this machine."""
    from unmask import data
    from unmask.core.errors import DataError

    if name in data.tables():
        table, card = data.read(name), data.card(name)
        _card(card, f"{card.files[0].sha256} (verified)")
        _records(table, sample)
        return
    screen = console()
    try:
        loaded = data.load(name, data_dir=data_dir)
    except DataError as error:
        if name not in data.SOURCES:
            raise
        _card(data.card(name))
        screen.print(f"items: {error}", soft_wrap=True)
        return
    _card(loaded.card, f"{loaded.sha256} ({'verified' if loaded.verified else 'unverified'})")
    for item in loaded.items[:sample]:
        groups = ", ".join(f"{key}={value}" for key, value in item.groups.items())
        screen.print(f"\n{item.id}  {groups}", soft_wrap=True)
        for side, text in item.sides().items():
            screen.print(f"  {side}: {text}", soft_wrap=True)


def _records(table: Any, sample: int) -> None:
    """Print some records of a table field by field; if it has several kinds of record, some of each."""
    screen = console()
    for kind, records in _kinds(table):
        for record in records[:sample]:
            screen.print(f"\n{kind}" if kind else "")
            for field, value in record.items():
                if value not in ("", None):
                    screen.print(f"  {field}: {_field_text(value)}", soft_wrap=True)


def _field_text(value: Any) -> str:
    """A field of a record as text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={text}" for key, text in value.items())
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _kinds(table: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The kinds of record in a table, each with its records as mappings."""
    if isinstance(table, tuple):
        yield "", [asdict(record) for record in table]
        return
    for field in fields(table):
        records = getattr(table, field.name)
        if isinstance(records, Mapping):
            yield field.name, [{key: value} for key, value in records.items()]
        else:
            yield field.name, [asdict(record) for record in records]


def _card(card: Card, checksum: str = "") -> None:
    for label, value in (
        ("name", card.name),
        ("title", card.title),
        ("items", f"{card.size:,}"),
        ("languages", ", ".join(card.languages)),
        ("licence", card.licence),
        ("source", card.source),
        ("known problems", card.problems),
        ("cite", card.citation),
        *([("sha256", checksum)] if checksum else []),
    ):
        console().print(f"{label}: {value}", soft_wrap=True)
