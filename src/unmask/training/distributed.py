"""Training in several processes, one device each, as `accelerate launch` starts them.

All processes run the same command and synchronise in the training loop. Only the main process (rank 0)
decides, prints and writes to disk; the others wait for its results.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

T = TypeVar("T")
PROCESS_TIMEOUT = timedelta(days=1)  # how long other processes wait for the main one, e.g. while it evaluates


def world_size() -> int:
    """The number of processes."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_main_process() -> bool:
    """Whether this is rank 0, the process that prints and writes."""
    return int(os.environ.get("RANK", "0")) == 0


def on_main_process(function: Callable[[], T]) -> T:
    """Call a function on rank 0 and broadcast its result to all processes."""
    if world_size() == 1:
        return function()
    from accelerate import PartialState
    from accelerate.utils import broadcast_object_list

    PartialState(timeout=PROCESS_TIMEOUT)
    result: list[T | None] = [function() if is_main_process() else None]
    return broadcast_object_list(result)[0]  # type: ignore[no-any-return]
