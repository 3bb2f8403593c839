"""Parse the bytes of a file into records: CSV, TSV, JSON, JSON Lines and Parquet.

Rows are counted from 0 without the header, as in item ids; lines are counted from 1, as in editors.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

from unmask.core.errors import DataError


def decode(data: bytes, where: str, encoding: str = "utf-8-sig") -> str:
    """Decode bytes to text; a byte-order mark is dropped."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise DataError(
            f"{where}: byte {error.start} is not valid {name}; expected {name} text, save it again as {name}"
        ) from None


def table(text: str, where: str, delimiter: str = ",") -> list[dict[str, str]]:
    """Parse a table with a header; every row must have as many fields as the header."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        lines = [cells for cells in reader if cells]
    except csv.Error as error:
        raise DataError(
            f"{where}, line {reader.line_num}: {error}; expected every quote to be closed, "
            "and a quote inside a quoted field to be doubled"
        ) from None
    header = [cell.strip() for cell in lines[0]] if lines else []
    if twice := sorted({name for name in header if header.count(name) > 1}):
        raise DataError(f"{where}: column {twice[0]!r} appears more than once in the header; rename one")
    for row, cells in enumerate(lines[1:]):
        if len(cells) != len(header):
            raise DataError(
                f"{where}, row {row} (from 0): {len(cells)} fields, expected {len(header)} as in the header; "
                "quote fields that contain the separator"
            )
    return [dict(zip(header, cells, strict=True)) for cells in lines[1:]]


def _json(data: bytes, where: str) -> list[Any]:
    try:
        content = json.loads(decode(data, where))
    except (json.JSONDecodeError, RecursionError) as error:
        raise DataError(f"{where}: not valid JSON ({error}); expected a list of objects") from None
    if not isinstance(content, list):
        kind = type(content).__name__
        if isinstance(content, dict):
            kind = f"an object with keys {', '.join(content)}"
        raise DataError(f"{where}: found {kind}, expected a list of objects with `more` and `less`")
    return content


def _jsonl(data: bytes, where: str) -> list[Any]:
    objects = []
    for number, line in enumerate(decode(data, where).split("\n"), start=1):
        try:
            objects += [json.loads(line)] if line.strip() else []
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"{where}, line {number}: not valid JSON ({error}); expected one object per line") from None
    return objects


def _parquet(data: bytes, where: str) -> list[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return list(pq.read_table(pa.BufferReader(data)).to_pylist())
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{where}: not a readable Parquet file ({reason}); write it again") from None


_READERS: dict[str, Callable[[bytes, str], list[Any]]] = {
    ".csv": lambda data, where: list(table(decode(data, where), where)),
    ".tsv": lambda data, where: list(table(decode(data, where), where, delimiter="\t")),
    ".json": _json,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
SUFFIXES = tuple(_READERS)


def records(data: bytes, suffix: str, where: str) -> list[Any]:
    """Parse a file in one of the five formats; `where` names it in messages."""
    if (reader := _READERS.get(suffix.lower())) is None:
        raise DataError(f"{where}: unknown kind of file {suffix!r}; expected one of {', '.join(SUFFIXES)}; convert it")
    return reader(data, where)
