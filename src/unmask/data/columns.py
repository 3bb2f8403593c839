"""Which column of a table is which field of a pair: a small YAML file.

    more: sent_more
    less: sent_less
    category: bias_type
    direction: {column: label, values: {0: stereo, 1: antistereo}}

Fields are those of your own pairs (`data/pairs.py`); other names become groups. Columns that are not named are left
out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unmask.core.boundary import Rows, parse_yaml, read_text, validate
from unmask.core.errors import DataError, quote
from unmask.core.files import file_name

MAX_BYTES = 2**16
NEEDED = ("more", "less")


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and what its values stand for; a value that is not listed stays as it is."""

    column: str
    values: dict[str, str] = field(default_factory=dict)


def read_mapping(path: Path) -> dict[str, Column]:
    """The columns by field, from a YAML file."""
    where = file_name(path)
    content = parse_yaml(read_text(path, DataError, most=MAX_BYTES), where, DataError)
    if not isinstance(content, dict):
        raise DataError(f"{where}: found {quote(content)}, expected lines such as `more: sent_more`")
    columns = {}
    for name, given in content.items():
        if not isinstance(name, str) or not name.strip():
            raise DataError(f"{where}: the field {quote(name)}, expected a name such as more or category")
        columns[name] = _column(given, f"{where}, {name}")
    if lacking := [name for name in NEEDED if name not in columns]:
        raise DataError(f"{where}: no {lacking[0]}; expected the columns of both sentences, `more: …` and `less: …`")
    return columns


def _column(given: Any, where: str) -> Column:
    """One entry: the name of a column, or an object with it and its values."""
    if isinstance(given, str) and given.strip():
        return Column(given.strip())
    if not isinstance(given, dict) or {*given} - {"column", "values"}:
        raise DataError(f"{where}: found {quote(given)}, expected the name of a column, or column and values")
    values = given.get("values", {})
    if not isinstance(values, dict) or any(isinstance(each, dict | list) for each in values.values()):
        raise DataError(f"{where}: values is {quote(values)}, expected what each value stands for")
    return validate(Column, {**given, "values": {str(key): str(each) for key, each in values.items()}}, where)


def map_columns(rows: Rows, columns: Mapping[str, Column] | None) -> Rows:
    """The rows by field; without columns they stay as they are."""
    if columns is None:
        return rows
    mapped = []
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise DataError(f"{rows.at(number)}: found {quote(row)}, expected a row with columns")
        if absent := [each.column for each in columns.values() if each.column not in row]:
            raise DataError(
                f"{rows.at(number)}: no column {quote(absent[0])}; found {quote(list(row))}; mend the mapping"
            )
        mapped.append({name: _value(row[each.column], each) for name, each in columns.items()})
    return Rows(mapped, rows.where, rows.lines)


def _value(cell: Any, column: Column) -> Any:
    return column.values.get(str(cell), cell) if column.values else cell
