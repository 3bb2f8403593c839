"""Results in the formats of other tools: export to each, import from lm-eval. One module each.

    unmask.export("runs/bert", to="mlflow", out="mlruns")
    unmask.import_samples("samples_crows_pairs_english.jsonl", out="runs/theirs")

Formats of other packages are found through the entry point group `unmask.formats`.
"""

from __future__ import annotations

from unmask.core.registry import Registry
from unmask.interchange.spec import ExportFormat

FORMATS = Registry(
    "format", ExportFormat, home="unmask.interchange", group="unmask.formats", constructor="ExportFormat("
)

__all__ = ["FORMATS", "ExportFormat"]
