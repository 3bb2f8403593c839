"""Extrinsic bias: downstream tasks in which a biased language model does harm, one module each.

    unmask.task("winobias", "bert-base-cased")

To add a task, write a module with a `Task`: it is found by being there. Tasks of other packages are found
through the entry point group `unmask.tasks`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from unmask.core.registry import Registry
from unmask.tasks.spec import Grid, Task, TaskSettings

if TYPE_CHECKING:
    from unmask.tasks.callback import BiasCallback
    from unmask.tasks.rank_agreement import agreement

TASKS = Registry(
    "task",
    Task,
    package="unmask.tasks",
    group="unmask.tasks",
    order=lambda task: ("training", "lm", "classifier").index(task.needs),
)
find = TASKS.find
_LATER = {"BiasCallback": "unmask.tasks.callback", "agreement": "unmask.tasks.rank_agreement"}


def __getattr__(name: str) -> Any:
    """Import what is slow to import on first use."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["TASKS", "BiasCallback", "Grid", "Task", "TaskSettings", "agreement", "find"]
