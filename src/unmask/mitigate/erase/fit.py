"""Fit an eraser on a model's own hidden states and attach it to one of its layers.

Can gender still be read from the states? A newly fitted linear probe tests it on unseen words.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.data.texts import TrainingCorpus
from unmask.mitigate.erase.states import GenderedStates, find_contexts, pair_states
from unmask.mitigate.spec import MitigationContext, Outcome
from unmask.models import Lm
from unmask.models.eraser import Eraser, attach, detach
from unmask.stats.means import mean_interval

TEST_SHARE = 0.25  # share of the word pairs held out for testing
CHANCE = 50.0

StateTransform = Callable[[Floats], Floats]
Facts = dict[str, Any]
FitFunction = Callable[
    [Lm, GenderedStates, int, int], tuple[Eraser, Facts]
]  # model, states to fit on, layer, seed


def fit_eraser(
    lm: Lm, fit_function: FitFunction, sentences: list[str], *, layer: int = -1, seed: int = 0
) -> tuple[Eraser, Facts]:
    """Fit on three quarters of the word pairs; a linear probe tests the rest before and after."""
    contexts = find_contexts(sentences, seed=seed)
    states = pair_states(lm, contexts, layer)
    fit, test = split_by_word(states, seed=seed)
    eraser, facts = fit_function(lm, fit, layer, seed)
    before, after = (
        probe_accuracy(fit, test, transform, seed=seed)
        for transform in (np.asarray, partial(erase_states, eraser))
    )
    return eraser, {
        "layer": layer,
        "contexts": contexts.source,
        "sentences": len(states.pairs),
        "word pairs": len(set(states.pairs)),
        **facts,
        "probe": {"chance": CHANCE, "before": before, "after": after},
    }


def erase_states(eraser: Eraser, states: Floats) -> Floats:
    """Apply the eraser to states, in double precision."""
    return np.asarray(eraser(torch.from_numpy(states)).numpy(), dtype=np.float64)


def apply(context: MitigationContext, corpus: TrainingCorpus, fit_function: FitFunction) -> Outcome:
    """Fit an eraser on the model's states in the corpus and attach it; no weight is changed."""
    detach(context.model)
    eraser, facts = fit_eraser(
        *(context.lm, fit_function, corpus.sentences),
        layer=context.options.layer,
        seed=context.settings.seed,
    )
    attach(context.model, eraser)
    return Outcome(context.model, {**facts, "eraser": eraser.digest})


def subspace_eraser(method: str, removed: Floats, layer: int, about: str) -> Eraser:
    """An eraser that removes the subspace of orthonormal rows."""
    return Eraser(method, {"removed": torch.from_numpy(np.ascontiguousarray(removed))}, layer, about)


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
