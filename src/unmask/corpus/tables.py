"""Write tables to CSV or Parquet as their rows arrive, such as the counts of every document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unmask.core.errors import DataError
from unmask.core.files import escape, file_name, partial_file
from unmask.core.types import Ints
from unmask.corpus.counting import CorpusCounts, PartCallback

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


@contextmanager
def document_writer(path: Path, names: tuple[str, str], *, whole_files: bool = False) -> Iterator[PartCallback]:
    """Yield a function that writes the counts of each part; documents of a file are numbered from 0.

    With `whole_files` a file is one document, even if it was read in several parts.
    """
    columns = ("file", "document", *names, "words", "ilps")
    if len(set(columns)) < len(columns):
        raise DataError(f"{path}: two columns of the table of documents have one name: {', '.join(columns)}")
    kinds: dict[str, ColumnKind] = {**dict.fromkeys(columns, "integer"), "file": "text", "ilps": "number"}
    with table_writer(path, kinds) as write_rows:
        next_number: dict[Path, int] = {}
        pending: tuple[Path, Ints] | None = None

        def write(file: Path, rows: Ints) -> None:
            first = next_number.get(file, 0)
            next_number[file] = first + len(rows)
            numbers = range(first, first + len(rows))
            both = (rows[:, 0] > 0) & (rows[:, 1] > 0)  # else there is no ILPS
            safe = np.where(both[:, None], rows[:, :2], 1)
            ratios = np.ma.masked_array(np.log(safe[:, 0] / safe[:, 1]), ~both).tolist()
            write_rows(([file_name(file)] * len(rows), numbers, *rows.T.tolist(), ratios))

        def write_part(file: Path, counts: CorpusCounts) -> None:
            nonlocal pending
            for rows in counts.rows:
                if not whole_files:
                    write(file, rows)
                    continue
                so_far = rows.sum(0, keepdims=True)
                if pending is not None and pending[0] == file:
                    so_far = so_far + pending[1]
                elif pending is not None:
                    write(*pending)
                pending = file, so_far

        yield write_part
        if pending is not None:
            write(*pending)
