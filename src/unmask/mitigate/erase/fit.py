"""Erasers as methods of mitigation: fitted on a model's own states, and put to work at one of its layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from unmask import data
from unmask.core.types import Floats
from unmask.mitigate.erase import inlp, oscar, projection
from unmask.mitigate.erase.probe import probe_accuracy, probe_facts, split_by_word
from unmask.mitigate.erase.states import GenderedStates, find_contexts, pair_states, word_states
from unmask.mitigate.spec import Method, MitigationContext, Outcome, TrainingCorpus
from unmask.models import Lm
from unmask.models.eraser import Eraser, attach, detach

Facts = dict[str, Any]
FitFunction = Callable[
    [Lm, GenderedStates, int, int], tuple[Eraser, Facts]
]  # model, states to fit on, layer, seed


@dataclass(frozen=True, slots=True)
class FittedEraser:
    """An eraser, and what is known of it."""

    eraser: Eraser
    facts: Facts


def fit_eraser(
    lm: Lm, how: FitFunction, sentences: list[str], *, layer: int = -1, seed: int = 0
) -> FittedEraser:
    """Fit on three quarters of the word pairs; a probe on the rest says what can be read before and after."""
    found = find_contexts(sentences, seed=seed)
    whole = pair_states(lm, found, layer)
    fit, test = split_by_word(whole, seed=seed)
    eraser, facts = how(lm, fit, layer, seed)
    before, after = (
        probe_accuracy(fit, test, change, seed=seed) for change in (np.asarray, partial(erase_states, eraser))
    )
    pairs = len(set(whole.pairs))
    return FittedEraser(
        eraser,
        {
            "layer": layer,
            "contexts": found.source,
            "sentences": len(whole.pairs),
            "word pairs": pairs,
            **facts,
            "probe": probe_facts(before, after),
        },
    )


def erase_states(eraser: Eraser, states: Floats) -> Floats:
    """States as the eraser leaves them, in double precision."""
    return np.asarray(eraser(torch.from_numpy(states)).numpy(), dtype=np.float64)


def apply(context: MitigationContext, corpus: TrainingCorpus, how: FitFunction) -> Outcome:
    """Fit an eraser on the model's states in the corpus, and put it to work; no weight is changed."""
    layer = getattr(context.options, "layer", -1)
    detach(context.model)
    made = fit_eraser(context.lm, how, corpus.sentences, layer=layer, seed=context.settings.seed)
    attach(context.model, made.eraser)
    return Outcome(context.model, {**made.facts, "eraser": made.eraser.digest})


def fit_projection(_: Lm, fit: GenderedStates, layer: int, __: int) -> tuple[Eraser, Facts]:
    """The first principal direction of the differences."""
    removed = projection.subspace(fit.masculine, fit.feminine)
    about = f"the direction in which {len(set(fit.pairs))} pairs of words differ most is taken away"
    return _subspace("projection", removed, layer, about), {"directions": len(removed)}


def fit_inlp(_: Lm, fit: GenderedStates, layer: int, seed: int) -> tuple[Eraser, Facts]:
    """As many directions as a classifier can still use."""
    found = inlp.nullspace(fit, seed=seed)
    about = f"{len(found.removed)} directions that tell gender are taken away"
    facts: Facts = {
        "directions": len(found.removed),
        "accuracies": list(found.accuracies),
        "at chance": found.at_chance,
    }
    return _subspace("inlp", found.removed, layer, about), facts


def fit_oscar(lm: Lm, fit: GenderedStates, layer: int, _: int) -> tuple[Eraser, Facts]:
    """Occupations turned to a right angle from gender."""
    names = [one.name for one in data.read("occupations")]
    things, kept = word_states(lm, names, layer)
    gender, other = oscar.axes(fit.masculine, fit.feminine, things)
    about = "the direction of occupations is turned to a right angle from that of gender"
    made = oscar.oscar_eraser(fit.masculine, fit.feminine, things, layer=layer, about=about)
    return made, {"occupations": len(kept), "cosine before": float(gender @ other)}


def _subspace(method: str, removed: Floats, layer: int, about: str) -> Eraser:
    return Eraser(method, {"removed": torch.from_numpy(np.ascontiguousarray(removed))}, layer, about)


PROJECTION = Method(
    name="projection",
    title="Projection",
    about="the direction in which gendered words differ is taken away from the states of one layer",
    apply=partial(apply, how=fit_projection),
    citation="liang-etal-2020",
    trains=False,
)
INLP = Method(
    name="inlp",
    title="Iterative nullspace projection",
    about="directions that tell gender are taken away from the states of one layer until no probe reads it",
    apply=partial(apply, how=fit_inlp),
    citation="ravfogel-etal-2020",
    trains=False,
)
OSCAR = Method(
    name="oscar",
    title="OSCaR",
    about="occupations are turned to a right angle from gender in the states of one layer",
    apply=partial(apply, how=fit_oscar),
    citation="dev-etal-2021",
    trains=False,
)
METHODS = (PROJECTION, INLP, OSCAR)
