"""`unmask diagnose`: test what the measures themselves depend on."""

from __future__ import annotations

from dataclasses import asdict, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, split_names
from unmask.core.options import Opening, Options
from unmask.core.progress import progress_bar
from unmask.core.signals import READINGS, keep
from unmask.diagnose import EVERYTHING
from unmask.findings.terminal import console, print_json, show_sections

if TYPE_CHECKING:
    from unmask.findings.envelope import Result


def diagnose(  # noqa: PLR0913 - the parts of the command
    name: str,
    models: options.Models = None,
    data: options.Data = None,
    out: options.Out = None,
    *,
    groups: options.Groups,
    opening: Opening,
    run: Options,
    output: options.Output,
) -> None:
    """Test what the scores of a measure depend on besides bias: tables, a page with plots, and JSON.

    Cached model outputs are shared with `unmask audit`: only new inputs are run through the model.
    """
    from unmask.diagnose.run import diagnose as run_diagnoses

    keep(READINGS if run.store else "")
    with progress_bar(quiet=output.quiet) as progress:
        result = run_diagnoses(
            name if name == EVERYTHING else list(groups),
            models or [],
            data=split_names(data),
            out=out or new_folder(name),
            opening=opening,
            options=replace(run, progress=progress),
            **groups,
        )
    output.finish(result, show)


def show(result: Result) -> None:
    """Print the finding of every diagnosis, its data, and how many sentences were run through each model."""
    screen = console()
    for section in result.findings:
        show_sections([section], screen)
        screen.print(f"  {section.foot}\n")


app = options.things_app(
    diagnose, "unmask.diagnose:DIAGNOSES", metavar="DIAGNOSIS", about=attrgetter("question"), several=EVERYTHING
)


@app.command(short_help="Write candidate paraphrases of pairs to a file, for review and `diagnose paraphrase`.")
@options.with_groups
def generate(  # noqa: PLR0913 - the parts of the command
    path: Annotated[Path, typer.Argument(metavar="FILE", help="CSV file for the candidates.")],
    model: options.Model = None,
    data: Annotated[str | None, typer.Option(help="Dataset or file of pairs.", show_default="nine-axes")] = None,
    wordnet: Annotated[Path | None, typer.Option(help="WordNet folder.", show_default="the usual places")] = None,
    *,
    opening: Opening,
    run: Options,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress output.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was made as JSON.")] = False,
) -> None:
    """Write candidate paraphrases of pairs to a file, for review; `unmask diagnose paraphrase --data FILE` reads it."""
    from unmask.diagnose.paraphrase.generate import generate_file

    keep(READINGS if run.store else "")
    with progress_bar(quiet=quiet) as progress:
        made = generate_file(
            path, model, data, wordnet=wordnet, opening=opening, options=replace(run, progress=progress)
        )
    if as_json:
        print_json({"file": str(path), **asdict(made)})
    else:
        console().print(made.describe(path), soft_wrap=True)
