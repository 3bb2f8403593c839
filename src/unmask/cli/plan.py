"""`unmask plan`: how many pairs a difference needs, before asking a model anything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unmask.audit.plan import PlanSettings
from unmask.cli import options
from unmask.cli.console import split_names
from unmask.core.options import Options


@options.with_groups
def plan(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Pilot: result folders of one audit, or of two models on the same data.", show_default="none"
        ),
    ] = None,
    data: options.Data = None,
    out: Annotated[Path | None, typer.Option("--out", help="Result folder.", show_default="none is written")] = None,
    *,
    settings: PlanSettings,
    run: Annotated[Options, options.Without("seed", "tokens", "store")],
    output: options.Output,
) -> None:
    """Plan a measurement: what the data can see, and how many pairs, writers or templates a difference needs.

    From a dataset alone (default: nine-axes), from a pilot audit, or from audits of two models.
    """
    from unmask.audit.plan import plan as make_plan

    output.finish(make_plan(*(runs or []), data=split_names(data), out=out, settings=settings, options=run))
