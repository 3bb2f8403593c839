"""The command line: one module per command. Results go to stdout, progress to stderr.

Exit codes: 0 success, 1 a gate failed (or, with --strict, a check), 2 bad input (one line, no traceback).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Sequence
from importlib import import_module

import typer

from unmask.cli.annotate import annotate
from unmask.cli.console import repeat_options
from unmask.core.errors import DataError, UnmaskError
from unmask.training.distributed import is_main_process, world_size

COMMANDS = (  # each is the function of its name in the module of its name, or the `app` there
    *("audit", "compare", "diagnose", "explain", "explore", "gate", "report", "list", "mitigate", "task"),
    *("prompts", "annotate", "vectors", "corpus", "data", "store", "study"),
)
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
for _name in COMMANDS:
    _module = import_module(f"unmask.cli.{_name}")
    if hasattr(_module, "app"):
        app.add_typer(_module.app, name=_name)
    else:
        app.command(_name)(getattr(_module, _name, None) or _module.listing)
app.command("judge", hidden=True)(annotate)  # the earlier name of annotate


def _version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(version("unmask"))
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
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
        typer.echo("unmask: interrupted; finished batches are cached, run the same command again to resume", err=True)
        raise SystemExit(130) from None


def _one_line(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    if issubclass(category, UserWarning):
        typer.echo(f"unmask: {message}", err=True)
