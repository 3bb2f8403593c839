"""Load a result folder: estimates, checks, items, tokens and explanations."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.core.errors import ResultError, UnknownName
from unmask.core.estimate import Estimate
from unmask.core.types import Check

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from unmask.audit.attribution import Explanation
    from unmask.stats import Comparison, GateResult

SCHEMA = 1
RESULT, ITEMS, TOKENS = "result.json", "items.parquet", "tokens.parquet"


@dataclass(frozen=True)
class Result:
    """The result of one audit. `meta` is the content of `result.json`; tables are read lazily."""

    meta: dict[str, Any]
    folder: Path

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """All estimates; within a measure and dataset the headline comes first."""
        return tuple(Estimate(**_estimate_fields(stored)) for stored in self.meta["estimates"])

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Checks that the model was loaded and scored correctly."""
        return tuple(Check(stored["name"], stored["ok"], stored["detail"]) for stored in self.meta["checks"])

    @cached_property
    def items(self) -> pa.Table:
        """One row per item and measure, in full precision."""
        return self._table(ITEMS)

    @cached_property
    def tokens(self) -> pa.Table:
        """One row per token, sentence and measure."""
        return self._table(TOKENS)

    def to_pandas(self) -> pd.DataFrame:
        """The items as a data frame."""
        return self.items.to_pandas()

    def headlines(self) -> tuple[Estimate, ...]:
        """The first estimate of every measure on every dataset."""
        first: dict[tuple[str, str], Estimate] = {}
        for estimate in self.estimates:
            first.setdefault((estimate.measure, estimate.data), estimate)
        return tuple(first.values())

    def explain(self, item: str, measure: str | None = None) -> Explanation:
        """Token contributions to one item under a measure (default: the first that scored it)."""
        from unmask.audit.attribution import explain_item

        return explain_item(self, item, measure)

    def save(self, folder: str | Path) -> Result:
        """Copy the result to another folder."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        for name in (RESULT, ITEMS, TOKENS):
            shutil.copyfile(self.folder / name, target / name)
        return load(target)

    def _table(self, name: str) -> pa.Table:
        import pyarrow.parquet as pq

        try:
            return pq.read_table(self.folder / name)
        except (OSError, ValueError) as error:
            raise ResultError(
                f"{self.folder / name} cannot be read ({error}): run the audit again"
            ) from error


def load(folder: str | Path) -> Result:
    """Open a result folder."""
    path = Path(folder) / RESULT
    if not path.is_file():
        raise ResultError(f"no {RESULT} in {folder}: give a folder that `unmask audit --out` wrote")
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ResultError(f"{path} is not JSON ({error}): run the audit again") from error
    if meta.get("schema") != SCHEMA:
        raise ResultError(f"{path} has schema {meta.get('schema')!r}; this unmask reads schema {SCHEMA}")
    return Result(meta, Path(folder))


def measures_of(result: Result) -> tuple[str, ...]:
    """The measures of a result, in its order."""
    return tuple(dict.fromkeys(estimate.measure for estimate in result.estimates))


def require_measure(result: Result, name: str) -> None:
    """Raise when the result has no such measure."""
    if name not in measures_of(result):
        raise UnknownName("measure in this result", name, measures_of(result))


def as_json(value: Estimate | Check | Comparison | GateResult) -> dict[str, Any]:
    """A record as JSON: NaN becomes null; `signed` is added to an estimate."""
    more = {"signed": value.signed} if isinstance(value, Estimate) else {}
    items = (asdict(value) | more).items()
    return {key: None if cell != cell else cell for key, cell in items}  # noqa: PLR0124 - only NaN differs from itself


def _estimate_fields(stored: dict[str, Any]) -> dict[str, Any]:
    """The fields of a stored estimate: null becomes NaN, unknown keys of later versions are dropped."""
    fields = {key: value for key, value in stored.items() if key in Estimate.__dataclass_fields__}
    return {**fields, **{key: float("nan") for key in ("value", "low", "high") if fields[key] is None}}
