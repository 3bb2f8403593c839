"""Files of a corpus: where the text stands in them, what could not be read, and their bytes unpacked."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, cast, get_args

from unmask.core.errors import DataError

Unit = Literal["line", "block", "file"]
UNITS: tuple[Unit, ...] = get_args(Unit)
COMPRESSED = (".gz", ".xz", ".bz2", ".zst")
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
MAX_REPORTED = 20  # problems kept with file and row; the others are only counted
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 files begin


@dataclass(frozen=True, slots=True)
class TextLayout:
    """Where in the files the text stands."""

    columns: tuple[str, ...] = ()  # of tables; several are one document, a line each; none: the usual name
    header: bool = True  # without one, columns are numbers from 1
    unit: Unit = "line"  # what one document of a text file is; a block ends at an empty line

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if self.unit not in UNITS:
            raise DataError(f"a document of a text file is {' or '.join(UNITS)}, not {self.unit!r}")
        if not self.header and not all(name.isdigit() and int(name) for name in self.columns):
            raise DataError("without a header columns are numbers from 1: give --column 1, --column 2 …")


@dataclass(slots=True)
class Problems:
    """What could not be read: how much, and where the first of it stands."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, file: str, row: int, why: str) -> None:
        """One more; rows count from 0."""
        self.count += 1
        if len(self.first) < MAX_REPORTED:
            self.first.append(f"{file}, row {row} (from 0): {why}")

    def merge(self, other: Problems) -> None:
        """Those of another part of the corpus."""
        self.count += other.count
        self.first = [*self.first, *other.first][:MAX_REPORTED]


def existing_files(paths: Iterable[str | Path]) -> list[Path]:
    """The files; DataError where one is missing or none is given."""
    found = [Path(one) for one in paths]
    for path in found:
        if not path.is_file():
            raise DataError(f"no file {str(path)!r}: give text, JSON lines, CSV, TSV or Parquet files")
    if not found:
        raise DataError("no files given: give text, JSON lines, CSV, TSV or Parquet files")
    return found


def file_format(path: Path) -> str:
    """The suffix that tells the format, that of compression left aside."""
    bare = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return bare.suffix.lower()


def is_plain_text(path: Path) -> bool:
    """Neither a table nor compressed: its bytes are its text."""
    return path.suffix.lower() not in COMPRESSED and file_format(path) not in TABLES


def open_binary(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked on the way."""
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
    """The lines of a file without their ends; UTF-16 is refused, a byte-order mark dropped."""
    with closing(open_binary(path)) as stream:
        for number, line in enumerate(stream):
            if number == 0:
                refuse_utf16(line, path)
            yield (line if number else line.removeprefix(b"\xef\xbb\xbf")).rstrip(b"\r\n")


def refuse_utf16(first: bytes, path: Path) -> None:
    """Text of two bytes a letter is not read: it would seem to hold no word."""
    if first.startswith(_WIDE_MARKS):
        raise DataError(f"{path.name} is UTF-16; expected UTF-8, save it again as UTF-8")
