"""`unmask corpus`: count the words of two groups in a corpus, flag its sentences, measure its effect on a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unmask.cli import options
from unmask.cli.console import new_folder, split_names
from unmask.core.options import Opening, Options, TextLayout
from unmask.core.progress import progress_bar
from unmask.core.signals import READINGS, keep, resume_in
from unmask.corpus.spec import CountSettings, EffectSettings, EmbeddingSettings, FlagSettings
from unmask.vectors.spec import VectorSettings

if TYPE_CHECKING:
    from unmask.findings.envelope import Result

app = typer.Typer(
    help="Count the words of two groups in a corpus, flag sentences, train vectors, and measure its effect on a model.",
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
    run: Annotated[Options, options.Without("limit", "tokens", "store", "data_dir", "offline", "mapping")],
    output: options.Output,
) -> None:
    """Count feminine and masculine words (or any two sets): ILPS = ln(P_f / P_m) with its interval.

    A number above 0 means more feminine words, below 0 more masculine ones.
    """
    from unmask.corpus import count as run_count

    result = _run(run_count, files, run, output, out=out, settings=settings, layout=layout)
    details = result.meta["details"]
    for line in details["problems"]["first"][1:]:
        output.say(f"problem: {line}")
    if settings.per_document is not None:
        output.say(f"counts of {details['documents']:,} documents in {settings.per_document}")


@app.command("flag")
@options.with_groups
def flag(
    files: Files,
    out: Annotated[Path | None, typer.Option(help="Result folder.", show_default="unmask-runs/corpus-TIME")] = None,
    *,
    settings: FlagSettings,
    layout: TextLayout,
    run: Annotated[Options, options.Without("limit", "tokens", "store", "data_dir", "offline", "mapping")],
    output: options.Output,
) -> None:
    """Write the sentences that have a word of a group and an attribute, such as she and nurse, to a table.

    Where the lexicon says of which group an attribute is stereotypically said, it counts how many sentences follow it.
    """
    from unmask.corpus import flag as run_flag

    _run(run_flag, files, run, output, out=out or new_folder("corpus"), settings=settings, layout=layout)


@app.command("vectors")
@options.with_groups
def vectors(  # noqa: PLR0913 - the parts of the command
    files: Files,
    measure: Annotated[
        list[str] | None,
        typer.Option(help="Vector measure of words (see `unmask list vectors`); can be repeated.", show_default="weat"),
    ] = None,
    questions: Annotated[
        list[str] | None, typer.Option(help="weat-6, religion-islam, … or a file; can be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Result folder.", show_default="unmask-runs/corpus-TIME")] = None,
    *,
    training: EmbeddingSettings,
    settings: Annotated[
        VectorSettings, options.Without("layer", "pooling", "corpus", "each", "draws", "variance", "before")
    ],
    layout: TextLayout,
    run: Annotated[Options, options.Without("tokens", "store", "data_dir", "offline", "mapping")],
    output: options.Output,
) -> None:
    """Train word vectors on a corpus, several times, and test them for associations: WEAT and others.

    The vectors stay in the result folder. Run the same command again to use those that are trained.
    """
    from unmask.vectors import VECTOR_MEASURES

    VECTOR_MEASURES.find_all(split_names(measure))  # an unknown name is an error before scipy is imported
    from unmask.corpus import vectors as run_vectors

    folder = out or new_folder("corpus")
    keep(again=resume_in(folder))
    chosen = {"measures": split_names(measure), "questions": split_names(questions), "training": training}
    _run(run_vectors, files, run, output, out=folder, settings=settings, layout=layout, **chosen)


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
    run: Annotated[Options, options.Without("data_dir", "mapping")],
    output: options.Output,
) -> None:
    """Measure how training on a corpus changes the bias of a model, compared with training on a placebo.

    The checkpoints stay in the result folder. Run the same command again to resume an interrupted run, or with more
    --seeds to add trainings: each seed costs two. Without --seeds there is no p-value.
    """
    from unmask.corpus import bias as run_bias

    folder = out or new_folder("corpus")
    keep(READINGS if run.store else "", again=resume_in(folder))
    chosen = {"model": model, "placebo": split_names(placebo), "opening": opening}
    _run(run_bias, files, run, output, out=folder, settings=settings, layout=layout, **chosen)


def _run(
    function: Callable[..., Result], files: list[str], run: Options, output: options.Output, **arguments: Any
) -> Result:
    """Run a command with a progress bar, and print and write its result."""
    with progress_bar(quiet=output.quiet) as progress:
        result = function(files, options=replace(run, progress=progress), **arguments)
    output.finish(result)
    return result
