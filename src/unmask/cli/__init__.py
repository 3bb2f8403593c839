"""The command line: one module per command. Results go to stdout, progress to stderr.

Exit codes: 0 success, 1 a gate failed (or, with --strict, a check), 2 bad input (one line, no traceback).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence

import typer

from unmask.cli import (
    annotate,
    audit,
    compare,
    corpus,
    data,
    diagnose,
    explain,
    explore,
    gate,
    mitigate,
    prompts,
    report,
    store,
    study,
    task,
    vectors,
)
from unmask.cli import list as listing
from unmask.cli.console import repeat_options
from unmask.core.errors import DataError, UnmaskError
from unmask.training.distributed import is_main_process, world_size

TRAINING = ("mitigate", "task")  # commands that may run under accelerate launch
GRACE = 5.0  # seconds the other ranks wait, so that rank 0 can print the error before the launcher kills all

app = typer.Typer(
    name="unmask",
    help="Measure, explain and mitigate social bias in language models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("audit")(audit.audit)
app.command("compare")(compare.compare)
app.command("diagnose")(diagnose.diagnose)
app.command("explain")(explain.explain)
app.command("explore")(explore.explore)
app.command("gate")(gate.gate)
app.command("report")(report.report)
app.command("list")(listing.listing)
app.command("mitigate")(mitigate.mitigate)
app.command("task")(task.task)
app.command("prompts")(prompts.prompts)
app.command("annotate")(annotate.annotate)
app.command("judge", hidden=True)(annotate.annotate)  # its earlier name
app.command("vectors")(vectors.vectors)
app.add_typer(corpus.app, name="corpus")
app.add_typer(data.app, name="data")
app.command("store")(store.store)
app.command("study")(study.study)


def _version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(version("unmask"))
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Measure, explain and mitigate social bias in language models."""
    if world_size() > 1 and context.invoked_subcommand not in TRAINING:
        raise DataError(
            f"unmask {context.invoked_subcommand} runs in one process: start it without accelerate launch, "
            f"which only supports unmask {' and '.join(TRAINING)}"
        )


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line; an `UnmaskError` is printed as one line on stderr, with exit code 2."""
    warnings.showwarning = _one_line
    try:
        app(repeat_options([*(sys.argv[1:] if argv is None else argv)]), prog_name="unmask")
    except UnmaskError as error:
        if is_main_process():
            typer.echo(f"unmask: {error}", err=True)
        else:
            time.sleep(GRACE)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        typer.echo(
            "unmask: interrupted; finished batches are cached, run the same command again to resume", err=True
        )
        raise SystemExit(130) from None


def _one_line(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, UserWarning):
        typer.echo(f"unmask: {message}", err=True)
