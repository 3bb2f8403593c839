"""Training in several processes, one device each, as `accelerate launch` starts them.

All processes run the same command and synchronise in the training loop. Only the main process (rank 0)
decides, prints and writes to disk; the others wait for its results. accelerate tells the processes apart; it
is imported only where there are several, so that a single one works without it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from unmask.core import environment
from unmask.core.errors import DataError, quote

if TYPE_CHECKING:
    from accelerate import PartialState

T = TypeVar("T")
PROCESS_TIMEOUT = timedelta(days=1)  # how long other processes wait for the main one, e.g. while it evaluates


def world_size() -> int:
    """The number of processes."""
    state = _state()
    return 1 if state is None else state.num_processes


def is_main_process() -> bool:
    """Whether this is rank 0, the process that prints and writes."""
    state = _state()
    return state is None or state.is_main_process


def on_main_process(function: Callable[[], T]) -> T:
    """Call a function on rank 0 and broadcast its result to all processes."""
    if world_size() == 1:
        return function()
    from accelerate.utils import broadcast_object_list

    result: list[T | None] = [function() if is_main_process() else None]
    return broadcast_object_list(result)[0]  # type: ignore[no-any-return]


def _state() -> PartialState | None:
    """The processes as accelerate sees them; None for a single one."""
    if environment.world_size() == 1 or find_spec("accelerate") is None:
        return None
    import torch
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    cpu = parse_flag_from_env("ACCELERATE_USE_CPU") or not torch.cuda.is_available()
    try:
        return PartialState(cpu=cpu, timeout=PROCESS_TIMEOUT)
    except (ValueError, RuntimeError, KeyError) as error:
        PartialState._reset_state()  # half of it would be used next time
        raise DataError(
            f"$WORLD_SIZE is {environment.world_size()}, but its processes do not join ({quote(str(error))}): "
            "start them with accelerate launch, or unset it"
        ) from error
