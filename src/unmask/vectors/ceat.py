"""CEAT: WEAT over and over, each word in another of its contexts, put together by a random-effects model.

Draws share contexts, so they are not independent: the standard error shrinks with the number of draws,
however few the contexts are. The spread of the effects says more than the p-value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.stats.bootstrap import Interval, generator
from unmask.vectors.association import unit
from unmask.vectors.intervals import Spread, effect_size
from unmask.vectors.questions import Group, Question
from unmask.vectors.static import format_words

DRAWS = 10_000
Variance = Literal["published", "sampling"]


@dataclass(frozen=True, slots=True)
class CeatResult:
    """The combined effect of many draws, and how far they differ."""

    question: str
    effect: float
    interval: Interval
    p: float  # two-sided, as in the paper; its code halves this
    tau2: float  # variance between draws beyond their own
    i2: float  # share of the variance that is between draws, 0 to 1
    draws: int
    effects: Floats  # one a draw
    variance: Variance
    contexts: tuple[int, int]  # of the word with fewest, and with most


def ceat(
    question: Question,
    contexts: Mapping[str, Floats],
    *,
    draws: int = DRAWS,
    variance: Variance = "published",
    spread: Spread = "sample",
    seed: int = 0,
) -> CeatResult:
    """Combine the effect sizes of `draws` draws of one context for every word.

    The variance of an effect is, as `published`, that of the associations s within the draw, which is not
    the variance of the effect; `sampling` is that of a standardised difference of two means.
    """
    lacking = [text for text in question.texts() if text not in contexts or not len(contexts[text])]
    if lacking:
        raise StatsError(f"{question.name}: no context of {format_words(lacking)}; leave them out knowingly")
    if draws < 2 or min(len(question.x.texts), len(question.y.texts)) < 2:
        raise StatsError(f"{question.name}: CEAT needs two draws and two targets in X and in Y")
    effects, variances = _drawn(question, contexts, draws, variance, spread, seed)
    if not np.isfinite(effects).all():
        raise StatsError(f"{question.name}: in some draw all targets are alike, so it has no effect size")
    return _combined(question, effects, variances, variance, contexts)


def _combined(
    question: Question, effects: Floats, variances: Floats, variance: Variance, contexts: Mapping[str, Floats]
) -> CeatResult:
    from statsmodels.stats.meta_analysis import combine_effects

    with np.errstate(divide="ignore", invalid="ignore"):
        made = combine_effects(effects, variances, method_re="dl")
        fixed, random = made.conf_int()[:2]
    if made.tau2 > 0:
        effect, error, (low, high) = made.mean_effect_re, made.sd_eff_w_re, random
    else:  # statsmodels goes on with a variance below 0; with none the model is that of fixed effects
        effect, error, (low, high) = made.mean_effect_fe, made.sd_eff_w_fe, fixed
    held = [len(contexts[text]) for text in question.texts()]
    return CeatResult(
        question=question.name,
        effect=float(effect),
        interval=Interval(float(low), float(high), f"normal, random effects over {effects.size} draws"),
        p=float(2 * norm.sf(abs(effect / error))),
        tau2=float(max(0.0, made.tau2)),
        i2=float(max(0.0, 1 - (effects.size - 1) / made.q)) if made.q > 0 else 0.0,
        draws=effects.size,
        effects=effects,
        variance=variance,
        contexts=(min(held), max(held)),
    )


def _drawn(
    question: Question,
    contexts: Mapping[str, Floats],
    draws: int,
    variance: Variance,
    spread: Spread,
    seed: int,
) -> tuple[Floats, Floats]:
    """Effect size and its variance, draw by draw."""
    rng = generator(seed, f"{question.name}/contexts")
    lengths_one = {text: unit(contexts[text]) for text in question.texts()}
    effects, variances = np.empty(draws), np.empty(draws)
    for draw in range(draws):
        x, y, a, b = (_some(group, lengths_one, rng) for group in question.groups())
        towards = a.mean(0) - b.mean(0)
        s, t = x @ towards, y @ towards
        effects[draw] = effect_size(s, t, spread)
        variances[draw] = _variance(s, t, effects[draw], variance)
    return effects, variances


def _some(group: Group, rows: Mapping[str, Floats], rng: np.random.Generator) -> Floats:
    """One context of every member of a group."""
    return np.stack([rows[text][rng.integers(len(rows[text]))] for text in group.texts])


def _variance(x: Floats, y: Floats, effect: float, variance: Variance) -> float:
    if variance == "published":
        return float(np.concatenate([x, y]).var(ddof=1))
    total = x.size + y.size
    return total / (x.size * y.size) + effect**2 / (2 * total)
