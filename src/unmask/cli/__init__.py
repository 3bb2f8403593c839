"""The command line: one module per command. Results go to stdout, progress to stderr.

Exit codes: 0 success, 1 a gate failed (or, with --strict, a check), 3 a gate cannot tell, 2 bad input or a place that
cannot be read or written, 70 a defect of unmask, 128 + number of a signal (130 for Ctrl+C, 143 for SIGTERM). Errors
are one line.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from unmask.cli.console import find_command, repeat_options, valued_options
from unmask.core import signals
from unmask.core.boundary import has_surrogates
from unmask.core.errors import MAX_FOUND, MAX_MESSAGE, DataError, UnmaskError, one_line, quote, shorten
from unmask.findings import terminal
from unmask.training.distributed import is_main_process, world_size

SUMMARIES = {  # each is the function of its name in the module of its name, or the `app` there
    "audit": "Measure the bias of a model on pairs of sentences and templates.",
    "plan": "Find what the data can see, and how many items are needed.",
    "compare": "Compare runs item by item: every change with its interval.",
    "diagnose": "Test what a score depends on besides bias.",
    "explain": "Show how much each token contributes to a pair's difference.",
    "explore": "Serve a local page: pairs, tokens, models, a live input box.",
    "gate": "Fail if a run is worse than its baseline: for CI.",
    "report": "Write a page, tables for a paper, figures or a model card.",
    "list": "List measures, data, models, diagnoses, mitigations, tasks …",
    "mitigate": "Mitigate the bias of a model and measure the change and cost.",
    "task": "Measure bias in downstream tasks.",
    "prompts": "Find the likeliest words for prompts and classify them.",
    "annotate": "Annotate the answers to prompts that the rules left undecided.",
    "vectors": "Test associations in word vectors or hidden states.",
    "corpus": "Count, flag and measure the words of two groups in a corpus.",
    "data": "Fetch and verify datasets; show a card and a sample.",
    "store": "Show where model outputs are cached and how large they are.",
    "study": "Replicate a paper beside its published numbers.",
    "run": "Repeat a command from its run file.",
    "export": "Write a result in the format of another tool.",
    "import": "Import a run of lm-eval as the result of an audit.",
}
COMMANDS = tuple(SUMMARIES)
MODULES = {"import": "import_run"}  # of commands whose module and function have another name
PASSING = {"allow_extra_args": True, "ignore_unknown_options": True}  # settings of a command that runs another
TRAINING = ("mitigate", "task")  # commands that may run under accelerate launch
BAD_INPUT, DEFECT, CLOSED_PIPE = 2, 70, 141  # exit codes
NO_MEMORY = "can't allocate memory"  # in what torch raises
COMPLETE = "_UNMASK_COMPLETE"  # set by the shell that completes a command
GRACE = 5.0  # seconds the other ranks wait, so that rank 0 can print the error before the launcher kills all


def make_app(names: Sequence[str] = COMMANDS) -> typer.Typer:
    """The command line with some commands or all: the modules of the others are not imported."""
    app = typer.Typer(
        name="unmask",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name in names:
        home = MODULES.get(name, name)
        module = import_module(f"unmask.cli.{home}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name, short_help=SUMMARIES[name])
        else:
            function = module.listing if name == "list" else getattr(module, home)
            settings = PASSING if name == "run" else None
            app.command(name, context_settings=settings, short_help=SUMMARIES[name])(function)
    return app


def _version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        typer.echo(version("unmask"))
        raise typer.Exit


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
    """Run the command line and exit; whatever goes wrong is one line on stderr, and an exit code."""
    warnings.showwarning = _print_warning
    try:
        code = run_command([*(sys.argv[1:] if argv is None else argv)])
    except BaseException as error:
        if signals.is_interrupted() or isinstance(error, KeyboardInterrupt | typer.Abort):
            signals.end()
        if not isinstance(error, Exception):
            raise
        code = _print_error(error)
    raise SystemExit(code)


def run_command(words: list[str]) -> int:
    """Run a command and return its exit code."""
    if unreadable := [word for word in words if has_surrogates(word)]:
        raise DataError(f"{quote(unreadable[0])} is not UTF-8: give names in UTF-8, or rename the file")
    named = bool(words) and words[0] in COMMANDS
    completing = COMPLETE in os.environ
    command = typer.main.get_command(make_app(words[:1] if named and not completing else COMMANDS))
    if completing:  # the shell asks for completions, which the command prints
        command.main(prog_name="unmask")
    inner, _ = find_command(command, [word for word in words[:2] if not word.startswith("-")])
    given = repeat_options(words, valued_options(inner))
    try:
        with command.make_context("unmask", given) as context:
            command.invoke(context)
        sys.stdout.flush()  # a full disk or a closed pipe is noticed here
    except typer.Exit as ended:
        sys.stdout.flush()
        return ended.exit_code
    return 0


def _print_error(error: Exception) -> int:
    """Print an error in one line and return the exit code; in other processes than rank 0, wait for that."""
    if isinstance(error, BrokenPipeError):  # the reader, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    message, code = _explain_error(error)
    if not _prints():
        time.sleep(GRACE)
    elif message:
        terminal.say(f"unmask: {shorten(one_line(message), MAX_MESSAGE)}")
    return code


def _prints() -> bool:
    """Whether this process prints errors; also where what says so is the error."""
    try:
        return is_main_process()
    except DataError:
        return True


def _explain_error(error: Exception) -> tuple[str, int]:
    """The message of an error, and the exit code."""
    if isinstance(error, UnmaskError):
        return str(error), BAD_INPUT
    if hasattr(error, "format_message"):  # a usage error of the command line parser
        return _explain_usage(error)
    import traceback

    if os.environ.get("UNMASK_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, OSError):
        place = "the input or output" if error.filename is None else str(error.filename)
        return f"{place} cannot be read or written ({error.strerror or error})", BAD_INPUT
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or NO_MEMORY in str(error):
        return (
            f"not enough memory ({quote(str(error))}): free some, or use smaller batches (--tokens, --batch)",
            BAD_INPUT,
        )
    if isinstance(error, RecursionError):
        return "an input is nested too deeply: write it again with fewer levels", BAD_INPUT
    kind, frame = type(error).__name__, traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return (
        f"unexpected error at {place}: {kind}: {shorten(str(error), MAX_FOUND)}. This is a defect of unmask: "
        "please report it with the traceback that UNMASK_DEBUG=1 prints",
        DEFECT,
    )


def _explain_usage(error: Any) -> tuple[str, int]:
    """The message of what the parser of the command line refuses; help is printed where no command is given."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return "", error.exit_code
    command = error.ctx.command_path if getattr(error, "ctx", None) else "unmask"
    message = error.format_message().replace("Value error, ", "").rstrip(".")  # of the library that checks values
    return f"{message} (see {command} --help)", error.exit_code


def _print_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print a warning for users in one line; those for developers are left out."""
    if issubclass(category, UserWarning):
        terminal.say(f"unmask: {one_line(str(message))}")
