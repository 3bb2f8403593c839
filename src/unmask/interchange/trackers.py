"""Runs of experiment trackers, each written by its own library: MLflow, Trackio, Weights & Biases.

Every finite estimate is a metric `DATA/MEASURE/STATISTIC`, by group `….category.gender`, with `….low` and `….high`.
Nothing is sent anywhere, but by MLflow to a tracking URI that is given.
"""

from __future__ import annotations

import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.core.errors import OutputError, UnmaskError, one_line
from unmask.core.estimate import Estimate
from unmask.core.files import make_folder, writing
from unmask.findings.envelope import ITEMS, RESULT, Result
from unmask.interchange.spec import ExportFormat

PROJECT = "unmask"
_OTHER = re.compile(r"[^\w.\- :/]")  # characters that MLflow refuses in a name


@dataclass(frozen=True, slots=True)
class Record:
    """What a tracker keeps of a result."""

    name: str
    metrics: Mapping[str, float]
    parameters: Mapping[str, str]
    files: tuple[Path, ...]

    @classmethod
    def of(cls, result: Result) -> Record:
        """The record of a result; files of a result that is not in a folder are left out."""
        facts = result.meta.get("model") or {}
        data = result.meta.get("data") or []
        known = {"model": facts.get("id"), **{name: facts.get(name) for name in ("kind", "dtype", "fingerprint")}}
        known |= {"model revision": facts.get("revision"), "unmask": result.meta.get("unmask"), "command": result.kind}
        known |= {f"data {card['name']}": card.get("revision") or card.get("sha256") for card in data}
        known |= {"checks failed": str(sum(not check.ok for check in result.checks))}
        paths = [] if result.folder is None else [result.folder / name for name in (RESULT, ITEMS)]
        return cls(
            name=str(facts.get("id") or result.meta.get("title") or result.kind),
            metrics=dict(pair for estimate in result.estimates for pair in _metrics(estimate)),
            parameters={name: str(value) for name, value in known.items() if value},
            files=tuple(path for path in paths if path.is_file()),
        )


def _metrics(estimate: Estimate) -> Iterator[tuple[str, float]]:
    """The value of an estimate and the ends of its interval, where they are finite."""
    group = () if estimate.group == "all" else estimate.group.split("=", 1)
    model = (estimate.model,) if estimate.model else ()
    name = "/".join((*model, estimate.data, estimate.measure, ".".join((estimate.statistic, *group))))
    for tail, value in (("", estimate.value), (".low", estimate.low), (".high", estimate.high)):
        if math.isfinite(value):
            yield _OTHER.sub("_", name + tail), value


def write_mlflow(result: Result, out: str) -> str:
    """A finished run in the experiment `unmask`: of a file store, or at a tracking URI."""
    from mlflow.tracking import MlflowClient

    record, is_uri = Record.of(result), "://" in out
    place = out if is_uri else make_folder(Path(out)).resolve().as_uri()
    with _library("MLflow", out), _environment(MLFLOW_ALLOW_FILE_STORE=None if is_uri else "true"):
        client = MlflowClient(tracking_uri=place)
        known = client.get_experiment_by_name(PROJECT)
        experiment = known.experiment_id if known else client.create_experiment(PROJECT)
        run = client.create_run(experiment, run_name=record.name).info.run_id
        for name, text in record.parameters.items():
            client.log_param(run, name, text)
        for name, value in record.metrics.items():
            client.log_metric(run, name, value)
        for path in record.files:
            client.log_artifact(run, str(path))
        client.set_terminated(run)
    return f"{out} (run {run})"


def write_trackio(result: Result, out: str) -> str:
    """A finished run of the project `unmask` in a folder, which `TRACKIO_DIR=FOLDER trackio show` shows."""
    record, folder = Record.of(result), make_folder(Path(out)).resolve()
    with _library("Trackio", out), _environment(TRACKIO_DIR=str(folder)):
        import trackio

        with _quiet_stdout():
            parameters = dict(record.parameters)
            run = trackio.init(project=PROJECT, name=record.name, config=parameters, auto_log_gpu=False, embed=False)
            run.log(dict(record.metrics))
            trackio.finish()
    return out


def write_wandb(result: Result, out: str) -> str:
    """A finished offline run of the project `unmask`; the estimates are its summary."""
    record, folder = Record.of(result), make_folder(Path(out)).resolve()
    with _library("Weights & Biases", out):
        import wandb

        settings = wandb.Settings(silent=True, console="off", disable_git=True, disable_code=True)
        run = wandb.init(
            project=PROJECT,
            name=record.name,
            config=dict(record.parameters),
            mode="offline",
            dir=str(folder),
            settings=settings,
        )
        run.summary.update(dict(record.metrics))
        for path in record.files:  # those in the folder of a run belong to it
            with writing(place := Path(run.dir) / path.name):
                shutil.copyfile(path, place)
        run.finish()
    return out


@contextmanager
def _library(name: str, out: str) -> Iterator[None]:
    """Whatever a library raises while it writes is one line."""
    try:
        yield
    except UnmaskError:
        raise
    except Exception as error:
        raise OutputError(f"{name} could not write to {out} ({one_line(str(error))}): choose another place") from error


@contextmanager
def _environment(**variables: str | None) -> Iterator[None]:
    """Environment variables for the time of a block; None: as it is."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update({name: value for name, value in variables.items() if value is not None})
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@contextmanager
def _quiet_stdout() -> Iterator[Any]:
    """Results go to stdout; what a library prints there is not one."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as stream:
        yield stream


MLFLOW = ExportFormat(
    name="mlflow",
    about="a run of MLflow in a folder (file store) or at a tracking URI: metrics, parameters, the result's files",
    write=write_mlflow,
    library="mlflow",
)
TRACKIO = ExportFormat(
    name="trackio",
    about="a run of Trackio in a folder: metrics and configuration",
    write=write_trackio,
    library="trackio",
)
WANDB = ExportFormat(
    name="wandb",
    about="an offline run of Weights & Biases in a folder, which `wandb sync` uploads",
    write=write_wandb,
    library="wandb",
)
