"""Memory housekeeping for speed: heap trimming and pauses of the garbage collector.

Tensors of many sizes fragment glibc's heap, which then holds several times what is in use. Trimmed pages must
be faulted in again one by one, so the heap is trimmed only when the process has grown by `SLACK`.
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
    """Tracks the growth of this process and trims its heap."""

    def __init__(self) -> None:
        self._baseline = _resident_bytes()

    def trim(self) -> None:
        """Trim the heap if the process has grown by more than `SLACK` (Linux with glibc)."""
        malloc_trim = _malloc_trim()
        if malloc_trim is not None and _resident_bytes() > self._baseline + SLACK:
            malloc_trim(0)
            self._baseline = _resident_bytes()


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector: it scans all live objects, and nothing cyclic is allocated here."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _resident_bytes() -> int:
    """Resident memory of this process; 0 where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL("libc.so.6").malloc_trim
    except (OSError, AttributeError):
        return None
