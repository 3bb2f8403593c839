"""Rankings of models and of bias types by several measures, for `agreement`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.diagnose.spec import DiagnosisObservation
from unmask.measures import find
from unmask.stats import table as tables
from unmask.stats.bootstrap import resampled_items
from unmask.stats.items import headline_statistic, item_values
from unmask.stats.ranks import MIN_RANKED, RankAgreement, rank_agreements


@dataclass(frozen=True, slots=True)
class TypeRankings:
    """How one model's measures rank the bias types of one dataset."""

    observation: DiagnosisObservation
    names: tuple[str, ...]  # measures
    categories: tuple[str, ...]
    pairs: tuple[int, ...]  # by category
    ranks: Floats  # measures × categories; 1 = most towards the stereotype
    agreements: tuple[RankAgreement, ...]


def model_agreements(observations: Sequence[DiagnosisObservation], seed: int) -> tuple[RankAgreement, ...]:
    """Agreement of measures in ranking models on the same data; models a measure does not support are NaN."""
    names = tuple(dict.fromkeys(name for observation in observations for name in observation.result))
    pairs = len(observations[0].data.items)
    values = np.full((len(names), len(observations), pairs), np.nan)
    for row, name in enumerate(names):
        for model, observation in enumerate(observations):
            if name in observation.result:
                table = _table(observation, name)
                values[row, model] = item_values(table, headline_statistic(table.measure))
    resampled = resampled_items(values, rng=generator(seed, "models"))
    return tuple(rank_agreements(names, _means(values), resampled, unit="pairs"))


def type_rankings(observation: DiagnosisObservation, seed: int) -> TypeRankings | None:
    """Rankings of categories with at least two scored pairs by every measure; None for fewer than three."""
    parts: dict[str, dict[str, Floats]] = {}
    for name in observation.result:
        statistic = "asld" if find(name).summary == "magnitude" else "mean-difference"
        for group, part in _table(observation, name).split_by("category"):
            parts.setdefault(group.partition("=")[2], {})[name] = item_values(part, statistic)
    stacked = {category: np.stack([*by.values()]) for category, by in parts.items()}
    kept = {name: values for name, values in stacked.items() if (np.isfinite(values).sum(axis=1) >= 2).all()}
    if len(kept) < MIN_RANKED:
        return None
    names = tuple(observation.result)
    scores = np.stack([_means(values) for values in kept.values()], axis=-1)
    resampled = np.stack(
        [resampled_items(values, rng=generator(seed, name)) for name, values in kept.items()], axis=-1
    )
    agreements = tuple(rank_agreements(names, scores, resampled, unit="pairs of each type"))
    counts = tuple(values.shape[-1] for values in kept.values())
    return TypeRankings(
        observation, names, tuple(kept), counts, rankdata(-scores, axis=-1, method="min"), agreements
    )


def _table(observation: DiagnosisObservation, name: str) -> tables.ScoreTable:
    return tables.ScoreTable.of(find(name), observation.result[name], data=observation.data.card.name)


def _means(values: Floats) -> Floats:
    """Means along the last axis, ignoring NaN; NaN if all are."""
    kept = np.isfinite(values)
    total, n = np.where(kept, values, 0.0).sum(axis=-1), kept.sum(axis=-1)
    return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0))
