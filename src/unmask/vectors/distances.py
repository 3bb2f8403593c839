"""WEAT with distances instead of the cosine (Azarpanah and Farhadloo 2021): the nearer, the more similar.

s(w) = mean d(w, b) − mean d(w, a), of the vectors as they are: unlike the cosine, distances depend on their length.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.covariance import LedoitWolf

from unmask.core.errors import StatsError
from unmask.core.types import Floats
from unmask.vectors.association import Similarity

EUCLIDEAN, MANHATTAN, MAHALANOBIS = "weat-euclidean", "weat-manhattan", "weat-mahalanobis"
_Metric = Literal["euclidean", "cityblock"]  # as scipy calls them
_METRICS: dict[str, _Metric] = {EUCLIDEAN: "euclidean", MANHATTAN: "cityblock"}


def similarity_by(measure: str, vocabulary: Floats | None = None) -> Similarity | None:
    """The similarity of a variant of WEAT; None for the cosine. Mahalanobis needs the vectors of a vocabulary."""
    if measure == MAHALANOBIS:
        assert vocabulary is not None
        return partial(_nearness, whiten=whitening(vocabulary), metric="euclidean")
    return partial(_nearness, metric=_METRICS[measure]) if measure in _METRICS else None


def whitening(rows: Floats) -> Floats:
    """A matrix after which the Euclidean distance is Mahalanobis', by Ledoit and Wolf's estimate of the covariance.

    The sample's covariance has no inverse where there are fewer words than dimensions; this estimate always has
    one, and equals the sample's in the limit of many words.
    """
    if len(rows) < 2 or np.ptp(rows, axis=0).max() <= 1e-12 * np.abs(rows).max():
        raise StatsError(f"{len(rows)} vectors without spread have no covariance: give more words")
    factor: Floats = np.linalg.cholesky(LedoitWolf().fit(rows).precision_)
    return factor


def _nearness(rows: Floats, others: Floats, *, metric: _Metric, whiten: Floats | None = None) -> Floats:
    """Minus the distance of every row to every other one."""
    if whiten is not None:
        rows, others = rows @ whiten, others @ whiten
    nearness: Floats = -cdist(rows, others, metric)
    return nearness
