"""`unmask mitigate`: mitigate the bias of a model, save the checkpoint, and measure before and after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from unmask.cli import options
from unmask.cli.console import split_names
from unmask.core.errors import DataError
from unmask.core.options import Opening, OptionGroup, Options, TextLayout
from unmask.core.progress import progress_bar
from unmask.core.signals import READINGS, keep
from unmask.training.distributed import is_main_process


def mitigate(  # noqa: PLR0913, PLR0917 - the parts of the command
    method: str,
    model: Annotated[
        str | None,
        typer.Argument(
            help="Hub name (name@revision), folder, or file of word vectors; default: the built-in model.",
            show_default=False,
        ),
    ] = None,
    corpus: Annotated[
        list[str] | None,
        typer.Option(help="Training text: txt, jsonl, csv, tsv, parquet; .gz, .xz. Optional for erasers."),
    ] = None,
    held: Annotated[
        list[str] | None, typer.Option(help="Held-out text for evaluation.", show_default="5% of the corpus, by hash")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the checkpoint.")] = Path("mitigated"),
    curve: Annotated[
        str | None, typer.Option(help="Measure ASLD for these numbers of sentences (500,1000,…); writes no checkpoint.")
    ] = None,
    draws: Annotated[int, typer.Option(help="With --curve: random samples per size.")] = 5,
    *,
    choices: OptionGroup,
    layout: TextLayout,
    opening: Annotated[Opening, options.Without("dtype", "tf32")],
    run: Annotated[Options, options.Without("mapping")],
    output: options.Output,
) -> None:
    """Mitigate the bias of a model and report what changed: bias, gendered words, language modelling.

    The output is an ordinary Hugging Face checkpoint with `result.json` beside it. Run the same command
    again to resume an interrupted run. Of a file of word vectors, which the erasers change, the output is a file in
    the same format.
    """
    from unmask.mitigate.run import mitigate as run_mitigate

    keep(READINGS if run.store else "")
    with progress_bar(quiet=output.quiet or not is_main_process()) as progress:
        result = run_mitigate(
            method,
            model,
            corpus=split_names(corpus),
            held=split_names(held),
            out=out,
            curve=_sizes(curve),
            draws=draws,
            choices=choices,
            layout=layout,
            opening=opening,
            options=replace(run, progress=progress),
        )
    if is_main_process():
        output.finish(result)


def _sizes(curve: str | None) -> tuple[int, ...]:
    """The numbers of sentences of `--curve`."""
    sizes = [] if curve is None else curve.split(",")
    if not all(size.strip().isdecimal() for size in sizes):
        raise DataError(f"--curve {curve}: give comma-separated numbers of sentences, such as 500,1000,2000")
    return tuple(map(int, sizes))


app = options.things_app(mitigate, "unmask.mitigate:METHODS", metavar="METHOD", about=lambda method: f"{method.about}.")
