"""The table of task performance that every task with fine-tuning shows beside its bias."""

from __future__ import annotations

from collections.abc import Sequence

from unmask.findings import Cell, Table
from unmask.tasks.metrics import beats_baseline
from unmask.tasks.spec import TaskObservation


def training_table(observations: Sequence[TaskObservation]) -> Table:
    """Scores and hyper-parameters by model: without having learnt its task a model's bias means nothing."""
    metric = next(
        (observation.fine_tuned.metric for observation in observations if observation.fine_tuned), "accuracy"
    )
    return Table(
        "Task performance",
        (
            *("model", f"development, {metric}", f"test, {metric}", "commonest class", "n of test"),
            *("taught", "batch", "rate", "epochs", "steps", "ways tried"),
        ),
        tuple(_row(observation) for observation in observations if observation.fine_tuned),
        "Hyper-parameters are chosen on the validation set alone. Commonest class: the accuracy of always "
        "predicting it. Intervals: examples resampled.",
        digits=3,
    )


def not_learnt_notes(observations: Sequence[TaskObservation]) -> list[str]:
    """A note for each model that does no better than the majority class."""
    return [
        f"{observation.model['id']} has not learnt the task "
        f"({fine_tuned.metric} {fine_tuned.dev.value:.3f}): its bias means nothing"
        for observation in observations
        if (fine_tuned := observation.fine_tuned)
        and not beats_baseline(fine_tuned.dev, fine_tuned.majority_share)
    ]


def _row(observation: TaskObservation) -> tuple[Cell, ...]:
    fine_tuned = observation.fine_tuned
    trial = fine_tuned.chosen
    lr = f"{trial.rate:g}"
    return (
        *(
            observation.model["id"],
            fine_tuned.dev,
            fine_tuned.test,
            fine_tuned.majority_share,
            fine_tuned.test_examples,
        ),
        *(fine_tuned.train_examples, trial.batch, lr, trial.epochs, trial.steps, len(fine_tuned.trials)),
    )
