"""Task performance: accuracy for classes, Pearson's r for regression, and the majority baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unmask.core.errors import DataError, StatsError
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.examples import Example
from unmask.findings import Conclusion, sentences
from unmask.findings.numbers import number
from unmask.findings.table import table
from unmask.models.classifier import Classifier
from unmask.stats.intervals import mean_interval
from unmask.stats.regression import correlation
from unmask.stats.shares import wilson
from unmask.tasks.label_bias import label_bias, label_table
from unmask.tasks.spec import FineTuningOptions, TaskData, TaskObservation


def sample_examples(examples: Sequence[Example], options: FineTuningOptions) -> Sequence[Example]:
    """All examples, or `rows` of them, sampled with the seed."""
    if options.rows is None or options.rows >= len(examples):
        return examples
    sampled = generator(options.seed, "rows").permutation(len(examples))[: options.rows]
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


def with_training(conclusion: Conclusion, observations: Sequence[TaskObservation], data: TaskData | None) -> Conclusion:
    """A conclusion with what must be known of fine-tuned models: performance, the labels of their data by gender."""
    tuned = {each.name: each.fine_tuned for each in observations if each.fine_tuned}
    if not tuned or data is None:
        return conclusion
    scores = {name: [replace(score, model=name) for score in model.estimates] for name, model in tuned.items()}
    estimates = [
        estimate
        for each in observations
        for estimate in (*(one for one in conclusion.estimates if one.model == each.name), *scores.get(each.name, ()))
    ]
    performance = table(
        "Task performance",
        [score for values in scores.values() for score in values],
        rows=("model",),
        across="split",
        columns={
            "metric": "statistic",
            "majority class": lambda score: tuned[score.model].majority_share,
            "evaluated on": "n",
            "fine-tuned on": lambda score: tuned[score.model].train_examples,
            "batch": lambda score: tuned[score.model].chosen.batch,
            "learning rate": lambda score: f"{tuned[score.model].chosen.rate:g}",
            "epochs": lambda score: tuned[score.model].chosen.epochs,
            "steps": lambda score: tuned[score.model].chosen.steps,
            "settings tried": lambda score: len(tuned[score.model].trials),
        },
        note="Hyper-parameters are chosen on the validation set alone. Majority class: the accuracy of always "
        "predicting the commonest class. Intervals: examples resampled.",
    )
    labels = label_bias(data.train, data.labels)
    tables = (*conclusion.finding.tables, performance, *([label_table(labels)] if labels else ()))
    unlearnt = [
        sentences.invalid(f"{name}: bias", f"the task is not learnt, {model.metric} {number(model.dev.value, 3)}")
        for name, model in tuned.items()
        if not beats_baseline(model.dev, model.majority_share)
    ]
    notes = (*unlearnt, *conclusion.finding.notes, *data.notes)
    details = {
        **conclusion.details,
        "fine_tuned": [{"model": name, **model.facts()} for name, model in tuned.items()],
        **({"labels": labels} if labels else {}),
    }
    return Conclusion(replace(conclusion.finding, tables=tables, notes=notes), tuple(estimates), details)


def _predictions(classifier: Classifier, examples: Sequence[Example], labels: Sequence[str]) -> tuple[Floats, Floats]:
    """The predicted class indices or numbers, and those of the labels."""
    logits = classifier.logits([(example.text, example.second) for example in examples])
    predicted = logits.argmax(axis=1).astype(np.float64) if labels else logits[:, 0]
    return predicted, target_values(examples, labels)
