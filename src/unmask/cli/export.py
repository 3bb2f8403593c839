"""`unmask export`: write a result in the format of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[Path, typer.Argument(help="Result folder.")],
    to: Annotated[str, typer.Option("--to", help="every-eval-ever, inspect, mlflow, trackio or wandb.")],
    out: Annotated[str, typer.Option("--out", "-o", help="Folder; for mlflow also a tracking URI.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a result in the format of another tool; nothing is uploaded, but to a tracking URI of MLflow."""
    from unmask.findings.terminal import print_json, write_out
    from unmask.interchange import FORMATS

    chosen = FORMATS.find(to)
    from unmask.interchange.run import export as write_export

    written = write_export(run, to=chosen, out=out)
    if as_json:
        print_json({"written": str(written)})
    else:
        write_out(f"wrote {written}\n")
