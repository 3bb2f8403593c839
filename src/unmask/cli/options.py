"""Options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[list[str] | None, typer.Option(help="Dataset or file of pairs; can be repeated.")]
Measures = Annotated[list[str] | None, typer.Option(help="Measure; can be repeated.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1, …", show_default="a GPU if available")]
Dtype = Annotated[str, typer.Option(help="fp32, bf16 or fp16.")]
Tf32 = Annotated[bool, typer.Option("--tf32", help="Allow TF32 for fp32 matrix products on a GPU.")]
KindOf = Annotated[
    str | None, typer.Option(help="Kind of model: masked or causal.", show_default="from its config")
]
Limit = Annotated[int | None, typer.Option(help="Only the first N items of each dataset.")]
Tokens = Annotated[
    int | None, typer.Option(help="Maximum padded tokens per batch.", show_default="by device")
]
DataDir = Annotated[Path | None, typer.Option(help="Folder of datasets.")]
Offline = Annotated[bool, typer.Option("--offline", help="Never use the network.")]
AllowPickle = Annotated[bool, typer.Option("--allow-pickle", help="Load pickled weights (can run code).")]
TrustRemoteCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run the model repository's own code.")
]
NoStore = Annotated[bool, typer.Option("--no-store", help="Do not use the cache of model outputs.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Do not write report.html.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result object instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress output.")]
