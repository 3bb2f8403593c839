"""What the tasks that teach a model share: the table of how well it learnt, said beside every bias."""

from __future__ import annotations

from collections.abc import Sequence

from unmask.findings import Cell, Table
from unmask.tasks.metrics import beats
from unmask.tasks.spec import Seen


def learnt(seen: Sequence[Seen]) -> Table:
    """How well each model does its task: a bias of a model that has not learnt it means nothing."""
    metric = next((one.taught.metric for one in seen if one.taught), "accuracy")
    return Table(
        "How well the task was learnt",
        (
            *("model", f"development, {metric}", f"test, {metric}", "commonest class", "n of test"),
            *("taught", "batch", "rate", "epochs", "steps", "ways tried"),
        ),
        tuple(_row(one) for one in seen if one.taught),
        "The way of fine-tuning is chosen by development data alone. Commonest class: what saying always the "
        "same gets. Intervals: examples resampled.",
        digits=3,
    )


def not_learnt(seen: Sequence[Seen]) -> list[str]:
    """Models that do no better than saying always the same."""
    return [
        f"{one.model['id']} has not learnt the task ({told.metric} {told.dev.value:.3f}): its bias "
        "means nothing"
        for one in seen
        if (told := one.taught) and not beats(told.dev, told.base)
    ]


def _row(one: Seen) -> tuple[Cell, ...]:
    told = one.taught
    how = told.chosen
    rate = f"{how.rate:g}"
    return (
        *(one.model["id"], told.dev, told.test, told.base, told.held_out),
        *(told.rows, how.batch, rate, how.epochs, how.steps, len(told.trials)),
    )
