"""`unmask diagnose`: test what the measures themselves depend on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, split_names
from unmask.core.errors import DataError
from unmask.core.options import Opening, Options
from unmask.core.progress import progress_bar
from unmask.core.signals import READINGS, keep
from unmask.diagnose.spec import DiagnosisSettings
from unmask.findings.terminal import console, show_sections

if TYPE_CHECKING:
    from unmask.findings.envelope import Result


@options.with_groups
def diagnose(  # noqa: PLR0913, PLR0917 - the parts of the command
    name: Annotated[str, typer.Argument(help="Diagnosis (see `unmask list diagnoses`), or `all`.")],
    models: options.Models = None,
    data: options.Data = None,
    measure: options.Measures = None,
    out: options.Out = None,
    generate: Annotated[
        Path | None,
        typer.Option(help="With `paraphrase`: write candidate paraphrases of the data to this CSV, for review."),
    ] = None,
    wordnet: Annotated[
        Path | None, typer.Option(help="With --generate: WordNet folder.", show_default="the usual places")
    ] = None,
    *,
    settings: DiagnosisSettings,
    opening: Opening,
    run: Options,
    output: options.Output,
) -> None:
    """Test what the scores of a measure depend on besides bias: tables, a page with plots, and JSON.

    Cached model outputs are shared with `unmask audit`: only new inputs are run through the model.
    """
    from unmask.diagnose import DIAGNOSES, EVERYTHING

    names: str | list[str] = name if name == EVERYTHING else split_names([name])
    if names != EVERYTHING:
        DIAGNOSES.find_all(names)  # an unknown name is an error before torch is imported
    from unmask.diagnose.generate import generate_file
    from unmask.diagnose.run import diagnose as run_diagnoses

    datasets = split_names(data)
    keep(READINGS if run.store else "")
    with progress_bar(quiet=output.quiet) as progress:
        run = replace(run, progress=progress)
        if generate is not None:
            if name != "paraphrase" or len(models or []) > 1 or len(datasets) > 1:
                raise DataError("--generate works with `paraphrase` only, with one model and one dataset")
            first = next(iter(models or []), None), next(iter(datasets), None)
            made = generate_file(generate, *first, wordnet=wordnet, opening=opening, options=run)
            console().print(made.describe(generate), soft_wrap=True)
            return
        result = run_diagnoses(
            names,
            models or [],
            data=datasets,
            out=out or new_folder(name),
            settings=replace(settings, measures=tuple(split_names(measure))),
            opening=opening,
            options=run,
        )
    output.finish(result, show)


def show(result: Result) -> None:
    """Print the finding of every diagnosis, its data, and how many sentences were run through each model."""
    screen = console()
    for section in result.findings:
        show_sections([section], screen)
        screen.print(f"  {section.foot}\n")
