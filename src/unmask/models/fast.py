"""Freed memory goes back to the system before it adds up.

Tensors of many sizes leave holes in the C library's heap, which then holds several times what is in use. What
is given back must be asked for again page by page, so the heap is trimmed only when it has grown by `SLACK`.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

SLACK = 96 << 20  # bytes the process may grow by before its heap is trimmed (again)


class HeapTrimmer:
    """The memory of this process, as it grows from here on."""

    def __init__(self) -> None:
        self._floor = _resident()

    def trim(self) -> None:
        """Trim the heap if the process has grown by more than `SLACK` (Linux with glibc)."""
        trim = _trim()
        if trim is not None and _resident() > self._floor + SLACK:
            trim(0)
            self._floor = _resident()


@contextmanager
def gc_paused() -> Iterator[None]:
    """No search for unreachable cycles meanwhile: it goes through all a program holds, in vain here."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _resident() -> int:
    """Bytes this process holds in memory; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@cache
def _trim() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL("libc.so.6").malloc_trim
    except (OSError, AttributeError):
        return None
