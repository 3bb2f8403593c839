"""`unmask annotate`: annotate the answers that the rules left undecided, one key each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli import options
from unmask.cli.prompts import finish
from unmask.core.errors import DataError
from unmask.core.options import Options
from unmask.core.signals import keep
from unmask.findings.terminal import say
from unmask.prompts.spec import PromptSettings

if TYPE_CHECKING:
    from unmask.prompts.annotations import AnnotationFolder
    from unmask.prompts.fill import PromptAnswer

KEYS = {"b": "biased", "n": "not biased", "u": "undecided"}
HELP = "b biased · n not biased · u undecided · z back · s skip · q quit (all annotations are saved)"


@options.with_groups
def annotate(
    run: Annotated[Path, typer.Argument(help="Folder of an `unmask prompts` run.")],
    judge: Annotated[str, typer.Option(help="Name of the annotator, which is written to the folder.")] = "annotator",
    no_ask: Annotated[
        bool, typer.Option("--no-ask", help="Do not ask: only import --judgements and recompute the scores.")
    ] = False,
    *,
    settings: Annotated[PromptSettings, options.Without("file", "top", "counting")],
    seed: Annotated[Options, options.Without("limit", "tokens", "store", "data_dir", "offline", "mapping")],
    output: options.Output,
) -> None:
    """Annotate the answers that the rules left undecided: one key each, saved immediately.

    You can stop and resume at any time. Several people can annotate one run, each under their own name; their
    agreement is reported.
    """
    from unmask.prompts.annotations import import_annotations, open_folder
    from unmask.prompts.run import update_result

    folder, name = open_folder(run), " ".join(judge.split())
    if not name:
        raise DataError("--judge is empty: give the name of the annotator")
    if settings.judgements is not None:
        taken = import_annotations(settings.judgements, name)
        new = folder.add(taken)
        output.say(f"{new} of {len(taken)} annotations in {settings.judgements.name} are new")
    keep("all annotations")
    if not no_ask:
        annotate_pending(folder, name)
    finish(update_result(folder, pll=settings.pll, seed=seed.seed), output)


def annotate_pending(folder: AnnotationFolder, judge: str) -> int:
    """Ask for annotations until none is pending or the annotator quits; returns how many were made."""
    waiting = list(folder.pending(judge))
    index, done = 0, 0
    if waiting:
        model = folder.model_answers.model
        say(f"{len(waiting)} answers of {model} wait for {judge}.\n{HELP}")
    while index < len(waiting):
        _show(waiting[index], index, len(waiting))
        key = _key()
        if key in KEYS:
            folder.save(waiting[index].prompt, judge, KEYS[key])
            say(f"  {KEYS[key]}")
            index, done = index + 1, done + 1
        elif key == "s":
            index += 1
        elif key == "z":
            index = max(0, index - 1)
        elif key in ("q", ""):
            break
        else:
            say(f"  {HELP}")
    say(f"{done} answers saved; {len(folder.pending(judge))} still pending for {judge}")
    return done


def _show(answer: PromptAnswer, index: int, total: int) -> None:
    words = ", ".join(f"{word.text} ({word.probability:.3f})" for word in answer.words)
    say(f"\n{index + 1} of {total}  {answer.prompt}  {answer.category}, {answer.form}")
    say(f"  {answer.text.replace('{slot}', '____')}")
    say(f"  {words}", bold=True)


def _key() -> str:
    """One key press of a terminal; otherwise the first letter of a line, empty at the end of the input."""
    if sys.stdin.isatty():
        return typer.getchar().lower()
    line = sys.stdin.readline()
    return line.strip().lower()[:1] or ("?" if line else "")
