"""Threads and memory of the process while a model is scored."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from unmask.models.fast import is_enabled

SLACK = 96 << 20  # bytes the process may grow by before its heap is trimmed (again)
WORKERS = 4  # batches a CPU works on at once, its cores divided among them
THREAD_TURN = 0.0005  # seconds between switches of Python threads: compute threads need the GIL often


def workers(threads: int) -> int:
    """The number of batches to work on at once with so many CPU threads."""
    return max(1, min(WORKERS, threads)) if is_enabled() else 1


class HeapTrimmer:
    """Tracks the growth of this process and trims its heap.

    Tensors of many sizes fragment glibc's heap, which then holds several times what is in use. Trimmed pages
    must be faulted in again one by one, so the heap is trimmed only when the process has grown by `SLACK`.
    """

    def __init__(self) -> None:
        self._baseline = _resident_bytes()

    def trim(self) -> None:
        """Trim the heap if the process has grown by more than `SLACK` (Linux with glibc)."""
        malloc_trim = _malloc_trim() if is_enabled() else None
        if malloc_trim is not None and _resident_bytes() > self._baseline + SLACK:
            malloc_trim(0)
            self._baseline = _resident_bytes()


@contextmanager
def tune_interpreter() -> Iterator[None]:
    """Pause the garbage collector, which scans all live objects, and let Python threads take short turns."""
    if not is_enabled():
        yield
        return
    collecting, interval = gc.isenabled(), sys.getswitchinterval()
    gc.disable()
    sys.setswitchinterval(THREAD_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if collecting:
            gc.freeze()  # together these make all objects old without scanning them
            gc.unfreeze()
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
