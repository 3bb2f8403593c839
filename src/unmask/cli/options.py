"""Options that several commands have, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[list[str] | None, typer.Option(help="Dataset or file of pairs; several allowed.")]
Measures = Annotated[list[str] | None, typer.Option(help="Measure; several allowed.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1 …", show_default="a GPU if there is one")]
Dtype = Annotated[str, typer.Option(help="fp32, bf16 or fp16.")]
Tf32 = Annotated[bool, typer.Option("--tf32", help="Let a GPU round fp32 products to TF32.")]
KindOf = Annotated[str | None, typer.Option(help="masked or causal.", show_default="as the config says")]
Limit = Annotated[int | None, typer.Option(help="Only the first N items of each dataset.")]
Tokens = Annotated[int | None, typer.Option(help="Padded tokens in a batch.", show_default="by device")]
DataDir = Annotated[Path | None, typer.Option(help="Folder of datasets.")]
Offline = Annotated[bool, typer.Option("--offline", help="Never use the network.")]
AllowPickle = Annotated[bool, typer.Option("--allow-pickle", help="Load pickled weights (can run code).")]
TrustRemoteCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run the model repository's own code.")
]
NoStore = Annotated[bool, typer.Option("--no-store", help="Neither read nor keep earlier readings.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Write no report.html.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result object instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
