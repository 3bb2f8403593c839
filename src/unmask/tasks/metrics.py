"""How well a task is done: accuracy, or Pearson's r of numbers, and what guessing gets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unmask.core.errors import DataError, StatsError
from unmask.core.types import Floats
from unmask.data.examples import Example
from unmask.findings import Value
from unmask.models.classifier import Classifier
from unmask.stats.bootstrap import generator
from unmask.stats.means import mean, mean_interval
from unmask.stats.shares import wilson
from unmask.tasks.spec import TaskSettings


def sample_examples(examples: Sequence[Example], settings: TaskSettings) -> Sequence[Example]:
    """All examples, or as many as asked for, drawn by the seed."""
    if settings.rows is None or settings.rows >= len(examples):
        return examples
    sampled = generator(settings.seed, "rows").permutation(len(examples))[: settings.rows]
    return [examples[index] for index in sorted(sampled.tolist())]


def score(classifier: Classifier, examples: Sequence[Example], labels: Sequence[str]) -> float:
    """Accuracy from 0 to 1, or Pearson's r of numbers."""
    if not examples:
        raise DataError("no development data: give --dev FILE, or more data")
    logits = classifier.logits([(example.text, example.second) for example in examples])
    return _score(logits, target_values(examples, labels), classes=bool(labels))


def score_with_interval(
    classifier: Classifier, examples: Sequence[Example], labels: Sequence[str], *, seed: int
) -> Value:
    """The same with its interval, examples resampled; Wilson's where all or none are right."""
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
    """The numbers, or the places of the classes."""
    if not labels:
        return np.array([float(example.label) for example in examples])
    index_of = {name: at for at, name in enumerate(labels)}
    unknown = sorted({str(example.label) for example in examples} - index_of.keys())
    if unknown:
        raise DataError(f"label {unknown[0]!r} was not taught: the classes are {', '.join(labels)}")
    return np.array([float(index_of[str(example.label)]) for example in examples])


def beats_baseline(score: Value, guessing: float | None) -> bool:
    """Whether a task was learnt: better than saying always the same (of numbers: than 0) beyond chance."""
    return score.low > (guessing or 0.0)


def majority_share(examples: Sequence[Example]) -> float:
    """Share of the commonest class."""
    _, counts = np.unique([str(example.label) for example in examples], return_counts=True)
    return float(counts.max() / counts.sum())


def _score(logits: Floats, targets: Floats, *, classes: bool) -> float:
    if classes:
        return float((logits.argmax(axis=1) == targets).mean())
    if np.ptp(logits[:, 0]) == 0:
        return float("-inf")  # says the same of everything: worse than any other
    if targets.size < 2 or np.ptp(targets) == 0:
        raise StatsError("development data must have at least two different numbers")
    return float(np.corrcoef(logits[:, 0], targets)[0, 1])
