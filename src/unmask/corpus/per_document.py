"""Write the counts of every document to CSV or Parquet as they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from unmask.core.errors import DataError
from unmask.core.files import partial_file
from unmask.core.types import Ints
from unmask.corpus.counting import CorpusCounts, PartCallback


@contextmanager
def document_writer(path: Path, names: tuple[str, str], *, whole_files: bool = False) -> Iterator[PartCallback]:
    """Yield a function that writes the counts of each part; documents of a file are numbered from 0.

    With `whole_files` a file is one document, even if it was read in several parts.
    """
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise DataError(f"{path}: the table of documents must end in .csv or .parquet")
    import pyarrow as pa
    from pyarrow.csv import CSVWriter
    from pyarrow.parquet import ParquetWriter

    kinds = (pa.string(), *[pa.int64()] * 4, pa.float64())
    schema = pa.schema(list(zip(("file", "document", *names, "words", "ilps"), kinds, strict=True)))
    path.parent.mkdir(parents=True, exist_ok=True)
    table = CSVWriter if path.suffix.lower() == ".csv" else ParquetWriter
    with partial_file(path) as partial, table(str(partial), schema) as writer:
        next_number: dict[Path, int] = {}
        pending: tuple[Path, Ints] | None = None

        def write(file: Path, rows: Ints) -> None:
            first = next_number.get(file, 0)
            next_number[file] = first + len(rows)
            numbers = np.arange(first, first + len(rows))
            both = (rows[:, 0] > 0) & (rows[:, 1] > 0)  # else there is no ILPS
            safe = np.where(both[:, None], rows[:, :2], 1)
            ratios = np.log(safe[:, 0] / safe[:, 1]).astype(object)
            ratios[~both] = None
            cells = ([file.name] * len(rows), numbers, *rows.T, ratios)
            columns = [pa.array(column, kind) for column, kind in zip(cells, kinds, strict=True)]
            writer.write_table(pa.table(columns, schema=schema))

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
