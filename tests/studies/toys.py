"""Small tasks and a study of them: arithmetic in files, so that every output can be known beforehand."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from unmask.core.errors import DataError
from unmask.findings import Finding, Table
from unmask.findings.html import Section
from unmask.studies.spec import StudyOptions, StepContext, Outputs, Step, Study, StepKind


def number(folder: Path) -> int:
    return int(json.loads((folder / "number.json").read_text()))


def _write(given: StepContext, value: int) -> None:
    trace = given.parameters.get("trace")
    if trace:
        with Path(trace).open("a") as file:
            file.write(f"{given.step.name}\n")
    (given.folder / "number.json").write_text(json.dumps(value))


def _add(given: StepContext) -> None:
    value = given.parameters["plus"] + sum(number(folder) for folder in given.inputs.values())
    time.sleep(given.parameters.get("seconds", 0.0))
    _write(given, value)


def _fail(given: StepContext) -> None:
    (given.folder / "half").write_text("half")
    raise DataError("nothing can be added to this")


def _break(given: StepContext) -> None:
    raise ZeroDivisionError("one by zero")


def _die_once(given: StepContext) -> None:
    """Kill its own process the first time it is tried."""
    mark = Path(given.parameters["mark"])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    _write(given, given.parameters["plus"])


def _square(part: Sequence[int]) -> int:
    return part[0] ** 2


def _squares(given: StepContext) -> None:
    values = given.spread(_square, [[one] for one in given.parameters["values"]])
    _write(given, sum(place * value for place, value in enumerate(values, 1)))


def _resume(given: StepContext) -> None:
    """Counts how often it was begun; ends at the third time."""
    file = given.folder / "tries"
    tries = int(file.read_text()) + 1 if file.exists() else 1
    file.write_text(str(tries))
    if tries < 3:
        raise DataError(f"try {tries}")
    _write(given, tries)


ADD, FAIL, BREAK = StepKind(_add, network=False), StepKind(_fail, network=False), StepKind(_break, network=False)
DIE, SQUARES = StepKind(_die_once, network=False), StepKind(_squares, network=False, spreads=lambda _: True)
RESUME = StepKind(_resume, network=False, resumes=True)
NEWER = StepKind(_add, version=2, network=False)


def step(name: str, task: str = "ADD", inputs: Sequence[Step] = (), **parameters: object) -> Step:
    return Step(name, f"{__name__}:{task}", parameters, inputs={one.name: one for one in inputs})


def study(steps: Sequence[Step]) -> Study:
    """A study of these steps, whose one table is their numbers."""

    def conclude(outputs: Outputs, choices: StudyOptions) -> list[Section]:
        rows = tuple((name, number(folder)) for name, folder in sorted(outputs.folders.items()))
        table = Table("Numbers", ("step", "number"), rows)
        return [Section("numbers", "Numbers", "What came out.", Finding((), (table,) if rows else ()))]

    return Study(
        name="toy",
        title="A toy",
        question="Do numbers add up?",
        citation="none",
        models=("builtin",),
        data=(),
        plan=lambda choices: list(steps),
        conclude=conclude,
    )
