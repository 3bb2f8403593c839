"""Fit an eraser on a model's own hidden states and attach it to one of its layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from unmask.core.types import Floats
from unmask.data.texts import TrainingCorpus
from unmask.mitigate.erase.probe import CHANCE, probe_accuracy, split_by_word
from unmask.mitigate.erase.states import GenderedStates, find_contexts, pair_states
from unmask.mitigate.spec import MitigationContext, Outcome
from unmask.models import Lm
from unmask.models.eraser import Eraser, attach, detach

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
