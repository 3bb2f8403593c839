"""Can gender still be read from hidden states? A newly fitted linear probe, tested on unseen words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.mitigate.erase.states import GenderedStates
from unmask.stats.means import mean_interval

TEST_SHARE = 0.25  # share of the word pairs held out for testing
CHANCE = 50.0

StateTransform = Callable[[Floats], Floats]


def split_by_word(gendered: GenderedStates, *, seed: int = 0) -> tuple[GenderedStates, GenderedStates]:
    """Split into rows to fit on and rows of other words to test on."""
    names = [masculine for masculine, _ in gendered.pairs]
    rows = np.arange(len(names))
    splitter = GroupShuffleSplit(n_splits=1, test_size=TEST_SHARE, random_state=seed)
    fit, test = next(splitter.split(rows, groups=names))
    return gendered.take(fit.tolist()), gendered.take(test.tolist())


def accuracy_by_pair(fit: GenderedStates, test: GenderedStates, transform: StateTransform) -> Floats:
    """Accuracy (percent) of a probe fitted on `fit`, for each word pair of `test`."""
    states, genders = fit.both()
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    probe.fit(transform(states), genders)
    correct = [
        probe.predict(transform(part)) == gender
        for gender, part in enumerate((test.masculine, test.feminine))
    ]
    both = (correct[0].astype(np.float64) + correct[1]) / 2
    names = np.array([masculine for masculine, _ in test.pairs])
    return np.array([100 * both[names == name].mean() for name in dict.fromkeys(names.tolist())])


def probe_accuracy(
    fit: GenderedStates, test: GenderedStates, transform: StateTransform, *, seed: int = 0
) -> Value:
    """Mean accuracy over pairs with its interval; 50 is chance."""
    values = accuracy_by_pair(fit, test, transform)
    return mean_interval(values, rng=generator(seed, "probe"), unit="pairs of words").clip(0.0, 100.0)
