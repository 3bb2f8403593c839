"""Extrinsic bias: downstream tasks in which a biased language model does harm, one module each.

    unmask.task("winobias", "bert-base-cased")

To add a task, write its module with its `Task`. Tasks of other packages are found through the entry point group
`unmask.tasks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from unmask.core.lazy_imports import lazy_names
from unmask.core.registry import Registry
from unmask.tasks.spec import FineTuningOptions, Grid, Task, TaskOptions

if TYPE_CHECKING:
    from unmask.tasks.bias_curve import BiasCallback
    from unmask.tasks.rank_agreement import agreement

TASKS = Registry(
    "task",
    Task,
    home="unmask.tasks",
    group="unmask.tasks",
    constructor="Task(",
    order=lambda task: ("training", "lm", "classifier").index(task.needs),
)
find = TASKS.find
__getattr__ = lazy_names(__name__, {"BiasCallback": "bias_curve", "agreement": "rank_agreement"})

__all__ = ["TASKS", "BiasCallback", "FineTuningOptions", "Grid", "Task", "TaskOptions", "agreement", "find"]
