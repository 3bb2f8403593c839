"""Write a table to CSV or Parquet as its rows arrive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from unmask.core.errors import DataError
from unmask.core.files import escape, partial_file

ColumnKind = Literal["text", "integer", "number"]
Write = Callable[[Sequence[Sequence[Any]]], None]  # takes columns of equal length


@contextmanager
def table_writer(path: Path, columns: Mapping[str, ColumnKind]) -> Iterator[Write]:
    """Yield a function that writes some rows, given by column; the file appears when the block ends without an error.

    In CSV, which is for spreadsheets, no cell is taken for a formula.
    """
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise DataError(f"{path}: the table must end in .csv or .parquet")
    import pyarrow as pa
    from pyarrow.csv import CSVWriter
    from pyarrow.parquet import ParquetWriter

    types = {"text": pa.string(), "integer": pa.int64(), "number": pa.float64()}
    kinds = [types[kind] for kind in columns.values()]
    is_csv = path.suffix.lower() == ".csv"
    names = [escape(name) if is_csv else name for name in columns]
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    opener = CSVWriter if is_csv else ParquetWriter
    with partial_file(path) as partial, opener(str(partial), schema) as writer:

        def write(rows: Sequence[Sequence[Any]]) -> None:
            cells = [
                list(map(escape, column)) if is_csv and kind == "text" else column
                for column, kind in zip(rows, columns.values(), strict=True)
            ]
            writer.write_table(pa.table(list(map(pa.array, cells, kinds)), schema=schema))

        yield write
