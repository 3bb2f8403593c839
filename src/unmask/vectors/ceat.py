"""CEAT: WEAT repeated with sampled contexts of each word, combined by a random-effects model.

Draws share contexts, so they are not independent: the standard error shrinks with the number of draws,
however few contexts there are. The spread of the effects says more than the p-value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.vectors.association import unit
from unmask.vectors.intervals import Spread, effect_size
from unmask.vectors.questions import Group, Question
from unmask.vectors.static import format_words

DRAWS = 10_000
Variance = Literal["published", "sampling"]


@dataclass(frozen=True, slots=True)
class CeatResult:
    """The combined effect of many draws and their heterogeneity."""

    question: str
    effect: Value
    p: float  # two-sided, as in the paper; its code halves this
    tau2: float  # variance between draws
    i2: float  # share of the variance that is between draws, 0 to 1
    draws: int
    effects: Floats  # one per draw
    variance: Variance
    contexts: tuple[int, int]  # contexts of the word with fewest, and with most


def ceat(
    question: Question,
    contexts: Mapping[str, Floats],
    *,
    draws: int = DRAWS,
    variance: Variance = "published",
    spread: Spread = "sample",
    seed: int = 0,
) -> CeatResult:
    """Combine the effect sizes of `draws` draws, each with one context per word.

    The variance of an effect is, as `published`, that of the associations s within the draw, which is not
    the variance of the effect; `sampling` is that of a standardised difference of two means.
    """
    missing = [text for text in question.texts() if text not in contexts or not len(contexts[text])]
    if missing:
        raise StatsError(f"{question.name}: no context for {format_words(missing)}; leave these words out")
    if draws < 2 or min(len(question.x.texts), len(question.y.texts)) < 2:
        raise StatsError(f"{question.name}: CEAT needs at least two draws and two targets in X and in Y")
    effects, variances = _sample_effects(question, contexts, draws, variance, spread, seed)
    if not np.isfinite(effects).all():
        raise StatsError(
            f"{question.name}: in some draw all targets have the same association, so there is no effect size"
        )
    return _combine(question, effects, variances, variance, contexts)


def _combine(
    question: Question, effects: Floats, variances: Floats, variance: Variance, contexts: Mapping[str, Floats]
) -> CeatResult:
    from statsmodels.stats.meta_analysis import combine_effects

    with np.errstate(divide="ignore", invalid="ignore"):
        combined = combine_effects(effects, variances, method_re="dl")
        fixed, random = combined.conf_int()[:2]
    if combined.tau2 > 0:
        effect, error, (low, high) = combined.mean_effect_re, combined.sd_eff_w_re, random
    else:  # statsmodels allows tau2 < 0; at 0 the model is that of fixed effects
        effect, error, (low, high) = combined.mean_effect_fe, combined.sd_eff_w_fe, fixed
    counts = [len(contexts[text]) for text in question.texts()]
    return CeatResult(
        question=question.name,
        effect=Value(
            float(effect), float(low), float(high), f"normal, random effects over {effects.size} draws"
        ),
        p=float(2 * norm.sf(abs(effect / error))),
        tau2=float(max(0.0, combined.tau2)),
        i2=float(max(0.0, 1 - (effects.size - 1) / combined.q)) if combined.q > 0 else 0.0,
        draws=effects.size,
        effects=effects,
        variance=variance,
        contexts=(min(counts), max(counts)),
    )


def _sample_effects(
    question: Question,
    contexts: Mapping[str, Floats],
    draws: int,
    variance: Variance,
    spread: Spread,
    seed: int,
) -> tuple[Floats, Floats]:
    """Effect size and its variance for every draw."""
    rng = generator(seed, f"{question.name}/contexts")
    unit_vectors = {text: unit(contexts[text]) for text in question.texts()}
    effects, variances = np.empty(draws), np.empty(draws)
    for draw in range(draws):
        x, y, a, b = (_sample_contexts(group, unit_vectors, rng) for group in question.groups())
        direction = a.mean(0) - b.mean(0)
        s, t = x @ direction, y @ direction
        effects[draw] = effect_size(s, t, spread)
        variances[draw] = _variance(s, t, effects[draw], variance)
    return effects, variances


def _sample_contexts(group: Group, rows: Mapping[str, Floats], rng: np.random.Generator) -> Floats:
    """One sampled context for every member of a group."""
    return np.stack([rows[text][rng.integers(len(rows[text]))] for text in group.texts])


def _variance(x: Floats, y: Floats, effect: float, variance: Variance) -> float:
    if variance == "published":
        return float(np.concatenate([x, y]).var(ddof=1))
    total = x.size + y.size
    return total / (x.size * y.size) + effect**2 / (2 * total)
