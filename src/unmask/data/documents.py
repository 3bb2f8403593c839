"""Documents from files, one after another: text, JSON lines, CSV, TSV and Parquet, plain or compressed.

No more than one document (of Parquet: one batch of rows) is in memory at a time. A row that cannot be read
is skipped and recorded with its file and number; a file that cannot be read at all is an error.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, AnyStr, BinaryIO, cast

from unmask.core.boundary import has_surrogates
from unmask.core.errors import MAX_FOUND, DataError, one_line, quote, shorten
from unmask.core.files import file_name
from unmask.core.options import TextLayout
from unmask.data.formats import is_file, user_path

COMPRESSED = (".gz", ".xz", ".bz2", ".zst")
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
MAX_REPORTED = 20  # problems reported with file and row; the others are only counted
USUAL_COLUMNS = ("text", "sentence", "content", "document", "body", "comment_text", "comment")
MAX_LINE = 2**27  # bytes of a line: more is no text, but could fill the memory
MAX_DOCUMENT = 2**30  # characters of a document of several lines
_BATCH = 1024  # rows of Parquet read at a time


@dataclass(frozen=True, slots=True)
class Document:
    """One text, and where it comes from."""

    text: str
    file: str
    row: int  # from 0: the document of a text file, the row of a table


@dataclass(slots=True)
class Problems:
    """Rows that could not be read: how many, and where the first ones are."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, file: str, row: int, why: str) -> None:
        """Record a problem; rows count from 0."""
        self.count += 1
        if len(self.first) < MAX_REPORTED:
            self.first.append(one_line(f"{file}, row {row} (from 0): {shorten(why, MAX_FOUND)}"))

    def merge(self, other: Problems) -> None:
        """Add the problems of another part of the corpus."""
        self.count += other.count
        self.first = [*self.first, *other.first][:MAX_REPORTED]

    def notes(self) -> list[str]:
        """What a finding says of them."""
        return [f"{self.count:,} problems while reading; the first: {self.first[0]}"] if self.count else []


def existing_files(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """The paths; DataError if one is missing or none is given."""
    files = [user_path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    for path in files:
        if not is_file(path):
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
    if (suffix := path.suffix.lower()) == ".zst":
        import pyarrow as pa

        return cast(BinaryIO, io.BufferedReader(pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")))
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
    return cast(BinaryIO, openers.get(suffix, open)(path, "rb"))


def iter_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines without their ends; UTF-16 is refused, a byte-order mark dropped."""
    with closing(open_binary(path)) as stream:
        for number, line in enumerate(_limit_lines(stream, path)):
            if number == 0:
                refuse_utf16(line, path)
            yield (line if number else line.removeprefix(b"\xef\xbb\xbf")).rstrip(b"\r\n")


def _limit_lines(stream: IO[AnyStr], path: Path) -> Iterator[AnyStr]:
    """The lines with their ends; DataError for one that is longer than any text."""
    number = 0
    while line := stream.readline(MAX_LINE):
        number += 1
        if len(line) == MAX_LINE:
            raise DataError(f"{path}, line {number}: more than {MAX_LINE:,} bytes; expected lines of text")
        yield line


def refuse_utf16(first: bytes, path: Path) -> None:
    """Refuse UTF-16: read as UTF-8 it would seem to contain no words."""
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):  # its byte-order marks
        raise DataError(f"{path.name} is UTF-16; expected UTF-8, save it again as UTF-8")


def read_documents(
    paths: Iterable[str | Path], layout: TextLayout | None = None, problems: Problems | None = None
) -> Iterator[Document]:
    """Yield every document of every file, in order; empty ones are skipped."""
    problems = Problems() if problems is None else problems
    for path in existing_files(paths):
        yield from read_file(path, layout or TextLayout(), problems)


def read_file(path: Path, layout: TextLayout, problems: Problems) -> Iterator[Document]:
    """Yield the documents of one file."""
    rows = _READERS.get(file_format(path), _text_rows)
    try:
        for row, text in rows(path, layout, problems):
            if text.strip():
                yield Document(text, file_name(path), row)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DataError(f"{path} cannot be read to its end ({error}); download or compress it again") from error


def _text_rows(path: Path, layout: TextLayout, problems: Problems) -> Iterator[tuple[int, str]]:
    """Documents of a text file, numbered from 0; bytes that are not UTF-8 are replaced and recorded."""
    number, size, block = 0, 0, list[str]()
    for row, raw in enumerate(iter_lines(path)):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            problems.add(path.name, row, f"byte {error.start} is not UTF-8; it was replaced")
            line = raw.decode("utf-8", errors="replace")
        blank = not line.strip()
        if layout.unit == "line" and not blank:
            yield number, line
            number += 1
        elif layout.unit == "block" and blank and block:
            yield number, "\n".join(block)
            number, size, block = number + 1, 0, []
        elif layout.unit != "line" and not blank:
            block.append(line)
            size += len(line)
            if size > MAX_DOCUMENT:
                raise DataError(f"{path}: a document of more than {MAX_DOCUMENT:,} characters; split it")
    if block:
        yield number, "\n".join(block)


def _json_lines(path: Path, layout: TextLayout, problems: Problems) -> Iterator[tuple[int, str]]:
    """One JSON object with a text, or one string, per line."""
    for number, line in enumerate(iter_lines(path)):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.add(path.name, number, f"not valid JSON ({error})")
            continue
        if has_surrogates(record):
            problems.add(path.name, number, "half a character (a surrogate) in a string")
            continue
        if isinstance(record, str):
            yield number, record
        elif isinstance(record, dict):
            names = layout.columns or _usual_column(list(record), path)
            if lacking := [name for name in names if not isinstance(record.get(name), str)]:
                problems.add(path.name, number, f"no text under {quote(lacking[0])}")
            else:
                yield number, "\n".join(record[name] for name in names)
        else:
            problems.add(path.name, number, f"found {type(record).__name__}, expected an object or a string")


def _table(path: Path, layout: TextLayout, problems: Problems) -> Iterator[tuple[int, str]]:
    """Rows of CSV, or of tab-separated text whatever its suffix; in the latter quotes are literal."""
    with closing(open_binary(path)) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline="")
        lines = _limit_lines(text, path)
        first = next(lines, "")
        tabs = file_format(path) == ".tsv" or first.count("\t") > first.count(",")
        style: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if tabs else {"strict": True}
        reader = csv.reader(chain([first], lines), **style)
        if layout.header:
            try:
                header = [name.strip() for name in next(reader, [])]
            except csv.Error as error:
                raise DataError(f"{path.name}, line 1: {error}; expected the names of the columns") from None
            wanted = _text_columns(header, path, layout, " (without a header: its number)")
            columns, width = [header.index(name) for name in wanted], len(header)
        else:
            columns, width = [int(name) - 1 for name in layout.columns or ("1",)], 0
        row = 0
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                problems.add(path.name, row, f"{error} (line {reader.line_num})")
                row += 1
                continue
            if not cells:
                continue
            if (width and len(cells) != width) or len(cells) <= max(columns):
                problems.add(path.name, row, f"{len(cells)} fields, expected {width or max(columns) + 1}")
            else:
                yield row, "\n".join(cells[column] for column in columns)
            row += 1


def _text_columns(names: Sequence[str], path: Path, layout: TextLayout, hint: str = "") -> tuple[str, ...]:
    """The columns that hold the text: those asked for, or a usual one."""
    wanted = layout.columns or _usual_column(names, path)
    for name in wanted:
        if name not in names:
            known = shorten(", ".join(names), MAX_FOUND) or "none"
            raise DataError(f"{path.name} has no column {quote(name)}; it has {known}: name one in `columns`{hint}")
    return wanted


def _usual_column(names: Sequence[str], path: Path) -> tuple[str, ...]:
    """The column that holds the text, by a usual name or as the only one."""
    if len(names) == 1:
        return (names[0],)
    by_name = {name.lower(): name for name in reversed(names)}
    for usual in USUAL_COLUMNS:
        if usual in by_name:
            return (by_name[usual],)
    known = shorten(", ".join(names), MAX_FOUND) or "none"
    raise DataError(f"{path.name}: no column is clearly the text; name one of {known} in `columns`")


def _parquet(path: Path, layout: TextLayout, problems: Problems) -> Iterator[tuple[int, str]]:
    """Rows of Parquet; only the text columns are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix.lower() in COMPRESSED:
        raise DataError(f"{path.name}: Parquet is compressed internally; decompress the file")
    try:
        file = pq.ParquetFile(path)
        names = _text_columns(file.schema_arrow.names, path, layout)
        if any(file.schema_arrow.names.count(name) > 1 for name in names):
            raise DataError(f"{path.name}: two columns are called {quote(names[0])}; rename one")
        row = 0
        for batch in file.iter_batches(batch_size=_BATCH, columns=list(names)):
            for cells in zip(*(batch.column(name).to_pylist() for name in names), strict=True):
                if all(isinstance(cell, str) for cell in cells):
                    yield row, "\n".join(cells)
                else:
                    problems.add(path.name, row, "no text")
                row += 1
    except (pa.ArrowException, ValueError, LookupError, ArithmeticError, TypeError) as error:
        reason = shorten(one_line(str(error)), MAX_FOUND)
        raise DataError(f"{path.name} is not a readable Parquet file ({reason}); write it again") from error


_READERS: dict[str, Callable[[Path, TextLayout, Problems], Iterator[tuple[int, str]]]] = {
    ".csv": _table,
    ".tsv": _table,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".parquet": _parquet,
}
