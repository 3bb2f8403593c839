"""Write the counts of every document to CSV or Parquet as they arrive."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from unmask.core.errors import DataError
from unmask.core.types import Ints
from unmask.corpus.counting import CorpusCounts

DocumentWriter = Callable[[Path, CorpusCounts], None]


@contextmanager
def document_writer(
    path: Path, names: tuple[str, str], *, whole_files: bool = False
) -> Iterator[DocumentWriter]:
    """Yield a function that writes the counts of each part; documents of a file are numbered from 0.

    With `whole_files` a file is one document, even if it was read in several parts.
    """
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise DataError(f"{path}: the table of documents must end in .csv or .parquet")
    columns = ("file", "document", *names, "words", "ilps")
    path.parent.mkdir(parents=True, exist_ok=True)
    with (_csv if path.suffix.lower() == ".csv" else _parquet)(path, columns) as write:
        next_number: dict[Path, int] = {}
        pending: tuple[Path, Ints] | None = None

        def write_part(file: Path, counts: CorpusCounts) -> None:
            nonlocal pending
            for rows in counts.rows:
                if not whole_files:
                    write(file.name, next_number.get(file, 0), rows)
                    next_number[file] = next_number.get(file, 0) + len(rows)
                elif pending is not None and pending[0] == file:
                    pending = file, pending[1] + rows.sum(0, keepdims=True)
                else:
                    if pending is not None:
                        write(pending[0].name, 0, pending[1])
                    pending = file, rows.sum(0, keepdims=True)

        yield write_part
        if pending is not None:
            write(pending[0].name, 0, pending[1])


_Write = Callable[[str, int, Ints], None]


@contextmanager
def _csv(path: Path, columns: tuple[str, ...]) -> Iterator[_Write]:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)

        def write(file: str, first: int, rows: Ints) -> None:
            for number, (row, ratio) in enumerate(
                zip(rows.tolist(), _ratios(rows), strict=True), start=first
            ):
                writer.writerow((file, number, *row, "" if ratio is None else ratio))

        yield write


@contextmanager
def _parquet(path: Path, columns: tuple[str, ...]) -> Iterator[_Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = (pa.string(), *[pa.int64()] * 4, pa.float64())
    schema = pa.schema(list(zip(columns, kinds, strict=True)))
    with pq.ParquetWriter(path, schema) as writer:

        def write(file: str, first: int, rows: Ints) -> None:
            numbers = np.arange(first, first + len(rows))
            cells = [[file] * len(rows), numbers, *rows.T, _ratios(rows)]
            writer.write_table(pa.table(dict(zip(columns, cells, strict=True)), schema=schema))

        yield write


def _ratios(rows: Ints) -> list[float | None]:
    """ILPS of each document; None where a set has no word."""
    both = (rows[:, 0] > 0) & (rows[:, 1] > 0)
    safe = np.where(both[:, None], rows[:, :2], 1)
    ratios = np.log(safe[:, 0] / safe[:, 1])
    return [float(ratio) if known else None for ratio, known in zip(ratios, both, strict=True)]
