"""What the tasks that teach a model share: the table of how well it learnt, said beside every bias."""

from __future__ import annotations

from collections.abc import Sequence

from unmask.findings import Cell, Table
from unmask.tasks.metrics import beats_baseline
from unmask.tasks.spec import TaskObservation


def training_table(seen: Sequence[TaskObservation]) -> Table:
    """How well each model does its task: a bias of a model that has not learnt it means nothing."""
    metric = next((one.fine_tuned.metric for one in seen if one.fine_tuned), "accuracy")
    return Table(
        "How well the task was learnt",
        (
            *("model", f"development, {metric}", f"test, {metric}", "commonest class", "n of test"),
            *("taught", "batch", "rate", "epochs", "steps", "ways tried"),
        ),
        tuple(_row(one) for one in seen if one.fine_tuned),
        "The way of fine-tuning is chosen by development data alone. Commonest class: what saying always the "
        "same gets. Intervals: examples resampled.",
        digits=3,
    )


def not_learnt_notes(seen: Sequence[TaskObservation]) -> list[str]:
    """Models that do no better than saying always the same."""
    return [
        f"{one.model['id']} has not learnt the task ({told.metric} {told.dev.value:.3f}): its bias "
        "means nothing"
        for one in seen
        if (told := one.fine_tuned) and not beats_baseline(told.dev, told.majority_share)
    ]


def _row(one: TaskObservation) -> tuple[Cell, ...]:
    told = one.fine_tuned
    how = told.chosen
    rate = f"{how.rate:g}"
    return (
        *(one.model["id"], told.dev, told.test, told.majority_share, told.test_examples),
        *(told.train_examples, how.batch, rate, how.epochs, how.steps, len(told.trials)),
    )
