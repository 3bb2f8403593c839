"""Read files from outside: their bytes, text and records (CSV, TSV, Excel, JSON, JSON Lines and Parquet).

Whatever cannot be read is a DataError with the file and the line, counted from 1 as in editors; rows are counted
from 0 without the header, as in item ids. Sizes are limited, and no string has half a character (a surrogate).
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unmask.core.boundary import Rows, parse_json, parse_yaml, read_text, validate
from unmask.core.errors import MAX_FOUND, DataError, UnmaskError, one_line, quote, shorten
from unmask.core.files import file_name

MAX_MAPPING = 2**16
NEEDED_FIELDS = ("more", "less")
MAX_BYTES = 2**31  # of a file that is read whole, and of its decompressed content
MAX_ROWS = 5_000_000  # of a Parquet file, where a few bytes can stand for any number of rows
MAX_CELL = 2**26  # characters of a cell of CSV
MAX_WORD = 200  # characters of an entry of a word list
MAX_SHEET = 2**28  # bytes of a workbook when it is decompressed
_BATCH = 4096  # rows of Parquet converted at a time

csv.field_size_limit(MAX_CELL)


def user_path(path: str | Path) -> Path:
    """A path as the user gave it, with `~` as the home folder."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - that of Path fails for a user without a home folder


def is_file(path: Path) -> bool:
    """Whether it is a file; no error for a name that no file can have."""
    return os.path.isfile(path)  # noqa: PTH113


def read_bytes(path: Path, expected: str, most: int = MAX_BYTES) -> bytes:
    """The bytes of a file; DataError if there are more than `most`, or if it is none (`expected` says what to give)."""
    if not is_file(path):  # pipes and devices could go on for ever
        what = "is a folder" if os.path.isdir(path) else "does not exist"  # noqa: PTH112
        raise DataError(f"{path} {what}; expected {expected}")
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            data = stream.read() if size <= most else b""  # `read(most)` would reserve so much memory
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); expected {expected}") from None
    if max(size, len(data)) > most:
        raise DataError(f"{path} has more than {most:,} bytes; expected {expected}, split it")
    return data


def read_table(path: Path, expected: str, encoding: str = "utf-8-sig", delimiter: str | None = None) -> Rows:
    """The rows of a CSV or TSV file by column; without a delimiter it is the tab in `.tsv`, else the comma."""
    text = decode(read_bytes(path, expected), file_name(path), encoding)
    return table(text, file_name(path), delimiter or _delimiter(path))


def read_cells(path: Path, expected: str) -> Rows:
    """The cells of a CSV or TSV file, which may have a header or none, and rows of any length."""
    return _cells(decode(read_bytes(path, expected), file_name(path)), file_name(path), _delimiter(path))


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def read_lines(path: Path, expected: str) -> Rows:
    """The lines of a text file that are not empty, without the white space around them."""
    lines = io.StringIO(decode(read_bytes(path, expected), file_name(path)), newline=None).readlines()
    numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
    return Rows([lines[number - 1].strip() for number in numbers], file_name(path), numbers)


def read_words(path: Path) -> tuple[str, ...]:
    """The words of a file, each once: one per line, or a JSON list; lines that begin with a semicolon are comments."""
    if path.suffix.lower() == ".json":
        lines = _json(read_bytes(path, "a JSON list of words"), file_name(path))
        if not all(isinstance(line, str) for line in lines):
            raise DataError(f"{lines.where}: found {quote(list(lines))}, expected a list of words")
    else:
        lines = read_lines(path, "one word per line")
    rows = [(number, line) for number, line in enumerate(lines) if not line.startswith(";")]
    return tuple(dict.fromkeys(word for number, line in rows for word in check_words([line], lines.at(number))))


def check_words(words: Iterable[str], at: str) -> tuple[str, ...]:
    """The words without white space around them; DataError if one is empty or longer than any word."""
    cleaned = tuple(word.strip() for word in words)
    for word in cleaned:
        if not word or len(word) > MAX_WORD:
            raise DataError(f"{at}: found {quote(word)}, expected a word of at most {MAX_WORD} characters")
    return cleaned


def decode(data: bytes, where: str, encoding: str = "utf-8-sig") -> str:
    """Decode bytes to text; a byte-order mark is dropped."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        name, line = encoding.removesuffix("-sig").upper(), data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{where}, line {line}: byte {error.start} is not valid {name}; expected {name} text, "
            f"save it again as {name}"
        ) from None


def table(text: str, where: str, delimiter: str = ",") -> Rows:
    """Parse a table with a header; every row must have as many fields as the header."""
    return _with_header(_cells(text, where, delimiter))


def _with_header(cells: Rows) -> Rows:
    """The rows by the names in the first one."""
    header = _header(cells[0], cells.at(0)) if cells else []
    for number, row in enumerate(cells):
        if len(row) != len(header):
            found = "1 field" if len(row) == 1 else f"{len(row)} fields"
            raise DataError(
                f"{cells.at(number)}: {found}, expected {len(header)} as in the header; "
                "quote fields that contain the separator"
            )
    return Rows([dict(zip(header, row, strict=True)) for row in cells[1:]], cells.where, cells.lines[1:])


def _cells(text: str, where: str, delimiter: str) -> Rows:
    """The cells of a table, rows without any left out."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, lines, line = [], [], 1
    try:
        for cells in reader:
            if cells:
                rows.append(cells)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        advice = "expected every quote to be closed, and a quote inside a quoted field to be doubled"
        if "field limit" in str(error):
            advice = f"expected at most {MAX_CELL:,} characters; is a quote not closed?"
        elif "NUL" in str(error):
            advice = "expected text, save it again as CSV"
        raise DataError(f"{where}, line {line}: {error}; {advice}") from None
    return Rows(rows, where, lines)


def _header(cells: list[str], at: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    if len(set(names)) < len(names):
        twice = sorted(name for name in set(names) if names.count(name) > 1)
        raise DataError(f"{at}: column {quote(twice[0])} appears more than once in the header; rename one")
    return names


def _json(data: bytes, where: str) -> Rows:
    content = parse_json(decode(data, where), where)
    if not isinstance(content, list):
        kind = f"an object with keys {quote(list(content))}" if isinstance(content, dict) else quote(content)
        raise DataError(f"{where}: found {kind}, expected a list of objects")
    return Rows(content, where)


def _jsonl(data: bytes, where: str) -> Rows:
    lines = decode(data, where).split("\n")
    numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
    return Rows([parse_json(lines[number - 1], f"{where}, line {number}") for number in numbers], where, numbers)


def _parquet(data: bytes, where: str) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = []
    size = 0
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        names = file.schema_arrow.names
        if len(set(names)) < len(names):
            raise DataError(f"{where}: two columns have one name; found {quote(names)}, rename one")
        for batch in file.iter_batches(batch_size=_BATCH):
            size += batch.nbytes
            if size > MAX_BYTES or len(rows) + len(batch) > MAX_ROWS:
                raise DataError(f"{where}: more than {MAX_ROWS:,} rows or {MAX_BYTES:,} bytes; split it")
            rows += batch.to_pylist()
    except (pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError, TypeError) as error:
        raise DataError(
            f"{where}: not a readable Parquet file ({shorten(one_line(str(error)), MAX_FOUND)}); write it again"
        ) from None
    return Rows(rows, where)


def _csv(data: bytes, where: str) -> Rows:
    text = decode(data, where)
    header = text.split("\n", 1)[0]
    return table(
        text, where, delimiter=";" if ";" in header and "," not in header else ","
    )  # as Excel in Europe writes


def _xlsx(data: bytes, where: str) -> Rows:
    """The rows of the first sheet of a workbook; numbers and dates become text."""
    import zipfile

    import python_calamine

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            size = sum(part.file_size for part in parts.infolist())
        if size > MAX_SHEET:
            raise DataError(
                f"{where}: {size:,} bytes when decompressed, expected at most {MAX_SHEET:,}; save it as CSV"
            )
        sheet = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_index(0)
        cells = [[_cell_text(cell) for cell in row] for row in sheet.to_python(skip_empty_area=False)]
    except (UnmaskError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the library is no Exception
        raise DataError(
            f"{where}: not a readable workbook ({shorten(one_line(str(error)), MAX_FOUND)}); save it as CSV"
        ) from None
    numbers = [number for number, row in enumerate(cells, start=1) if any(row)]
    return _with_header(Rows([cells[number - 1] for number in numbers], where, numbers))


def _cell_text(cell: Any) -> str:
    """A cell of a sheet as text; whole numbers without decimals."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


_READERS: dict[str, Callable[[bytes, str], Rows]] = {
    ".csv": _csv,
    ".tsv": lambda data, where: table(decode(data, where), where, delimiter="\t"),
    ".xlsx": _xlsx,
    ".json": _json,
    ".jsonl": _jsonl,
    ".parquet": _parquet,
}
SUFFIXES = tuple(_READERS)


def records(data: bytes, suffix: str, where: str) -> Rows:
    """Parse a file in one of the six formats; `where` names it in messages."""
    if (reader := _READERS.get(suffix.lower())) is None:
        raise DataError(
            f"{where}: unknown kind of file {quote(suffix)}; expected one of {', '.join(SUFFIXES)}; convert it"
        )
    return reader(data, where)


def read_records(path: Path, expected: str) -> Rows:
    """The records of a file in one of the six formats."""
    return records(read_bytes(path, expected), path.suffix, file_name(path))


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and what its values stand for; a value that is not listed stays as it is."""

    column: str
    values: dict[str, str] = field(default_factory=dict)


def read_mapping(path: Path) -> dict[str, Column]:
    """Which column of a table is which field of a pair, from a small YAML file; other names become groups.

        more: sent_more
        less: sent_less
        category: bias_type
        direction: {column: label, values: {0: stereo, 1: antistereo}}

    Fields are those of your own pairs (`data/pairs.py`). Columns that are not named are left out.
    """
    where = file_name(path)
    content = parse_yaml(read_text(path, DataError, most=MAX_MAPPING), where, DataError)
    if not isinstance(content, dict):
        raise DataError(f"{where}: found {quote(content)}, expected lines such as `more: sent_more`")
    columns = {}
    for name, given in content.items():
        if not isinstance(name, str) or not name.strip():
            raise DataError(f"{where}: the field {quote(name)}, expected a name such as more or category")
        columns[name] = _column(given, f"{where}, {name}")
    if lacking := [name for name in NEEDED_FIELDS if name not in columns]:
        raise DataError(f"{where}: no {lacking[0]}; expected the columns of both sentences, `more: …` and `less: …`")
    return columns


def _column(given: Any, where: str) -> Column:
    """One entry: the name of a column, or an object with it and its values."""
    if isinstance(given, str) and given.strip():
        return Column(given.strip())
    if not isinstance(given, dict) or {*given} - {"column", "values"}:
        raise DataError(f"{where}: found {quote(given)}, expected the name of a column, or column and values")
    values = given.get("values", {})
    if not isinstance(values, dict) or any(isinstance(value, dict | list) for value in values.values()):
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
        if absent := [column.column for column in columns.values() if column.column not in row]:
            raise DataError(
                f"{rows.at(number)}: no column {quote(absent[0])}; found {quote(list(row))}; mend the mapping"
            )
        mapped.append({name: _value(row[column.column], column) for name, column in columns.items()})
    return Rows(mapped, rows.where, rows.lines)


def _value(cell: Any, column: Column) -> Any:
    return column.values.get(str(cell), cell) if column.values else cell
