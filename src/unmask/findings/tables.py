"""The two tables of a result folder: their columns, and how they are read and checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unmask.core.errors import ResultError, quote
from unmask.core.types import Outcome, Side
from unmask.findings.envelope import DIGEST, ITEMS

SIDES: tuple[Side, ...] = get_args(Side)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
NAME, TEXT, NUMBER = pa.dictionary(pa.int32(), pa.string()), pa.string(), pa.float64()
PER_TOKEN = "difference_per_token"
LEADING = [("measure", NAME), ("data", NAME), ("item", TEXT)]
TRAILING = [
    *((f"text_{side}", TEXT) for side in SIDES),
    *((name, NUMBER) for name in (*SIDES, "difference", PER_TOKEN)),
    ("outcome", NAME),
    ("reason", TEXT),
    ("precision", NAME),
]
ITEM_COLUMNS = dict((*LEADING, *TRAILING))
TOKEN_COLUMNS: dict[str, pa.DataType] = {
    **{"measure": NAME, "item": TEXT, "side": NAME, "position": pa.int32(), "token": TEXT},
    **{"logprob": NUMBER, "weight": NUMBER, "in_span": pa.bool_(), "block": pa.int32(), "contribution": NUMBER},
}
_OPTIONAL = {"data", "unrelated", PER_TOKEN, "reason", "precision", "block", "contribution"}
_OPTIONAL |= {f"text_{side}" for side in SIDES}
_FILLED = ("measure", "data", "item", "side", "position", "token", "in_span", "weight", "outcome")  # without nulls
_TYPES = (  # what a column of a kind may be stored as, by this or another program
    ("text", lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind)),
    ("true or false", pa.types.is_boolean),
    ("an integer", pa.types.is_integer),
    ("a number", lambda kind: pa.types.is_floating(kind) or pa.types.is_integer(kind)),
)


def read_table(path: Path, meta: Mapping[str, Any], items: Collection[str] | None = None) -> pa.Table:
    """Read a table of the folder whose `result.json` is `meta`; `ResultError` if it cannot be used.

    With `items`, only their rows are kept, and the table is never in memory as a whole.
    """
    check_schema(path, meta)
    try:
        table = pq.read_table(path, page_checksum_verification=True) if items is None else _read_rows(path, items)
        table.validate(full=True)
    except (OSError, ValueError, pa.ArrowException, MemoryError) as error:
        raise ResultError(f"{path} cannot be read ({error}): run the command again") from error
    table = _completed(table, path, meta)
    for name in _FILLED:
        if name in table.column_names and table[name].null_count:
            raise ResultError(f"{path} has {table[name].null_count} rows without {name}: run the command again")
    _check_values(table, path)
    return table


def check_schema(path: Path, meta: Mapping[str, Any]) -> None:
    """Refuse a table that lacks a column, has one of another type or twice, or is of another run."""
    try:
        schema = pq.read_schema(path)
    except (OSError, ValueError, pa.ArrowException, MemoryError) as error:
        raise ResultError(f"{path} cannot be read ({error}): run the command again") from error
    expected = ITEM_COLUMNS if path.name == ITEMS else TOKEN_COLUMNS
    for name, kind in expected.items():
        present = schema.get_all_field_indices(name)
        if not present and name in _OPTIONAL:
            continue
        if len(present) != 1:
            raise ResultError(f"{path} has {len(present)} columns {name}, expected one: run the command again")
        stored, wanted = (_value_type(each) for each in (schema.field(present[0]).type, kind))
        words, fits = next((words, fits) for words, fits in _TYPES if fits(wanted))
        if not fits(stored) and not (pa.types.is_null(stored) and name not in _FILLED):
            raise ResultError(f"{path}: the column {name} is {quote(str(stored))}, expected {words}")
    if len(set(schema.names)) != len(schema.names):
        raise ResultError(f"{path} has a column twice: run the command again")
    digest = (meta.get("details") or {}).get(DIGEST)
    if digest is not None and (schema.metadata or {}).get(DIGEST.encode()) != digest.encode():
        raise ResultError(f"{path} is of another run than the result.json beside it: run the command again")


def select_items(table: pa.Table, items: Collection[str]) -> pa.Table:
    """The rows of these items."""
    wanted = pa.array(sorted(items), table.schema.field("item").type)
    return table.filter(pc.is_in(table["item"], wanted))


def _read_rows(path: Path, items: Collection[str]) -> pa.Table:
    """The rows of these items, a batch at a time."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        parts = [select_items(pa.Table.from_batches([batch]), items) for batch in file.iter_batches()]
        return pa.concat_tables(parts) if parts else file.schema_arrow.empty_table()


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _completed(table: pa.Table, path: Path, meta: Mapping[str, Any]) -> pa.Table:
    """The table with the columns that earlier versions did not write; those of tokens are computed later."""
    for name, kind in (ITEM_COLUMNS if path.name == ITEMS else {}).items():
        if name == "data" and name not in table.column_names:
            only = meta["data"][0]["name"] if meta["data"] else ""
            table = table.append_column(name, pa.array([only] * len(table), TEXT))
        elif name not in table.column_names:
            table = table.append_column(name, pa.nulls(len(table), kind))
    return table


def _check_values(table: pa.Table, path: Path) -> None:
    """Refuse an unknown side or outcome, and a scored item without scores."""
    for name, allowed in (("side", SIDES), ("outcome", OUTCOMES)):
        if name in table.column_names:
            unknown = set(pc.unique(table[name].cast(pa.string())).to_pylist()) - set(allowed)
            if unknown:
                raise ResultError(f"{path}: {name} is {quote(min(unknown))}, expected one of {', '.join(allowed)}")
    if "outcome" in table.column_names:
        scored = pc.not_equal(table["outcome"].cast(pa.string()), "unscored")
        for name in ("more", "less", "difference"):
            if pc.any(pc.and_(scored, pc.is_null(table[name]))).as_py():
                raise ResultError(f"{path}: a scored item has no {name}: run the command again")
