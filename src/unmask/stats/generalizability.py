"""Generalisability of scores of models × items × wordings (Cronbach et al. 1972; Brennan 2001).

A score is a sum of random effects of the model, the item, the wording and their interactions; their variances say
what a ranking of models depends on besides the models. Wordings are crossed with the items (templates in which every
item is asked) or nested in them (paraphrases of each item); without wordings there are models × items.

Components: the mean squares of a balanced design equated with their expectations (ANOVA), or restricted maximum
likelihood, which is the same unless a component would be negative. Intervals: generalised confidence intervals
(Weerahandi 1993), percentiles of what the mean squares could have been, each being a multiple of χ² with its degrees
of freedom; exact for one mean square, and for ratios of two those of the F test.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.stats.bootstrap import NO_SPREAD

DRAWS = 20_000
MIN_MODELS = 3  # with two there is one ranking and its reverse
METHOD = "generalised interval"
MODEL, ITEM, WORDING = "model", "item", "wording"
REST = "rest"


class Effect(NamedTuple):
    """A random effect: its name and the facets it varies with."""

    name: str
    facets: frozenset[str]


def _effects(*names: str) -> tuple[Effect, ...]:
    return tuple(Effect(name, frozenset(name.split(" × "))) for name in names)


ALL_FACETS = frozenset((MODEL, ITEM, WORDING))
CROSSED = (
    *_effects("model", "item", "wording", "model × item", "model × wording", "item × wording"),
    Effect(REST, ALL_FACETS),
)
NESTED = (
    *_effects("model", "item"),
    Effect("wording in item", frozenset((ITEM, WORDING))),
    *_effects("model × item"),
    Effect(REST, ALL_FACETS),
)
ONE_WORDING = (*_effects("model", "item"), Effect(REST, frozenset((MODEL, ITEM))))


@dataclass(frozen=True, eq=False)
class GStudy:
    """The mean squares of a balanced design, and what follows from them."""

    effects: tuple[Effect, ...]
    sizes: dict[str, int]  # models, items, wordings
    squares: Floats  # mean squares, one for each effect
    freedom: Floats  # their degrees of freedom
    rng_seed: int = 0

    @cached_property
    def expected_squares(self) -> Floats:
        """Expected mean squares as a matrix: rows mean squares, columns components."""
        cells = np.prod([*self.sizes.values()])
        levels = [np.prod([self.sizes[facet] for facet in effect.facets]) for effect in self.effects]
        within = [[row.facets <= column.facets for column in self.effects] for row in self.effects]
        return np.array(within) * (cells / np.array(levels))

    @cached_property
    def components(self) -> Floats:
        """The variance of each effect by ANOVA; can be negative."""
        return np.asarray(np.linalg.solve(self.expected_squares, self.squares), np.float64)

    @cached_property
    def draws(self) -> Floats:
        """What the components could be: draws × effects, none negative."""
        rng = np.random.default_rng(self.rng_seed)
        chi = rng.chisquare(self.freedom, size=(DRAWS, len(self.effects)))
        squares = self.squares * self.freedom / chi
        return np.asarray(np.maximum(np.linalg.solve(self.expected_squares, squares.T).T, 0.0), np.float64)

    @cached_property
    def restricted_components(self) -> Floats:
        """The components by restricted maximum likelihood, none negative."""
        return self.components if (self.components >= 0).all() else _restricted(self)

    def component(self, number: int) -> Value:
        """One variance component with its interval."""
        return self._value(float(self.components[number]), self.draws[:, number])

    def share(self, number: int, *, relative: bool = False) -> Value:
        """Its share of the variance of one score of a model on one item in one wording, in percent.

        Relative: of the variance that differs between models, without what is the same for all of them.
        """
        counted = np.array([not relative or MODEL in effect.facets for effect in self.effects])
        value, draws = (
            100 * _ratios(parts[:, number], (parts * counted).sum(axis=1) - parts[:, number])
            for parts in (np.maximum(self.components, 0.0)[None], self.draws)
        )
        return self._value(float(value[0]), draws)

    def reliability(self, items: int, wordings: int, *, absolute: bool = False) -> Value:
        """Share of the variance of scores that is of the models, if so many items and wordings were asked.

        Relative: how reproducible the ranking is (the generalisability coefficient). Absolute: how reproducible
        the scores themselves are (the index of dependability).
        """
        weights = self._weights(items, wordings, absolute=absolute)
        parts = np.maximum(self.components, 0.0)
        value = _ratios(parts[:1], parts[None] @ weights)
        return self._value(float(value[0]), _ratios(self.draws[:, 0], self.draws @ weights))

    def standard_error(self, items: int, wordings: int, *, absolute: bool = False) -> Value:
        """The standard error of one model's score; relative: of its distance from the mean of the models."""
        weights = self._weights(items, wordings, absolute=absolute)
        parts, draws = np.maximum(self.components, 0.0), np.sqrt(self.draws @ weights)
        return self._value(float(np.sqrt(parts @ weights)), draws)

    def items_needed(self, reliability: float, wordings: int, most: int = 10**6) -> int | None:
        """The smallest number of items for a reliability of the ranking; None if no number is enough."""
        parts = dict(zip((effect.name for effect in self.effects), np.maximum(self.components, 0.0), strict=True))
        fixed = parts.get("model × wording", 0.0) / wordings
        per_item = parts.get("model × item", 0.0) + parts[REST] / (1 if "model × item" not in parts else wordings)
        room = parts[MODEL] * (1 - reliability) / reliability - fixed
        if room <= 0:
            return None
        needed = int(np.ceil(per_item / room - 1e-9))
        return max(1, needed) if needed <= most else None

    def _weights(self, items: int, wordings: int, *, absolute: bool) -> Floats:
        """The weight of each component in the error variance; those of the models' own variance are 0."""
        sizes = {ITEM: items, WORDING: wordings}
        return np.array(
            [
                1 / np.prod([sizes.get(facet, 1) for facet in effect.facets])
                if effect.name != MODEL and (absolute or MODEL in effect.facets)
                else 0.0
                for effect in self.effects
            ]
        )

    def _value(self, value: float, draws: Floats) -> Value:
        kept = draws[np.isfinite(draws)]
        if not kept.size or not np.isfinite(value):
            return Value(value, method=f"{NO_SPREAD}: the models, items and wordings are alike")
        low, high = np.quantile(kept, [0.025, 0.975]).tolist()
        return Value(value, low, high, METHOD).widen()


def g_study(scores: Floats, *, nested: bool = False, seed: int = 0) -> GStudy:
    """The mean squares of complete scores of models × items × wordings."""
    models, items, wordings = scores.shape
    if models < MIN_MODELS or items < 2:
        raise StatsError(
            f"{models} models and {items} items scored by all of them: expected at least {MIN_MODELS} models "
            "and two items"
        )
    if not np.isfinite(scores).all():
        raise StatsError("scores are missing: expected a score of every model for every item in every wording")
    effects = ONE_WORDING if wordings == 1 else NESTED if nested else CROSSED
    axes = {MODEL: 0, ITEM: 1, WORDING: 2}
    sizes = dict(zip(axes, scores.shape, strict=True))
    parts: dict[frozenset[str], Floats] = {frozenset(): scores.mean(keepdims=True)}
    freedom: dict[frozenset[str], float] = {frozenset(): 1.0}
    squares = []
    for effect in effects:
        other = tuple(axis for facet, axis in axes.items() if facet not in effect.facets)
        below = [facets for facets in parts if facets < effect.facets]
        part = scores.mean(axis=other, keepdims=True) - sum(parts[facets] for facets in below)
        levels = float(np.prod([sizes[facet] for facet in effect.facets]))
        freedom[effect.facets] = levels - sum(freedom[facets] for facets in below)
        parts[effect.facets] = part
        squares.append(float((part**2).sum()) * scores.size / levels / freedom[effect.facets])
    return GStudy(effects, sizes, np.array(squares), np.array([*freedom.values()][1:]), seed)


def _restricted(study: GStudy) -> Floats:
    """Minimise −2 log REML, which depends on the data by the mean squares only, over components ≥ 0."""
    scale = float(study.squares.mean()) or 1.0
    squares = study.squares / scale

    def loss(components: Floats) -> tuple[float, Floats]:
        expected = study.expected_squares @ components
        value = study.freedom @ (np.log(expected) + squares / expected)
        gradient = study.expected_squares.T @ (study.freedom * (1 / expected - squares / expected**2))
        size = float(study.freedom.sum())
        return float(value) / size, gradient / size

    start = np.maximum(study.components / scale, 1e-6)
    bounds = [(0.0, None)] * (len(start) - 1) + [(1e-12, None)]
    options: Any = {"maxiter": 10_000, "ftol": 1e-15, "gtol": 1e-12}
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    return np.asarray(found.x, np.float64) * scale


def _ratios(own: Floats, error: Floats) -> Floats:
    total = own + error
    return np.asarray(np.divide(own, total, out=np.full(total.shape, np.nan), where=total > 0))
