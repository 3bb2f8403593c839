"""Models with known doses of bias: a table of models with a column for each bias type, or the built-in siblings.

model,seed,occupation,religion     `seed` is optional and not a bias type
00-low,0,-3,0                      a folder beside the table, or a name that can be opened
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.core.boundary import Rows
from unmask.core.errors import DataError, ModelError, quote
from unmask.core.types import Row
from unmask.data import read
from unmask.data.formats import read_records, user_path
from unmask.diagnose.scores import swap_sides
from unmask.measures import find
from unmask.models.builtin import SIBLINGS

MODEL, SEED = "model", "seed"  # columns that are no bias types
FEWEST = 3  # models
OCCUPATION = "occupation"  # the bias type of the siblings
EXPECTED = "a table of models and their doses"
DOSE_NAME = re.compile(r"builtin-dose([+-]\d+)$")


@dataclass(frozen=True, slots=True)
class DosedModels:
    """References of models by their name in results, and the dose of each on every axis."""

    references: Mapping[str, str]
    doses: Mapping[str, Mapping[str, float]]

    @property
    def axes(self) -> tuple[str, ...]:
        """The bias types."""
        return tuple(next(iter(self.doses.values())))

    def of(self, name: str) -> Mapping[str, float]:
        """The doses of a model; ModelError if it is not in the table."""
        if name not in self.doses:
            known = f"{next(iter(self.doses))} and {len(self.doses) - 1} more"
            raise ModelError(f"the doses of {quote(name)} are not known, only those of {known}: add it to the table")
        return self.doses[name]


def women_by_occupation() -> dict[str, float]:
    """The share of women in each occupation that is counted by itself: what was planted in the siblings."""
    return {each.name: each.women for each in read("occupations") if not each.bls.endswith(" occupations")}


def planted_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows of templates about occupations, with the stereotype as `more`: `she` where most workers are women."""
    women = women_by_occupation()
    about = [row for row in rows if row.groups.get("word") in women]
    return [swap_sides(row) if women[row.groups["word"]] > 0.5 else row for row in about]


def dosed_statistics(measure: str) -> tuple[str, ...]:
    """The statistics of a measure that a dose should move; sld has no mean difference of its own."""
    from unmask.stats.table import STATISTICS

    summary = find(measure).summary
    return ("asld",) if summary == "magnitude" else STATISTICS[summary]


def sibling_dose(model: str) -> int:
    """The dose planted in a built-in sibling, parsed from its name."""
    match = DOSE_NAME.search(model)
    if match is None:
        named = f"{SIBLINGS[0]} … {SIBLINGS[-1]}" if SIBLINGS else ""
        siblings = named or "models named builtin-dose+1 and the like"
        raise ModelError(f"{model} has no known dose of bias: calibration needs {siblings}; omit the model to use them")
    return int(match[1])


def dosed_models(path: Path | None) -> DosedModels:
    """The models of a table, or without one the built-in siblings."""
    if path is not None:
        return read_doses(path)
    return DosedModels(
        {name: name for name in SIBLINGS}, {name: {OCCUPATION: float(sibling_dose(name))} for name in SIBLINGS}
    )


def read_doses(path: Path) -> DosedModels:
    """Read a table of models and doses; DataError names the invalid row."""
    path = user_path(path)
    rows = read_records(path, EXPECTED)
    axes = _axes(rows)
    references: dict[str, str] = {}
    doses: dict[str, dict[str, float]] = {}
    for number, record in enumerate(rows):
        at = rows.at(number)
        reference = _reference(record, path.parent, at)
        name = Path(reference).name if Path(reference).is_dir() else reference.partition("@")[0]
        if name in doses:
            raise DataError(f"{at}: a second model named {quote(name)}; expected every model once")
        references[name], doses[name] = reference, {axis: _dose(record, axis, at) for axis in axes}
    if len(doses) < FEWEST:
        raise DataError(f"{rows.where} has {len(doses)} models, expected at least {FEWEST}")
    for axis in axes:
        if len({of_model[axis] for of_model in doses.values()}) < 2:
            raise DataError(f"{rows.where}: all doses of {quote(axis)} are equal; leave the column out")
    return DosedModels(references, doses)


def _axes(rows: Rows) -> list[str]:
    columns = list(rows[0]) if rows and isinstance(rows[0], Mapping) else []
    axes = [str(column) for column in columns if column not in (MODEL, SEED)]
    if MODEL not in columns or not axes:
        found = ", ".join(map(str, columns)) or "no columns"
        raise DataError(f"{rows.where} has {quote(found)}, expected a column model and one for each bias type")
    return axes


def _reference(record: Any, folder: Path, at: str) -> str:
    model = record.get(MODEL) if isinstance(record, Mapping) else None
    if not isinstance(model, str) or not model.strip():
        raise DataError(f"{at}: the model is {quote(model)}, expected a folder or the name of a model")
    beside = folder / model.strip()
    try:
        return str(beside.resolve()) if beside.is_dir() else model.strip()
    except (OSError, ValueError):  # a name that no file can have
        return model.strip()


def _dose(record: Mapping[str, Any], axis: str, at: str) -> float:
    try:
        dose = float(record[axis])
    except (KeyError, TypeError, ValueError):
        dose = math.nan
    if not math.isfinite(dose):
        raise DataError(f"{at}: the dose of {axis} is {quote(record.get(axis))}, expected a number")
    return dose
