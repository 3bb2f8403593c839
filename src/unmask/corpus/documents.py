"""Documents from files, one after another: text, JSON lines, CSV, TSV and Parquet, plain or compressed.

No more than one document (of Parquet: one batch of rows) is in memory at a time. A row that cannot be read
is skipped and recorded with its file and number; a file that cannot be read at all is an error.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from unmask.core.errors import DataError
from unmask.corpus.files import (
    TABLES,
    Problems,
    TextLayout,
    Unit,
    existing_files,
    file_format,
    is_plain_text,
    refuse_utf16,
)
from unmask.corpus.rows import READERS, text_rows

__all__ = [
    "TABLES",
    "Document",
    "Problems",
    "TextLayout",
    "Unit",
    "existing_files",
    "file_format",
    "is_plain_text",
    "read_documents",
    "read_file",
    "refuse_utf16",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Document:
    """One text, and where it comes from."""

    text: str
    file: str
    row: int  # from 0: the document of a text file, the row of a table


def read_documents(
    paths: Iterable[str | Path], layout: TextLayout | None = None, problems: Problems | None = None
) -> Iterator[Document]:
    """Yield every document of every file, in order; empty ones are skipped."""
    problems = Problems() if problems is None else problems
    for path in existing_files(paths):
        yield from read_file(path, layout or TextLayout(), problems)


def read_file(path: Path, layout: TextLayout, problems: Problems) -> Iterator[Document]:
    """Yield the documents of one file."""
    rows = READERS.get(file_format(path), text_rows)
    try:
        for row, text in rows(path, layout, problems):
            if text.strip():
                yield Document(text, path.name, row)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DataError(
            f"{path} cannot be read to its end ({error}); download or compress it again"
        ) from error
