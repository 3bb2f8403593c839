"""`unmask corpus`: count the words of two groups in a corpus, and measure its effect on a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, split_names
from unmask.core.options import Opening, Options, TextLayout
from unmask.core.progress import progress_bar
from unmask.corpus.spec import CountSettings, EffectSettings

app = typer.Typer(
    help="Count the words of two groups in a corpus, and measure its effect on a model.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Files = Annotated[list[str], typer.Argument(help="Text, JSON lines, CSV, TSV or Parquet; .gz, .xz, .bz2, .zst too.")]


@app.command("count")
@options.with_groups
def count(
    files: Files,
    out: Annotated[
        Path | None, typer.Option(help="Result folder for page, plots and JSON.", show_default="not written")
    ] = None,
    *,
    settings: CountSettings,
    layout: TextLayout,
    run: Annotated[Options, options.Without("limit", "tokens", "store", "data_dir", "offline")],
    output: options.Output,
) -> None:
    """Count feminine and masculine words (or any two sets): ILPS = ln(P_f / P_m) with its interval.

    A number above 0 means more feminine words, below 0 more masculine ones.
    """
    from unmask.corpus.run import count as run_count

    with progress_bar(quiet=output.quiet) as progress:
        result = run_count(files, out=out, settings=settings, layout=layout, options=replace(run, progress=progress))
    output.finish(result)
    details = result.meta["details"]
    for line in details["problems"]["first"][1:]:
        output.say(f"problem: {line}")
    if settings.per_document is not None:
        output.say(f"counts of {details['documents']:,} documents in {settings.per_document}")


@app.command("bias")
@options.with_groups
def bias(  # noqa: PLR0913 - the parts of the command
    files: Files,
    model: Annotated[
        str | None,
        typer.Option(help="Model to train further: hub name or folder, preferably mitigated.", show_default="built-in"),
    ] = None,
    placebo: Annotated[
        list[str] | None,
        typer.Option(help="Your own placebo text.", show_default="the corpus with gender swapped at random"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Result folder.", show_default="unmask-runs/corpus-TIME")] = None,
    *,
    settings: EffectSettings,
    layout: TextLayout,
    opening: Annotated[Opening, options.Without("dtype", "tf32")],
    run: Annotated[Options, options.Without("data_dir")],
    output: options.Output,
) -> None:
    """Measure how training on a corpus changes the bias of a model, compared with training on a placebo.

    Both checkpoints stay in the result folder. Run the same command again to resume an interrupted run.
    """
    from unmask.corpus.run import bias as run_bias

    with progress_bar(quiet=output.quiet) as progress:
        result = run_bias(
            files,
            model,
            placebo=split_names(placebo),
            out=out or new_folder("corpus"),
            settings=settings,
            layout=layout,
            opening=opening,
            options=replace(run, progress=progress),
        )
    output.finish(result)
