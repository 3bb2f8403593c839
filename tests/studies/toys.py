"""Toy step kinds and a study of them: integer arithmetic with known outputs."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from unmask.core.errors import DataError
from unmask.findings import Finding, Section, Table
from unmask.studies.graph import topological_order
from unmask.studies.spec import Outputs, PaperConclusion, Step, StepContext, StepKind, Study, StudyOptions


def number(folder: Path) -> int:
    return int(json.loads((folder / "number.json").read_text()))


def _write(context: StepContext, value: int) -> None:
    trace = context.parameters.get("trace")
    if trace:
        with Path(trace).open("a") as file:
            file.write(f"{context.step.name}\n")
    (context.folder / "number.json").write_text(json.dumps(value))


def _add(context: StepContext) -> None:
    value = context.parameters["plus"] + sum(number(folder) for folder in context.inputs.values())
    time.sleep(context.parameters.get("seconds", 0.0))
    while "hold" in context.parameters and Path(context.parameters["hold"]).exists():
        time.sleep(0.01)
    _write(context, value)


def _fail(context: StepContext) -> None:
    (context.folder / "half").write_text("half")
    raise DataError("nothing can be added to this")


def _break(context: StepContext) -> None:
    raise ZeroDivisionError("one by zero")


def _die_once(context: StepContext) -> None:
    """Kill its own process on the first attempt."""
    mark = Path(context.parameters["mark"])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    _write(context, context.parameters["plus"])


def _square(part: Sequence[int]) -> int:
    return part[0] ** 2


def _squares(context: StepContext) -> None:
    values = context.parallel_map(_square, [[one] for one in context.parameters["values"]])
    _write(context, sum(place * value for place, value in enumerate(values, 1)))


def _resume(context: StepContext) -> None:
    """Fail twice, counting attempts in the partial folder."""
    file = context.folder / "tries"
    tries = int(file.read_text()) + 1 if file.exists() else 1
    file.write_text(str(tries))
    if tries < 3:
        raise DataError(f"try {tries}")
    _write(context, tries)


ADD, FAIL, BREAK = (
    StepKind(_add, runs_model=False),
    StepKind(_fail, runs_model=False),
    StepKind(_break, runs_model=False),
)
DIE, SQUARES = (StepKind(_die_once, runs_model=False), StepKind(_squares, runs_model=False, has_parts=lambda _: True))
RESUME = StepKind(_resume, runs_model=False, resumable=True)
NEWER = StepKind(_add, version=2, runs_model=False)


def step(name: str, task: str = "ADD", inputs: Sequence[Step] = (), **parameters: object) -> Step:
    return Step(name, f"{__name__}:{task}", parameters, inputs={one.name: one for one in inputs})


def study(steps: Sequence[Step]) -> Study:
    """A study of these steps with one table of their numbers."""

    def conclude(outputs: Outputs, options: StudyOptions) -> PaperConclusion:
        rows = tuple((role[0], number(folder)) for role, folder in sorted(outputs.items()))
        table = Table("Numbers", ("step", "number"), rows)
        finding = Finding((), (table,) if rows else ())
        return PaperConclusion([Section("numbers", "Numbers", "What came out.", finding)])

    return Study(
        name="toy",
        title="A toy",
        question="Do numbers add up?",
        citation="none",
        models=("builtin",),
        data=(),
        plan=lambda options: {(one.name,): one for one in topological_order(steps)},
        conclude=conclude,
    )
