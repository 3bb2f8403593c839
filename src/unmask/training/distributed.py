"""Several processes, a device each, as `accelerate launch` starts them: one, the chief, speaks and writes.

All run the same command. They meet in the training; whatever is decided or written to disk is the chief's,
and the others wait for it and go on with what it found.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

T = TypeVar("T")
PROCESS_TIMEOUT = timedelta(days=1)  # how long the others wait for the chief, which measures meanwhile


def world_size() -> int:
    """How many processes there are."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_main_process() -> bool:
    """Whether this process is the one that speaks and writes."""
    return int(os.environ.get("RANK", "0")) == 0


def on_main_process(do: Callable[[], T]) -> T:
    """What the chief's doing gives, in all processes, after it was done."""
    if world_size() == 1:
        return do()
    from accelerate import PartialState
    from accelerate.utils import broadcast_object_list

    PartialState(timeout=PROCESS_TIMEOUT)
    found: list[T | None] = [do() if is_main_process() else None]
    return broadcast_object_list(found)[0]  # type: ignore[no-any-return]
