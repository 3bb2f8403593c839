"""`unmask store`: show or clear the cache of model outputs."""

from __future__ import annotations

from typing import Annotated

import typer

from unmask.findings.terminal import console


def store(
    clear: Annotated[bool, typer.Option("--clear", help="Delete the cached outputs.")] = False,
    name: Annotated[list[str] | None, typer.Option(help="With --clear: only this store; can be repeated.")] = None,
) -> None:
    """Show where model outputs are cached and how large the cache is; clear it."""
    from unmask.models import store as kept

    screen = console()
    if clear:
        screen.print(f"freed {kept.clear_stores(name) / 1e6:.1f} MB")
        return
    listed = kept.list_stores()
    total = sum(file.size for file in listed) / 1e6
    screen.print(f"{kept.store_dir()}: {total:.1f} MB in {len(listed)} stores")
    for file in listed:
        readings = "damaged or of a newer version" if file.readings is None else f"{file.readings:,} sentences"
        screen.print(f"  {file.name}  {file.size / 1e6:8.1f} MB  {readings}")
