"""Byte ranges of a plain text file, extended to whole documents so that each can be read on its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from unmask.core.errors import DataError
from unmask.core.options import Unit
from unmask.core.types import Ints
from unmask.data.documents import is_plain_text, refuse_utf16

RANGE_BYTES = 16 << 20  # approximate size of a range
_STEP = 1 << 16  # bytes read at a time when searching the end of a document


@dataclass(frozen=True, slots=True)
class FilePart:
    """A byte range of a plain text file, or another file as a whole."""

    path: Path
    begin: int
    end: int
    whole: bool = False  # read through the reader of its format


def file_parts(files: Iterable[Path]) -> Iterator[FilePart]:
    """Plain text files in byte ranges, other files whole."""
    for path in files:
        size = path.stat().st_size
        if is_plain_text(path):
            for begin in range(0, size, RANGE_BYTES):
                yield FilePart(path, begin, min(begin + RANGE_BYTES, size))
        else:
            yield FilePart(path, 0, size, whole=True)


def read_range(path: Path, begin: int, end: int, unit: Unit) -> tuple[int, bytes]:
    """Read the documents that begin within these bytes, completely; also the offset of the first."""
    mark = b"\n\n" if unit == "block" else b"\n"
    try:
        with path.open("rb") as stream:
            refuse_utf16(stream.read(2), path)
            first, last = (_align(stream, at, mark) for at in (begin, end))
            stream.seek(first)
            return first, stream.read(last - first)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error})") from error


def document_starts(text: bytes, unit: Unit) -> Ints:
    """Offsets of documents: every non-blank line, the first of each block, or the first of the file."""
    raw = np.frombuffer(text, np.uint8)
    lines: Ints = np.concatenate([[0], np.flatnonzero(raw == 10) + 1]).astype(np.int64)
    lines = lines[lines < len(raw)]
    if not len(lines):
        return lines
    has_text = raw[lines] > 32
    begin_blank = np.flatnonzero(~has_text & (raw[lines] != 10)).tolist()
    for index in begin_blank:  # is there more than white space?
        end = lines[index + 1] if index + 1 < len(lines) else len(raw)
        has_text[index] = bool(text[lines[index] : end].strip())
    if unit == "block":
        has_text &= ~np.concatenate([[False], has_text[:-1]])
    starts: Ints = lines[has_text]
    return starts[:1] if unit == "file" else starts


def _align(stream: BinaryIO, position: int, mark: bytes) -> int:
    """The first offset from `position` on at which a document begins (after a mark), or the file's end."""
    if position == 0:
        return 0
    begin = max(0, position - len(mark))
    stream.seek(begin)
    block = b""
    while True:
        chunk = stream.read(_STEP)
        if not chunk:
            return begin + len(block)
        overlap = block[-1:] if mark == b"\n\n" else b""
        begin += len(block) - len(overlap)
        block = overlap + chunk
        found = block.find(mark)
        if found >= 0:
            return begin + found + len(mark)
