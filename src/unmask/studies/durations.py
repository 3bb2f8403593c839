"""Expected duration of steps: operations from the sizes of data and model, over measured throughput."""

from __future__ import annotations

import csv
import functools
import json
import math
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from unmask import data as datasets
from unmask.findings import Finding, Table
from unmask.measures import find
from unmask.models.builtin import builtin_models
from unmask.studies.collect import short_name
from unmask.studies.graph import load_kind
from unmask.studies.spec import Runtime, Step
from unmask.studies.texts import find_text_file

TOKENS = 17  # mean length of a benchmark sentence with special tokens, approximate
UNKNOWN = 85_000_000  # weights per token of an unknown model: BERT-base's


@dataclass(frozen=True, slots=True)
class DeviceSpeed:
    """The measured throughput of a device; see `docs/speed.md`."""

    name: str
    ops_per_second: float  # reached by an audit


CPU = DeviceSpeed("two CPU cores", 204e9)
GPU = DeviceSpeed("one H200, fp32", 38e12)
LOAD_SECONDS = 3.0  # of a model of BERT-base's size, on either
FORWARD, TRAINED = 2.0, 6.0  # operations per weight and token
OPTIMIZER = 300.0  # tokens whose training takes as long as one step of Adam, measured on CPUs
GPU_STEP = 0.01  # seconds of one training step that the host of a GPU needs at least


def expected_duration(step: Step, runtime: Runtime) -> dict[DeviceSpeed, float]:
    """Seconds on each device; a trained model is as large as the one it was trained from."""
    kind = load_kind(step)
    work = kind.estimate_work(replace(step, data=tuple(_located(name, runtime) for name in step.data)))
    size = max((weights_per_token(runtime.place(model)) for model in root_models(step)), default=UNKNOWN)
    operations = size * (FORWARD * work.forward_tokens + TRAINED * work.train_tokens)
    host = work.host_seconds + (LOAD_SECONDS * size / UNKNOWN if kind.runs_model else 0.0)
    on_cpu = operations / CPU.ops_per_second + host
    if not kind.runs_model:
        return {CPU: on_cpu, GPU: on_cpu}
    on_gpu = max(operations / GPU.ops_per_second, work.train_steps * GPU_STEP) + work.gpu_start + host
    return {CPU: on_cpu, GPU: on_gpu}


def _located(name: str, runtime: Runtime) -> str:
    """The path of a file, also within the data folder; the name of a dataset."""
    place = runtime.place(name)
    return str(find_text_file(place, runtime.data_dir) or place)


def root_models(step: Step) -> Iterable[str]:
    """The external models that a step and its inputs start from."""
    yield from step.models
    for source in step.inputs.values():
        yield from root_models(source)


def format_duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def total_durations(steps: Iterable[Step], runtime: Runtime) -> tuple[float, float]:
    """Seconds of all these steps, one after the other: on CPUs and on a GPU."""
    durations = [expected_duration(step, runtime) for step in steps]
    cpu, gpu = (sum(each[device] for each in durations) for device in (CPU, GPU))
    return cpu, gpu


def format_durations(unfinished: Sequence[Step], runtime: Runtime) -> tuple[str, ...]:
    """The time that the steps to do take on every device; without any they are done."""
    return (
        tuple(format_duration(each) for each in total_durations(unfinished, runtime)) if unfinished else ("done",) * 2
    )


def forecast(steps: Sequence[Step], unfinished: Sequence[Step], runtime: Runtime) -> Finding:
    """The steps with their expected durations, and the total of those to do."""
    numbers = {step.name: number for number, step in enumerate(steps, 1)}
    rows = []
    for step in steps:
        after = ", ".join(str(numbers[source.name]) for source in step.inputs.values()) or "–"
        to_do = [step] if step in unfinished else []
        rows.append((f"{numbers[step.name]}. {step.name}", after, *format_durations(to_do, runtime)))
    cpu, gpu = total_durations(unfinished, runtime)
    total = (
        f"{len(unfinished)} of {len(steps)} steps to do: about {format_duration(cpu)} on {CPU.name}, or "
        f"{format_duration(gpu)} ({gpu / 3600:.2f} GPU hours) on {GPU.name}; from the rates in "
        "docs/speed.md, on CPUs accurate to about a factor of two"
    )
    return Finding((total,), (Table("Steps", ("step", "after", CPU.name, GPU.name), tuple(rows)),))


def forward_tokens(data: str, limit: int | None, measures: Sequence[str]) -> float:
    """Tokens of all forward passes: one pass per token where tokens are masked one at a time."""
    one_at_a_time = not measures or any(find(measure).one_at_a_time for measure in measures)
    passes = (TOKENS - 2 if one_at_a_time else 0) + (1 if not one_at_a_time or len(measures) != 1 else 0)
    if Path(data).is_file():  # a user's: about its lines
        with Path(data).open("rb") as file:
            size = sum(1 for _ in file)
    else:
        size = datasets.card(data).size
    return 2.0 * (size if limit is None else min(size, limit)) * TOKENS * passes


def weights_per_token(model: str) -> int:
    """Weights used per token: of a paper's model by name, of a folder by its files; else BERT-base's.

    ALBERT's layers share weights, so it uses more per token than it has.
    """
    folder = builtin_models()[model].folder if model in builtin_models() else Path(model)
    count = sum(_file_weights(path) for path in folder.glob("*.safetensors")) if folder.is_dir() else 0
    return count or paper_model_sizes().get(short_name(model), UNKNOWN)


@functools.cache
def paper_model_sizes() -> dict[str, int]:
    """Weights per token of the papers' models."""
    text = (files("unmask.studies") / "published" / "models.csv").read_text(encoding="utf-8")
    return {row["model"]: int(row["used"]) for row in csv.DictReader(text.splitlines())}


def _file_weights(path: Path) -> int:
    """The number of weights in a safetensors file, from its header."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    return sum(math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")
