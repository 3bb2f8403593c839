"""What a table holds, as its number of rows and one hash: the same whatever the compression and the row groups are."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


class TableContent:
    """The rows of a table that were added so far, column by column; numbers are compared as float64, texts as UTF-8."""

    def __init__(self) -> None:
        self._rows = 0
        self._columns: dict[str, _ColumnHash] = {}

    @classmethod
    def of_file(cls, path: Path) -> TableContent:
        """The content of a Parquet file, read a batch at a time."""
        content = cls()
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches():
                content.add(batch)
        return content

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            self._columns.setdefault(name, _ColumnHash()).add(column, self._rows)
        self._rows += batch.num_rows

    def facts(self) -> dict[str, Any]:
        """The number of rows and the hash, as `result.json` records them."""
        columns = sorted((name, column.digest()) for name, column in self._columns.items())
        return {"rows": self._rows, "sha256": sha256(repr((self._rows, columns)).encode()).hexdigest()}


class _ColumnHash:
    """Three hashes of one column: of its values, of the lengths of its texts, and of the rows without a value."""

    def __init__(self) -> None:
        self._values, self._lengths, self._nulls = sha256(), sha256(), sha256()

    def add(self, column: pa.Array, first: int) -> None:
        """Add values, the first of which is in row `first` of the table."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.null_count:
            self._nulls.update((np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)) + first).tobytes())
            column = column.drop_null()
        if not len(column):
            return
        if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
            self._values.update(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).tobytes())
            return
        texts = column.cast(pa.large_string())
        _, ends, characters = texts.buffers()
        first_byte, last_byte = np.frombuffer(ends, np.int64)[[texts.offset, texts.offset + len(texts)]]
        self._lengths.update(pc.binary_length(texts).to_numpy().tobytes())
        self._values.update(memoryview(characters)[first_byte:last_byte] if characters else b"")

    def digest(self) -> tuple[str, ...]:
        """The hashes in hexadecimal."""
        return tuple(each.hexdigest() for each in (self._values, self._lengths, self._nulls))
