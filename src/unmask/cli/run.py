"""`unmask run`: repeat a command from its run file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unmask.findings.terminal import say


def run(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Run file that --save-config wrote, or the result folder of an audit.")],
    changed: Annotated[bool, typer.Option("--changed", help="Run also if data have changed since.")] = False,
) -> None:
    """Repeat a command from its run file.

    Further options are those of the command, and replace the ones in the file: unmask run audit.yaml --limit 20.
    """
    from unmask.cli import run_command
    from unmask.cli.run_file import check_data, describe_versions, read_run, repeated, run_words

    name = str(file)
    kept, words = run_words(read_run(file), context.args, name=name)
    if not changed:
        check_data(kept, name)
    if line := describe_versions(kept, name):
        say(f"unmask: {line}")
    token = repeated.set((name, kept))
    try:
        raise typer.Exit(run_command(words))
    finally:
        repeated.reset(token)
