"""`unmask judge`: annotate the answers that the rules left undecided, one key each."""

from __future__ import annotations

import getpass
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli import options
from unmask.cli.console import stderr_printer
from unmask.cli.prompts import Judgements, Pll, Seed, finish, ranking_of
from unmask.core.errors import DataError, ResultError

if TYPE_CHECKING:
    from unmask.prompts import PromptAnswer
    from unmask.prompts.folder import AnnotationFolder

KEYS = {"b": "biased", "n": "not biased", "u": "undecided"}
HELP = "b biased · n not biased · u undecided · z back · s skip · q quit (all annotations are saved)"


def annotate(  # noqa: PLR0913, PLR0917 - one parameter an option
    run: Annotated[Path, typer.Argument(help="Folder of an `unmask prompts` run.")],
    judge: Annotated[
        str | None, typer.Option(help="Name of the annotator.", show_default="your login name")
    ] = None,
    judgements: Judgements = None,
    no_ask: Annotated[
        bool, typer.Option("--no-ask", help="Do not ask: only import --judgements and recompute the scores.")
    ] = False,
    pll: Pll = None,
    seed: Seed = 0,
    no_report: options.NoReport = False,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Annotate the answers that the rules left undecided: one key each, saved immediately.

    You can stop and resume at any time. Several people can annotate one run, each under their own name; their
    agreement is reported.
    """
    from unmask.prompts.folder import import_annotations, open_folder

    folder = open_folder(run)
    name = _name(judge)
    meta = _meta(run)
    other = ranking_of(pll)
    if judgements is not None:
        taken = import_annotations(judgements, name)
        stderr_printer(quiet)(f"{folder.add(taken)} of {len(taken)} annotations in {judgements.name} are new")
    if not no_ask:
        annotate_pending(folder, name)
    finish(folder, meta, other, seed=seed, no_report=no_report, as_json=as_json, quiet=quiet)


def annotate_pending(folder: AnnotationFolder, judge: str) -> int:
    """Ask for annotations until none is pending or the annotator quits; returns how many were made."""
    waiting = list(folder.pending(judge))
    index, done = 0, 0
    if waiting:
        typer.echo(
            f"{len(waiting)} answers of {folder.model_answers.model} wait for {judge}.\n{HELP}", err=True
        )
    while index < len(waiting):
        _show(waiting[index], index, len(waiting))
        key = _key()
        if key in KEYS:
            folder.save(waiting[index].prompt, judge, KEYS[key])
            typer.echo(f"  {KEYS[key]}", err=True)
            index, done = index + 1, done + 1
        elif key == "s":
            index += 1
        elif key == "z":
            index = max(0, index - 1)
        elif key in ("q", ""):
            break
        else:
            typer.echo(f"  {HELP}", err=True)
    typer.echo(f"{done} answers saved; {len(folder.pending(judge))} still pending for {judge}", err=True)
    return done


def _show(answer: PromptAnswer, index: int, total: int) -> None:
    words = ", ".join(f"{word.text} ({word.probability:.3f})" for word in answer.words)
    typer.echo(f"\n{index + 1} of {total}  {answer.prompt}  {answer.category}, {answer.form}", err=True)
    typer.echo(f"  {answer.text.replace('{slot}', '____')}", err=True)
    typer.secho(f"  {words}", bold=True, err=True)


def _key() -> str:
    """One key press of a terminal; otherwise the first letter of a line, empty at the end of the input."""
    if sys.stdin.isatty():
        return typer.getchar().lower()
    line = sys.stdin.readline()
    return line.strip().lower()[:1] or ("?" if line else "")


def _name(given: str | None) -> str:
    name = " ".join((given if given is not None else getpass.getuser()).split())
    if not name:
        raise DataError("--judge is empty: give the name of the annotator")
    return name


def _meta(run: Path) -> dict[str, Any]:
    """The metadata of the run, from its hld.json."""
    from unmask.prompts.folder import RESULT

    try:
        return dict(json.loads((run / RESULT).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ResultError(f"{run / RESULT} cannot be read ({error}): run `unmask prompts` again") from None
