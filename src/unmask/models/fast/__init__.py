"""Everything that makes scoring faster without changing its results, with one switch for all of it.

`UNMASK_FAST=0` in the environment, or `set_enabled(False)` in Python, turns all of it off; networks that are
already open keep what they have. Each shortcut of a network is verified against the whole model first.

- The network is split in two: the body gives hidden states for a batch, the head gives logits for single
  positions. So the head, a fifth of the work for a small vocabulary and most of it for a large one, runs only
  where a probe reads. The head is the model's own code: for one call its body returns the states at hand.
- Nothing after the last layer's attention mixes positions either, so in encoders built like BERT the last
  feed-forward block also runs only at the positions read.
- Such encoders are called layer by layer (`models.encoder`): a CPU has less to compute in the first and last layer, a
  GPU waits less for the host, and attention weights are read where they are made.
- On a CPU log-probabilities and ranks are taken from a part of the vocabulary at a time, while its logits are in the
  cache.
- Sequences of a causal model that begin alike are run as a prefix tree (`models.prefixes`): their common beginning is
  run and read once. A text that is continued in several ways is run once and its key/value cache kept.
- On a GPU the output layer is padded to a size its kernels are fast for, and slow attention kernels are
  avoided; where the attention mask need only cover keys it is passed as such, without synchronising.
- A CPU works on several batches at once (`workers`), with short turns between Python threads and no garbage
  collection; its heap is trimmed when the process has grown.

`shortcuts` has what replaces the forward pass, `selection` compares each with the whole model and chooses those that
agree; threads and memory of the process are here.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from unmask.core import environment

SLACK = 96 << 20  # bytes the process may grow by before its heap is trimmed (again)
WORKERS = 4  # batches a CPU works on at once, its cores divided among them
THREAD_TURN = 0.0005  # seconds between switches of Python threads: compute threads need the GIL often


def set_enabled(enabled: bool) -> None:
    """Turn all shortcuts on or off for this process and those it starts."""
    os.environ[environment.FAST] = str(int(enabled))


def workers(threads: int) -> int:
    """The number of batches to work on at once with so many CPU threads."""
    return max(1, min(WORKERS, threads)) if environment.fast() else 1


class HeapTrimmer:
    """Tracks the growth of this process and trims its heap.

    Tensors of many sizes fragment glibc's heap, which then holds several times what is in use. Trimmed pages
    must be faulted in again one by one, so the heap is trimmed only when the process has grown by `SLACK`.
    """

    def __init__(self) -> None:
        self._baseline = _resident_bytes()

    def trim(self) -> None:
        """Trim the heap if the process has grown by more than `SLACK` (Linux with glibc)."""
        malloc_trim = _malloc_trim() if environment.fast() else None
        if malloc_trim is not None and _resident_bytes() > self._baseline + SLACK:
            malloc_trim(0)
            self._baseline = _resident_bytes()


@contextmanager
def tune_interpreter() -> Iterator[None]:
    """Pause the garbage collector, which scans all live objects, and let Python threads take short turns."""
    if not environment.fast():
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
