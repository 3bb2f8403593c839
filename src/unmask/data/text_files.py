"""Files of a corpus: where their text is, what could not be read, and decompression."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from unmask.core.errors import DataError

COMPRESSED = (".gz", ".xz", ".bz2", ".zst")
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
MAX_REPORTED = 20  # problems reported with file and row; the others are only counted
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")  # byte-order marks of UTF-16


@dataclass(slots=True)
class Problems:
    """Rows that could not be read: how many, and where the first ones are."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, file: str, row: int, why: str) -> None:
        """Record a problem; rows count from 0."""
        self.count += 1
        if len(self.first) < MAX_REPORTED:
            self.first.append(f"{file}, row {row} (from 0): {why}")

    def merge(self, other: Problems) -> None:
        """Add the problems of another part of the corpus."""
        self.count += other.count
        self.first = [*self.first, *other.first][:MAX_REPORTED]


def existing_files(paths: Iterable[str | Path]) -> list[Path]:
    """The paths; DataError if one is missing or none is given."""
    files = [Path(path) for path in paths]
    for path in files:
        if not path.is_file():
            raise DataError(f"no file {str(path)!r}: give text, JSON lines, CSV, TSV or Parquet files")
    if not files:
        raise DataError("no files given: give text, JSON lines, CSV, TSV or Parquet files")
    return files


def file_format(path: Path) -> str:
    """The suffix of the format, without that of the compression."""
    bare = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return bare.suffix.lower()


def is_plain_text(path: Path) -> bool:
    """Is the file neither a table nor compressed, so that its bytes are its text?"""
    return path.suffix.lower() not in COMPRESSED and file_format(path) not in TABLES


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading bytes, decompressed."""
    match path.suffix.lower():
        case ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        case ".xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        case ".bz2":
            return cast(BinaryIO, bz2.open(path, "rb"))
        case ".zst":
            import pyarrow as pa

            packed = pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")
            return cast(BinaryIO, io.BufferedReader(packed))
        case _:
            return path.open("rb")


def iter_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines without their ends; UTF-16 is refused, a byte-order mark dropped."""
    with closing(open_binary(path)) as stream:
        for number, line in enumerate(stream):
            if number == 0:
                refuse_utf16(line, path)
            yield (line if number else line.removeprefix(b"\xef\xbb\xbf")).rstrip(b"\r\n")


def refuse_utf16(first: bytes, path: Path) -> None:
    """Refuse UTF-16: read as UTF-8 it would seem to contain no words."""
    if first.startswith(_WIDE_MARKS):
        raise DataError(f"{path.name} is UTF-16; expected UTF-8, save it again as UTF-8")
