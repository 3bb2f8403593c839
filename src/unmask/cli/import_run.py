"""`unmask import`: a run of lm-eval as a result folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unmask.cli import options
from unmask.cli.console import new_folder


@options.with_groups
def import_run(
    samples: Annotated[Path, typer.Argument(help="samples_crows_pairs_….jsonl of `lm_eval --log_samples`.")],
    data: Annotated[
        str | None,
        typer.Option(help="Dataset that the pairs are of: its ids and groups.", show_default="numbered as in the file"),
    ] = None,
    model_name: Annotated[
        str, typer.Option(help="Name of the model.", show_default="of results_….json beside the file, or the folder")
    ] = "",
    out: options.Out = None,
    seed: Annotated[int, typer.Option(help="Random seed of the bootstrap.")] = 0,
    *,
    output: options.Output,
) -> None:
    """Import a run of lm-eval's CrowS-Pairs tasks as the result folder of an audit, to compare and report it."""
    from unmask.data import check_names

    check_names([] if data is None else [data])
    from unmask.interchange.lm_eval import import_samples

    result = import_samples(samples, out=out or new_folder(samples.stem), data=data, model=model_name, seed=seed)
    output.finish(result)
