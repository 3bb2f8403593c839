"""Byte ranges of a plain text file, extended to whole documents so that each can be read on its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from unmask.core.errors import DataError
from unmask.core.types import Ints
from unmask.data.text_files import Unit, refuse_utf16

RANGE_BYTES = 16 << 20  # approximate size of a range
_STEP = 1 << 16  # bytes read at a time when searching the end of a document


def byte_ranges(size: int) -> Iterator[tuple[int, int]]:
    """Split a file of `size` bytes into ranges."""
    for begin in range(0, size, RANGE_BYTES):
        yield begin, min(begin + RANGE_BYTES, size)


def read_range(path: Path, begin: int, end: int, unit: Unit) -> tuple[int, bytes]:
    """Read the documents that begin within these bytes, completely; also the offset of the first."""
    mark = b"\n\n" if unit == "block" else b"\n"
    try:
        with path.open("rb") as stream:
            refuse_utf16(stream.read(2), path)
            first, last = (_aligned(stream, at, mark) for at in (begin, end))
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
    for index in np.flatnonzero(
        ~has_text & (raw[lines] != 10)
    ).tolist():  # begins with white space: is there more?
        end = lines[index + 1] if index + 1 < len(lines) else len(raw)
        has_text[index] = bool(text[lines[index] : end].strip())
    if unit == "block":
        has_text &= ~np.concatenate([[False], has_text[:-1]])
    starts: Ints = lines[has_text]
    return starts[:1] if unit == "file" else starts


def _aligned(stream: BinaryIO, position: int, mark: bytes) -> int:
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
