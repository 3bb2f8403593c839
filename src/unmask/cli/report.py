"""`unmask report`: a self-contained page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unmask.cli.words import console


def report(
    run: Annotated[Path, typer.Argument(help="Result folder.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("report.html"),
) -> None:
    """Write a page one can read offline and send by mail."""
    from unmask.report import write
    from unmask.result import load

    console().print(f"wrote {write(load(run), out)}", soft_wrap=True)
