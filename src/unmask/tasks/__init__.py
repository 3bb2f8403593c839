"""Extrinsic bias: downstream tasks in which a biased language model does harm, one file each.

from unmask.tasks import find, run
result = run(find("winobias"), ["bert-base-cased"])
result.finding.answers, result.finding.tables

To add a task: write a module with a `Task` and list it in `_ALL`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from unmask.core.errors import UnknownName
from unmask.tasks.agreement import agreement
from unmask.tasks.biasbios import BIASBIOS
from unmask.tasks.nlibias import NLIBIAS
from unmask.tasks.run import TaskResult, run
from unmask.tasks.sentiment import SENTIMENT
from unmask.tasks.spec import Grid, Task, TaskSettings
from unmask.tasks.stsbias import STSBIAS
from unmask.tasks.toxicity import TOXICITY
from unmask.tasks.winobias import WINOBIAS
from unmask.tasks.winogender import WINOGENDER

if TYPE_CHECKING:
    from unmask.tasks.callback import BiasCallback

_ALL = (BIASBIOS, STSBIAS, NLIBIAS, WINOBIAS, WINOGENDER, SENTIMENT, TOXICITY)
TASKS: dict[str, Task] = {task.name: task for task in _ALL}


def find(name: str) -> Task:
    """The task of that name."""
    if name not in TASKS:
        raise UnknownName("task", name, TASKS)
    return TASKS[name]


def __getattr__(name: str) -> Any:
    """Import `BiasCallback` on first use: it imports transformers' Trainer, which is slow."""
    if name == "BiasCallback":
        from unmask.tasks.callback import BiasCallback

        return BiasCallback
    raise AttributeError(name)


__all__ = ["TASKS", "BiasCallback", "Grid", "Task", "TaskResult", "TaskSettings", "agreement", "find", "run"]
