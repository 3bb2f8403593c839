"""What a study is going to do: its tables and figures, the steps that each is made of, and how long they take.

Durations come from the sizes of data and model, over measured throughput.
"""

from __future__ import annotations

import csv
import functools
import json
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from unmask import data as datasets
from unmask.core.errors import DataError, quote
from unmask.findings import Finding, Table
from unmask.measures import find
from unmask.models.builtin import builtin_models
from unmask.studies.graph import load_kind, topological_order
from unmask.studies.spec import Role, Runtime, Step, Study, short_name
from unmask.studies.texts import count_lines, find_text_file

MAX_RANGES = 10  # of steps in a cell; more are shortened
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


def choose_parts(study: Study, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The tables and figures of these names, or all; `figure-13` is Figure 13."""
    by_name = {spelling.lower(): part for part in study.parts for spelling in (part, part.replace(" ", "-"))}
    chosen = [by_name.get(name.lower()) for name in names]
    if None in chosen:
        raise DataError(
            f"{study.name} has no part {quote(names[chosen.index(None)])}: give some of {', '.join(study.parts)}"
        )
    return {part: roles for part, roles in study.parts.items() if part in chosen or not names}


def is_role_of(role: Role, pattern: str) -> bool:
    """Whether a role is one that a part is made of: `audit` is any audit, `ppd/cds*` a role that begins so."""
    return role[0] == pattern or fnmatchcase("/".join(role), pattern)


def steps_of(patterns: Iterable[str], roles: Mapping[Role, Step]) -> tuple[Step, ...]:
    """The steps that a part is made of, and all whose output they need."""
    chosen = [*patterns]
    return topological_order(
        step for role, step in roles.items() if any(is_role_of(role, pattern) for pattern in chosen)
    )


def forecast(steps: Sequence[Step], unfinished: Sequence[Step], runtime: Runtime) -> Finding:
    """The steps with their expected durations, and the total of those to do."""
    numbers = {step.name: number for number, step in enumerate(steps, 1)}
    rows = []
    for step in steps:
        after = ", ".join(str(numbers[source.name]) for source in step.inputs.values()) or "–"
        rows.append((f"{numbers[step.name]}. {step.name}", after, *_durations([step], unfinished, runtime)))
    cpu, gpu = total_durations(unfinished, runtime)
    total = (
        f"{len(unfinished)} of {len(steps)} steps to do: about {format_duration(cpu)} on {CPU.name}, or "
        f"{format_duration(gpu)} ({gpu / 3600:.2f} GPU hours) on {GPU.name}; from the rates in "
        "docs/speed.md, on CPUs accurate to about a factor of two"
    )
    return Finding((total,), (Table("Steps", ("step", "after", CPU.name, GPU.name), tuple(rows)),))


def parts_table(
    study: Study, roles: Mapping[Role, Step], steps: Sequence[Step], *, unfinished: Sequence[Step], runtime: Runtime
) -> Table:
    """The tables and figures of a study: the steps that each is made of, with those before them, and their duration."""
    numbers = {step.name: number for number, step in enumerate(steps, 1)}
    by_steps: dict[tuple[int, ...], list[str]] = {}
    for part, patterns in study.parts.items():
        used = tuple(sorted({numbers[step.name] for step in steps_of(patterns, roles)}))
        by_steps.setdefault(used, []).append(part)
    rows = []
    for used, parts in by_steps.items():
        times = _durations([steps[number - 1] for number in used], unfinished, runtime) if used else (None, None)
        rows.append((join_parts(parts), _made_of(used), len(used), *times))
    note = "A step of several parts is in the time of each." if len(rows) > 1 else ""
    return Table("Tables and figures", ("part", "steps", "number", CPU.name, GPU.name), tuple(rows), note)


def join_parts(parts: Iterable[str]) -> str:
    """The names of parts in one text: Table 4, Figures 8–10, 12."""
    numbers: dict[str, list[int]] = {}
    for part in parts:
        kind, _, number = part.rpartition(" ")
        if number.isdigit():
            numbers.setdefault(kind, []).append(int(number))
        else:
            numbers[part] = []
    return ", ".join(
        f"{kind}{'s' if len(of) > 1 else ''} {', '.join(_ranges(sorted(of)))}".rstrip() for kind, of in numbers.items()
    )


def _made_of(used: Sequence[int]) -> str:
    """The numbers of the steps; of many the first ones and the last."""
    ranges = _ranges(used) or ["none: its data are missing"]
    return ", ".join(ranges if len(ranges) <= MAX_RANGES else [*ranges[: MAX_RANGES - 2], "…", ranges[-1]])


def _ranges(numbers: Sequence[int]) -> list[str]:
    """Sorted numbers as text: 1–3, 5."""
    runs = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    ends = [[number for _, number in run] for _, run in runs]
    return [f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in ends]


def expected_duration(step: Step, runtime: Runtime) -> dict[DeviceSpeed, float]:
    """Seconds on each device; a trained model is as large as the one it was trained from."""
    kind = load_kind(step)
    places = [runtime.place(name) for name in step.data]
    located = tuple(str(find_text_file(place, runtime.data_dir) or place) for place in places)
    work = kind.estimate_work(replace(step, data=located))
    models = {model for source in topological_order([step]) for model in source.models}
    size = max((weights_per_token(runtime.place(model)) for model in models), default=UNKNOWN)
    operations = size * (FORWARD * work.forward_tokens + TRAINED * work.train_tokens)
    host = work.host_seconds + (LOAD_SECONDS * size / UNKNOWN if kind.runs_model else 0.0)
    on_cpu = operations / CPU.ops_per_second + host
    on_gpu = max(operations / GPU.ops_per_second, work.train_steps * GPU_STEP) + work.gpu_start + host
    return {CPU: on_cpu, GPU: on_gpu if kind.runs_model else on_cpu}


def total_durations(steps: Iterable[Step], runtime: Runtime) -> tuple[float, float]:
    """Seconds of all these steps, one after the other: on CPUs and on a GPU."""
    durations = [expected_duration(step, runtime) for step in steps]
    cpu, gpu = (sum(seconds[device] for seconds in durations) for device in (CPU, GPU))
    return cpu, gpu


def _durations(steps: Sequence[Step], unfinished: Sequence[Step], runtime: Runtime) -> tuple[str, ...]:
    """The time that those of the steps that are to do take on every device; without any they are done."""
    names = {step.name for step in unfinished}
    to_do = [step for step in steps if step.name in names]
    return tuple(map(format_duration, total_durations(to_do, runtime))) if to_do else ("done",) * 2


def format_duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def forward_tokens(data: str, limit: int | None, measures: Sequence[str]) -> float:
    """Tokens of all forward passes: one pass per token where tokens are masked one at a time."""
    one_at_a_time = not measures or any(find(measure).one_at_a_time for measure in measures)
    passes = (TOKENS - 2 if one_at_a_time else 0) + (1 if not one_at_a_time or len(measures) != 1 else 0)
    size = count_lines(Path(data)) if Path(data).is_file() else datasets.card(data).size
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
    text = (files("unmask.studies") / "papers" / "models.csv").read_text(encoding="utf-8")
    return {row["model"]: int(row["used"]) for row in csv.DictReader(text.splitlines())}


def _file_weights(path: Path) -> int:
    """The number of weights in a safetensors file, from its header."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    return sum(math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")
