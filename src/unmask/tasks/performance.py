"""Task performance: accuracy for classes, Pearson's r for regression, and the majority baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unmask.core.errors import DataError, StatsError
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.examples import Example
from unmask.findings import Table
from unmask.models.classifier import Classifier
from unmask.stats.intervals import mean_interval
from unmask.stats.regression import correlation
from unmask.stats.shares import wilson
from unmask.tasks.spec import TaskObservation, TaskSettings


def sample_examples(examples: Sequence[Example], settings: TaskSettings) -> Sequence[Example]:
    """All examples, or `settings.rows` of them, sampled with the seed."""
    if settings.rows is None or settings.rows >= len(examples):
        return examples
    sampled = generator(settings.seed, "rows").permutation(len(examples))[: settings.rows]
    return [examples[index] for index in sorted(sampled.tolist())]


def score(classifier: Classifier, examples: Sequence[Example], labels: Sequence[str]) -> float:
    """Accuracy (0 to 1), or Pearson's r for regression."""
    if not examples:
        raise DataError("no validation data: give `dev`, or more data")
    predicted, targets = _predictions(classifier, examples, labels)
    if labels:
        return float((predicted == targets).mean())
    if np.ptp(predicted) == 0:
        return float("-inf")  # a constant prediction is worse than any other
    if targets.size < 2 or np.ptp(targets) == 0:
        raise StatsError("validation data must have at least two different labels")
    return float(np.corrcoef(predicted, targets)[0, 1])


def score_with_interval(
    classifier: Classifier, examples: Sequence[Example], labels: Sequence[str], *, seed: int
) -> Value:
    """The score with an interval over examples."""
    predicted, targets = _predictions(classifier, examples, labels)
    if not labels:
        return correlation([predicted], [targets])
    return accuracy((predicted == targets).astype(np.float64), seed=seed)


def accuracy(right: Floats, *, seed: int) -> Value:
    """The share of right predictions with its interval; Wilson's where all or none are right."""
    if right.size and np.ptp(right) == 0:
        percent = wilson(int(right.sum()), right.size)
        return Value(percent.value / 100, percent.low / 100, percent.high / 100, percent.method)
    return mean_interval(right, rng=generator(seed, "rated")).clip(0.0, 1.0)


def target_values(examples: Sequence[Example], labels: Sequence[str]) -> Floats:
    """The labels as numbers: class indices, or the targets of a regression."""
    if not labels:
        return np.array([float(example.label) for example in examples])
    index_of = {name: at for at, name in enumerate(labels)}
    if unknown := sorted({str(example.label) for example in examples} - index_of.keys()):
        raise DataError(f"label {unknown[0]!r} is not in the training data: the classes are {', '.join(labels)}")
    return np.array([float(index_of[str(example.label)]) for example in examples])


def beats_baseline(score: Value, guessing: float | None) -> bool:
    """Is the score significantly better than the majority baseline (for regression: than 0)?"""
    return score.low > (guessing or 0.0)


def majority_share(examples: Sequence[Example]) -> float:
    """The share of the commonest class."""
    _, counts = np.unique([str(example.label) for example in examples], return_counts=True)
    return float(counts.max() / counts.sum())


def performance_table(observations: Sequence[TaskObservation]) -> list[Table]:
    """Scores and hyper-parameters of the models that were fine-tuned, if any: shown beside their bias."""
    if not (fine_tuned := {each.name: each.fine_tuned for each in observations if each.fine_tuned}):
        return []
    metric = next(iter(fine_tuned.values())).metric
    return [
        Table(
            "Task performance",
            (
                *("model", f"validation, {metric}", f"test, {metric}", "majority class", "evaluated on"),
                *("fine-tuned on", "batch", "learning rate", "epochs", "steps", "settings tried"),
            ),
            tuple(
                (
                    *(name, each.dev, each.test, each.majority_share),
                    *(each.test_examples or each.dev_examples, each.train_examples),
                    *(each.chosen.batch, f"{each.chosen.rate:g}", each.chosen.epochs, each.chosen.steps),
                    len(each.trials),
                )
                for name, each in fine_tuned.items()
            ),
            "Hyper-parameters are chosen on the validation set alone. Majority class: the accuracy of always "
            "predicting the commonest class. Intervals: examples resampled.",
            digits=3,
        )
    ]


def unlearnt_notes(observations: Sequence[TaskObservation]) -> list[str]:
    """A note for each model that does no better than the majority class."""
    return [
        f"{observation.name} has not learnt the task "
        f"({fine_tuned.metric} {fine_tuned.dev.value:.3f}): its bias means nothing"
        for observation in observations
        if (fine_tuned := observation.fine_tuned) and not beats_baseline(fine_tuned.dev, fine_tuned.majority_share)
    ]


def performance_estimates(observation: TaskObservation) -> list[Estimate]:
    """The scores of a fine-tuned model on the test and validation data; without fine-tuning none."""
    if (fine_tuned := observation.fine_tuned) is None:
        return []
    test, dev = fine_tuned.test, fine_tuned.dev
    scores = (("test", test, fine_tuned.test_examples), ("validation", dev, fine_tuned.dev_examples))
    named = {"statistic": fine_tuned.metric}
    return [Estimate.of(value, group=f"split={at}", n=n, **named) for at, value, n in scores if value]


def _predictions(classifier: Classifier, examples: Sequence[Example], labels: Sequence[str]) -> tuple[Floats, Floats]:
    """The predicted class indices or numbers, and those of the labels."""
    logits = classifier.logits([(example.text, example.second) for example in examples])
    predicted = logits.argmax(axis=1).astype(np.float64) if labels else logits[:, 0]
    return predicted, target_values(examples, labels)
