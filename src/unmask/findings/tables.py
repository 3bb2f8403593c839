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
from unmask.findings.contents import TableContent
from unmask.findings.envelope import ITEMS

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
_FILLED = ("measure", "data", "item", "side", "position", "token", "in_span", "weight", "outcome")  # without nulls
EXACT, ROUNDING = 1e-9, 1e-3  # relative error of a sum; what rounding may leave of a log-probability above 0
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
        table, content = _read_all(path) if items is None else _read_rows(path, items)
        table.validate(full=True)
    except (OSError, ValueError, pa.ArrowException, MemoryError) as error:
        raise ResultError(f"{path} cannot be read ({error}): run the command again") from error
    if content.facts() != meta["tables"].get(path.name):
        raise ResultError(
            f"{path} does not hold what the result.json beside it describes: it was changed, or is of another run; "
            "run the command again"
        )
    for name in _FILLED:
        if name in table.column_names and table[name].null_count:
            raise ResultError(f"{path} has {table[name].null_count} rows without {name}: run the command again")
    _check_values(table, path, meta)
    return table


def check_schema(path: Path, meta: Mapping[str, Any]) -> None:
    """Refuse a table that lacks a column, has one of another type or twice, or has lost rows; values are not read."""
    try:
        written = pq.read_metadata(path)
        schema = written.schema.to_arrow_schema()
    except (OSError, ValueError, pa.ArrowException, MemoryError) as error:
        raise ResultError(f"{path} cannot be read ({error}): run the command again") from error
    expected = ITEM_COLUMNS if path.name == ITEMS else TOKEN_COLUMNS
    for name, kind in expected.items():
        present = schema.get_all_field_indices(name)
        if len(present) != 1:
            raise ResultError(f"{path} has {len(present)} columns {name}, expected one: run the command again")
        stored, wanted = (_value_type(each) for each in (schema.field(present[0]).type, kind))
        words, fits = next((words, fits) for words, fits in _TYPES if fits(wanted))
        if not fits(stored) and not (pa.types.is_null(stored) and name not in _FILLED):
            raise ResultError(f"{path}: the column {name} is {quote(str(stored))}, expected {words}")
    if len(set(schema.names)) != len(schema.names):
        raise ResultError(f"{path} has a column twice: run the command again")
    known = meta["tables"]
    if path.name not in known:
        raise ResultError(f"{path} is not of the result.json beside it, which has no such table: remove it")
    if written.num_rows != known[path.name]["rows"]:
        raise ResultError(
            f"{path} has {written.num_rows:,} rows, expected the {known[path.name]['rows']:,} of the result.json "
            "beside it: it was changed, or is of another run; run the command again"
        )


def select_items(table: pa.Table, items: Collection[str]) -> pa.Table:
    """The rows of these items."""
    wanted = pa.array(sorted(items), table.schema.field("item").type)
    return table.filter(pc.is_in(table["item"], wanted))


def _read_all(path: Path) -> tuple[pa.Table, TableContent]:
    """The table and its content."""
    table, content = pq.read_table(path, page_checksum_verification=True), TableContent()
    for batch in table.to_batches():
        content.add(batch)
    return table, content


def _read_rows(path: Path, items: Collection[str]) -> tuple[pa.Table, TableContent]:
    """The rows of these items, and the content of the whole table, which is read a batch at a time."""
    content, parts = TableContent(), []
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        for batch in file.iter_batches():
            content.add(batch)
            parts.append(select_items(pa.Table.from_batches([batch]), items))
        return pa.concat_tables(parts) if parts else file.schema_arrow.empty_table(), content


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _check_values(table: pa.Table, path: Path, meta: Mapping[str, Any]) -> None:
    """Refuse what no run writes: an unknown side or outcome, scores that are no numbers or contradict the outcome."""
    for name, allowed in (("side", SIDES), ("outcome", OUTCOMES)):
        if name in table.column_names:
            unknown = set(pc.unique(table[name].cast(pa.string())).to_pylist()) - set(allowed)
            if unknown:
                raise ResultError(f"{path}: {name} is {quote(min(unknown))}, expected one of {', '.join(allowed)}")
    if path.name == ITEMS:
        _check_items(table, path, meta)
        return
    for name in ("logprob", "weight", "contribution"):
        if name in table.column_names:
            _refuse(table, path, _not_finite(table[name]), f"a {name} that is not finite")
    ratios = [each["name"] for each in meta["details"]["measures"] if each["summary"] == "association"]
    of_ratios = pc.is_in(table["measure"].cast(TEXT), pa.array(ratios, TEXT))  # the log of a ratio of probabilities
    above = pc.greater(table["logprob"].cast(NUMBER), ROUNDING)
    _refuse(table, path, pc.and_not_kleene(above, of_ratios), "a log-probability above 0")
    _refuse(table, path, pc.less(table["position"], 0), "a position below 0")


def _check_items(items: pa.Table, path: Path, meta: Mapping[str, Any]) -> None:
    """Refuse a scored item without scores or with a reason, and an outcome that is not that of its scores."""
    outcome = items["outcome"].cast(pa.string())
    more, less, difference = (items[name].cast(NUMBER) for name in ("more", "less", "difference"))
    scored = pc.not_equal(outcome, "unscored")
    for name in ("more", "less", "difference"):
        if pc.any(pc.and_(scored, pc.is_null(items[name]))).as_py():
            raise ResultError(f"{path}: a scored item has no {name}: run the command again")
    for name in (*SIDES, "difference", PER_TOKEN):
        _refuse(items, path, pc.and_kleene(scored, _not_finite(items[name])), f"a score ({name}) that is not finite")
    _refuse(
        items,
        path,
        pc.and_kleene(scored, pc.not_equal(items["reason"].cast(pa.string()), "")),
        "a reason to be unscored, and a score",
    )
    rest = pc.abs(pc.subtract(difference, pc.subtract(more, less)))
    allowed = pc.multiply(pc.add(pc.abs(more), pc.add(pc.abs(less), 1.0)), EXACT)
    _refuse(items, path, pc.and_kleene(scored, pc.greater(rest, allowed)), "a difference that is not more − less")
    decimals = {each["name"]: each["decimals"] for each in meta["details"]["measures"]}
    rounded = [name for name, digits in decimals.items() if digits is not None]  # before they are compared
    largest = max((10.0 ** -decimals[name] for name in rounded), default=0.0) * (1 + EXACT)
    tie = pc.if_else(pc.is_in(items["measure"].cast(TEXT), pa.array(rounded, TEXT)), largest, 0.0)
    for name, contradicts in (
        ("more", pc.less_equal(difference, 0.0)),
        ("less", pc.greater_equal(difference, 0.0)),
        ("tie", pc.greater(pc.abs(difference), tie)),
    ):
        wrong = pc.and_kleene(pc.equal(outcome, name), contradicts)
        _refuse(items, path, wrong, f"the outcome {name}, which is not that of its difference")


def _not_finite(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    """Where there is a number that is NaN or infinite."""
    return pc.fill_null(pc.invert(pc.is_finite(numbers.cast(NUMBER))), False)


def _refuse(table: pa.Table, path: Path, wrong: pa.ChunkedArray, what: str) -> None:
    """Refuse the table if something is wrong with a row, and name the item of the first."""
    at = pc.index(pc.fill_null(wrong, False), True).as_py()
    if at >= 0:
        row = ", ".join(str(table[name][at]) for name in ("measure", "item"))
        raise ResultError(f"{path}: {quote(row)} has {what}: the table was changed, run the command again")
