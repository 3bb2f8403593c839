"""The built-in formats. Their functions are imported when called, so that they can be listed without pyarrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmask.core.lazy_imports import lazy_modules
from unmask.interchange.spec import ExportFormat

if TYPE_CHECKING:
    from unmask.interchange import every_eval_ever, inspect_log, trackers
else:
    every_eval_ever, inspect_log, trackers = lazy_modules(
        "unmask.interchange", "every_eval_ever", "inspect_log", "trackers"
    )

EVERY_EVAL_EVER = ExportFormat(
    name="every-eval-ever",
    about="records of the Every Eval Ever schema 0.3.0 below a folder: estimates, and every item beside them",
    write=every_eval_ever.write,
    audits_only=True,
)

INSPECT = ExportFormat(
    name="inspect",
    about="a log of Inspect in a folder, for its viewer and its data frames; one sample per item",
    write=inspect_log.write,
    audits_only=True,
)

MLFLOW = ExportFormat(
    name="mlflow",
    about="a run of MLflow in a folder (file store) or at a tracking URI: metrics, parameters, the result's files",
    write=trackers.write_mlflow,
    library="mlflow",
)

TRACKIO = ExportFormat(
    name="trackio",
    about="a run of Trackio in a folder: metrics and configuration",
    write=trackers.write_trackio,
    library="trackio",
)

WANDB = ExportFormat(
    name="wandb",
    about="an offline run of Weights & Biases in a folder, which `wandb sync` uploads",
    write=trackers.write_wandb,
    library="wandb",
)
