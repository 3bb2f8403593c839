"""Can gender still be read from states? A fresh linear probe, asked about words it never saw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unmask.core.types import Floats
from unmask.findings import Value
from unmask.mitigate.erase.states import GenderedStates
from unmask.stats.bootstrap import generator
from unmask.stats.means import mean, mean_interval

TEST_SHARE = 0.25  # share of the word pairs kept to test with
CHANCE = 50.0

StateTransform = Callable[[Floats], Floats]


def split_by_word(found: GenderedStates, *, seed: int = 0) -> tuple[GenderedStates, GenderedStates]:
    """Rows to fit on, and rows of other words to test with."""
    names = [masculine for masculine, _ in found.pairs]
    rows = np.arange(len(names))
    cutter = GroupShuffleSplit(n_splits=1, test_size=TEST_SHARE, random_state=seed)
    fit, test = next(cutter.split(rows, groups=names))
    return found.take(fit.tolist()), found.take(test.tolist())


def accuracy_by_pair(fit: GenderedStates, test: GenderedStates, changed: StateTransform) -> Floats:
    """A probe's accuracy on each pair of words it was not fitted on, in percent."""
    states, sexes = fit.both()
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    probe.fit(changed(states), sexes)
    right = [probe.predict(changed(part)) == sex for sex, part in enumerate((test.masculine, test.feminine))]
    both = (right[0].astype(np.float64) + right[1]) / 2
    names = np.array([masculine for masculine, _ in test.pairs])
    return np.array([100 * both[names == name].mean() for name in dict.fromkeys(names.tolist())])


def probe_accuracy(
    fit: GenderedStates, test: GenderedStates, changed: StateTransform, *, seed: int = 0
) -> Value:
    """The mean over pairs; 50 is chance."""
    values = accuracy_by_pair(fit, test, changed)
    interval = mean_interval(values, rng=generator(seed, "probe"), unit="pairs of words").clip(0.0, 100.0)
    return Value(mean(values), interval.low, interval.high, interval.method)


def probe_facts(before: Value, after: Value) -> dict[str, Any]:
    """For `mitigation.json`: percent of unseen words whose gender a fresh linear probe tells."""
    return {"chance": CHANCE, "before": _plain(before), "after": _plain(after)}


def _plain(one: Value) -> dict[str, Any]:
    return {key: None if value != value else value for key, value in asdict(one).items()}  # noqa: PLR0124
