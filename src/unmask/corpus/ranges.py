"""Parts of a plain text file that can be read by themselves: they begin and end with whole documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from unmask.core.errors import DataError
from unmask.core.types import Ints
from unmask.corpus.documents import Unit, refuse_utf16

RANGE_BYTES = 16 << 20  # bytes of a part, about
_STEP = 1 << 16  # bytes read at a time when looking for the end of a document


def byte_ranges(size: int) -> Iterator[tuple[int, int]]:
    """A file of so many bytes in parts."""
    for begin in range(0, size, RANGE_BYTES):
        yield begin, min(begin + RANGE_BYTES, size)


def read_range(path: Path, begin: int, end: int, unit: Unit) -> bytes:
    """The documents that begin within these bytes, whole."""
    mark = b"\n\n" if unit == "block" else b"\n"
    try:
        with path.open("rb") as stream:
            refuse_utf16(stream.read(2), path)
            first, last = (_aligned(stream, at, mark) for at in (begin, end))
            stream.seek(first)
            return stream.read(last - first)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error})") from error


def document_starts(text: bytes, unit: Unit) -> Ints:
    """Where documents begin: lines that are not blank, the first of each block, or the first of all."""
    raw = np.frombuffer(text, np.uint8)
    lines: Ints = np.concatenate([[0], np.flatnonzero(raw == 10) + 1]).astype(np.int64)
    lines = lines[lines < len(raw)]
    if not len(lines):
        return lines
    full = raw[lines] > 32
    for at in np.flatnonzero(~full & (raw[lines] != 10)).tolist():  # begins with white space: is there more?
        end = lines[at + 1] if at + 1 < len(lines) else len(raw)
        full[at] = bool(text[lines[at] : end].strip())
    if unit == "block":
        full &= ~np.concatenate([[False], full[:-1]])
    found: Ints = lines[full]
    return found[:1] if unit == "file" else found


def _aligned(stream: BinaryIO, at: int, mark: bytes) -> int:
    """The first place at or after this one where a document begins: behind a mark, or the file's end."""
    if at == 0:
        return 0
    begin = max(0, at - len(mark))
    stream.seek(begin)
    held = b""
    while True:
        more = stream.read(_STEP)
        if not more:
            return begin + len(held)
        kept = held[-1:] if mark == b"\n\n" else b""
        begin += len(held) - len(kept)
        held = kept + more
        found = held.find(mark)
        if found >= 0:
            return begin + found + len(mark)
