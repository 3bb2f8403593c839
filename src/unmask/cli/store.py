"""`unmask store`: show or clear the cache of model outputs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from unmask.findings.terminal import console, print_json


def store(
    clear: Annotated[bool, typer.Option("--clear", help="Delete the cached outputs.")] = False,
    name: Annotated[list[str] | None, typer.Option(help="With --clear: only this store; can be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the stores, or the bytes freed, as JSON.")] = False,
) -> None:
    """Show where model outputs are cached, of which models, and how large the cache is; clear it."""
    from unmask.models import store as kept

    screen = console()
    if clear:
        freed = kept.clear_stores(name)
        print_json({"freed": freed}) if as_json else screen.print(f"freed {freed / 1e6:.1f} MB")
        return
    listed = kept.list_stores()
    if as_json:
        print_json({"folder": str(kept.store_dir()), "stores": [asdict(file) for file in listed]})
        return
    total = sum(file.size for file in listed) / 1e6
    screen.print(f"{kept.store_dir()}: {total:.1f} MB in {len(listed)} stores", soft_wrap=True)
    for file in listed:
        readings = "damaged or of a newer version" if file.readings is None else f"{file.readings:,} sentences"
        model = file.model or "model unknown"
        screen.print(f"  {file.name}  {file.size / 1e6:8.1f} MB  {readings}  {model}", soft_wrap=True)
