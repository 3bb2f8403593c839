"""Erasers as mitigation methods: fitted on a model's own hidden states and attached to one of its layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from unmask import data
from unmask.core.types import Floats
from unmask.data.texts import TrainingCorpus
from unmask.mitigate.erase import inlp, oscar, projection
from unmask.mitigate.erase.probe import probe_accuracy, probe_facts, split_by_word
from unmask.mitigate.erase.states import GenderedStates, find_contexts, pair_states, word_states
from unmask.mitigate.spec import Method, MitigationContext, Outcome
from unmask.models import Lm
from unmask.models.eraser import Eraser, attach, detach

Facts = dict[str, Any]
FitFunction = Callable[
    [Lm, GenderedStates, int, int], tuple[Eraser, Facts]
]  # model, states to fit on, layer, seed


@dataclass(frozen=True, slots=True)
class FittedEraser:
    """An eraser and facts about its fit."""

    eraser: Eraser
    facts: Facts


def fit_eraser(
    lm: Lm, fit_function: FitFunction, sentences: list[str], *, layer: int = -1, seed: int = 0
) -> FittedEraser:
    """Fit on three quarters of the word pairs; a linear probe tests the rest before and after."""
    contexts = find_contexts(sentences, seed=seed)
    states = pair_states(lm, contexts, layer)
    fit, test = split_by_word(states, seed=seed)
    eraser, facts = fit_function(lm, fit, layer, seed)
    before, after = (
        probe_accuracy(fit, test, transform, seed=seed)
        for transform in (np.asarray, partial(erase_states, eraser))
    )
    pairs = len(set(states.pairs))
    return FittedEraser(
        eraser,
        {
            "layer": layer,
            "contexts": contexts.source,
            "sentences": len(states.pairs),
            "word pairs": pairs,
            **facts,
            "probe": probe_facts(before, after),
        },
    )


def erase_states(eraser: Eraser, states: Floats) -> Floats:
    """Apply the eraser to states, in double precision."""
    return np.asarray(eraser(torch.from_numpy(states)).numpy(), dtype=np.float64)


def apply(context: MitigationContext, corpus: TrainingCorpus, fit_function: FitFunction) -> Outcome:
    """Fit an eraser on the model's states in the corpus and attach it; no weight is changed."""
    layer = getattr(context.options, "layer", -1)
    detach(context.model)
    fitted = fit_eraser(context.lm, fit_function, corpus.sentences, layer=layer, seed=context.settings.seed)
    attach(context.model, fitted.eraser)
    return Outcome(context.model, {**fitted.facts, "eraser": fitted.eraser.digest})


def fit_projection(_: Lm, fit: GenderedStates, layer: int, __: int) -> tuple[Eraser, Facts]:
    """Remove the first principal direction of the differences."""
    removed = projection.subspace(fit.masculine, fit.feminine)
    about = f"the direction in which {len(set(fit.pairs))} pairs of words differ most is taken away"
    return _subspace_eraser("projection", removed, layer, about), {"directions": len(removed)}


def fit_inlp(_: Lm, fit: GenderedStates, layer: int, seed: int) -> tuple[Eraser, Facts]:
    """Remove directions until a linear classifier no longer predicts gender."""
    nullspace = inlp.nullspace(fit, seed=seed)
    about = f"{len(nullspace.removed)} directions that tell gender are taken away"
    facts: Facts = {
        "directions": len(nullspace.removed),
        "accuracies": list(nullspace.accuracies),
        "at chance": nullspace.at_chance,
    }
    return _subspace_eraser("inlp", nullspace.removed, layer, about), facts


def fit_oscar(lm: Lm, fit: GenderedStates, layer: int, _: int) -> tuple[Eraser, Facts]:
    """Rotate occupations so that they are orthogonal to gender."""
    names = [occupation.name for occupation in data.read("occupations")]
    occupation_states, known = word_states(lm, names, layer)
    gender, other = oscar.axes(fit.masculine, fit.feminine, occupation_states)
    about = "the direction of occupations is turned to a right angle from that of gender"
    eraser = oscar.oscar_eraser(fit.masculine, fit.feminine, occupation_states, layer=layer, about=about)
    return eraser, {"occupations": len(known), "cosine before": float(gender @ other)}


def _subspace_eraser(method: str, removed: Floats, layer: int, about: str) -> Eraser:
    return Eraser(method, {"removed": torch.from_numpy(np.ascontiguousarray(removed))}, layer, about)


PROJECTION = Method(
    name="projection",
    title="Projection",
    about="the direction in which gendered words differ is removed from the states of one layer",
    apply=partial(apply, fit_function=fit_projection),
    citation="liang-etal-2020",
    trains=False,
)
INLP = Method(
    name="inlp",
    title="Iterative nullspace projection",
    about="directions that predict gender are removed from the states of one layer until no probe reads it",
    apply=partial(apply, fit_function=fit_inlp),
    citation="ravfogel-etal-2020",
    trains=False,
)
OSCAR = Method(
    name="oscar",
    title="OSCaR",
    about="occupations are rotated to be orthogonal to gender in the states of one layer",
    apply=partial(apply, fit_function=fit_oscar),
    citation="dev-etal-2021",
    trains=False,
)
METHODS = (PROJECTION, INLP, OSCAR)
