"""Task performance: accuracy for classes, Pearson's r for regression, and the majority baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unmask.core.errors import DataError, StatsError
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.examples import Example
from unmask.findings import Value
from unmask.models.classifier import Classifier
from unmask.stats.means import mean, mean_interval
from unmask.stats.shares import wilson
from unmask.tasks.spec import TaskSettings


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
    logits = classifier.logits([(example.text, example.second) for example in examples])
    return _score(logits, target_values(examples, labels), classes=bool(labels))


def score_with_interval(
    classifier: Classifier, examples: Sequence[Example], labels: Sequence[str], *, seed: int
) -> Value:
    """The score with an interval over examples; Wilson's where all or none are right."""
    from unmask.stats.regression import correlation

    logits = classifier.logits([(example.text, example.second) for example in examples])
    targets = target_values(examples, labels)
    if not labels:
        r = correlation([logits[:, 0]], [targets], rng=generator(seed, "rated"))
        return Value(r.value, r.low, r.high, r.method)
    right = (logits.argmax(axis=1) == targets).astype(np.float64)
    if right.size and np.ptp(right) == 0:
        interval = wilson(int(right.sum()), right.size)
        return Value(mean(right), interval.low / 100, interval.high / 100, interval.method)
    interval = mean_interval(right, rng=generator(seed, "rated")).clip(0.0, 1.0)
    return Value(mean(right), interval.low, interval.high, interval.method)


def target_values(examples: Sequence[Example], labels: Sequence[str]) -> Floats:
    """The labels as numbers: class indices, or the targets of a regression."""
    if not labels:
        return np.array([float(example.label) for example in examples])
    index_of = {name: at for at, name in enumerate(labels)}
    unknown = sorted({str(example.label) for example in examples} - index_of.keys())
    if unknown:
        raise DataError(
            f"label {unknown[0]!r} is not in the training data: the classes are {', '.join(labels)}"
        )
    return np.array([float(index_of[str(example.label)]) for example in examples])


def beats_baseline(score: Value, guessing: float | None) -> bool:
    """Is the score significantly better than the majority baseline (for regression: than 0)?"""
    return score.low > (guessing or 0.0)


def majority_share(examples: Sequence[Example]) -> float:
    """The share of the commonest class."""
    _, counts = np.unique([str(example.label) for example in examples], return_counts=True)
    return float(counts.max() / counts.sum())


def _score(logits: Floats, targets: Floats, *, classes: bool) -> float:
    if classes:
        return float((logits.argmax(axis=1) == targets).mean())
    if np.ptp(logits[:, 0]) == 0:
        return float("-inf")  # a constant prediction is worse than any other
    if targets.size < 2 or np.ptp(targets) == 0:
        raise StatsError("validation data must have at least two different labels")
    return float(np.corrcoef(logits[:, 0], targets)[0, 1])
