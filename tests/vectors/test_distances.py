"""WEAT with other distances would call the wrong targets near if these failed: plain loops and hand-made values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from unmask.core.errors import StatsError
from unmask.vectors import VECTOR_MEASURES
from unmask.vectors.association import EUCLIDEAN, MAHALANOBIS, MANHATTAN, association_test, similarity_by, whitening
from unmask.vectors.evaluation import run_measure
from unmask.vectors.questions import Group, Question
from unmask.vectors.spec import VectorSettings, WordSets
from vectors import weat_reference

Distance = Callable[[Sequence[float], Sequence[float]], float]
VOCABULARY = np.random.default_rng(1).normal(size=(50_000, 5)) @ np.diag([3.0, 1.0, 1.0, 0.5, 0.1])


def euclidean(u: Sequence[float], v: Sequence[float]) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(u, v, strict=True)) ** 0.5)


def manhattan(u: Sequence[float], v: Sequence[float]) -> float:
    return sum(abs(a - b) for a, b in zip(u, v, strict=True))


def mahalanobis(u: Sequence[float], v: Sequence[float]) -> float:
    """By the sample's covariance, which the estimate approaches: the vocabulary is large."""
    difference = np.subtract(u, v)
    return float(np.sqrt(difference @ np.linalg.inv(np.cov(VOCABULARY.T)) @ difference))


@pytest.mark.parametrize(
    ("name", "distance", "tolerance"),
    [(EUCLIDEAN, euclidean, 1e-12), (MANHATTAN, manhattan, 1e-12), (MAHALANOBIS, mahalanobis, 0.02)],
)
def test_the_effect_is_that_of_plain_loops(name: str, distance: Distance, tolerance: float) -> None:
    rng = np.random.default_rng(4)
    x, y, a, b = (rng.normal(size=(size, 5)) for size in (4, 5, 3, 2))
    found = association_test("q", (x, y, a, b), VectorSettings(), similarity=similarity_by(name, VOCABULARY))

    def s(w: Sequence[float]) -> float:
        return float(np.mean([distance(w, v) for v in b]) - np.mean([distance(w, v) for v in a]))

    first, second = [s(w) for w in x], [s(w) for w in y]
    effect = (np.mean(first) - np.mean(second)) / np.std(first + second, ddof=1)
    assert found.effect.value == pytest.approx(effect, rel=tolerance)
    np.testing.assert_allclose(found.x, first, rtol=tolerance, atol=tolerance)
    assert found.p == pytest.approx(weat_reference.exact_p(found.x.tolist(), found.y.tolist())[0])


def test_distances_see_lengths_that_the_cosine_does_not(tmp_path: Path) -> None:
    """X and Y point the same way, X three times as far: only a distance finds X near to A, which is as far."""
    path = tmp_path / "glove.txt"
    path.write_text("math 3 0\ntools 3 0.1\narts 1 0\ndance 1 0.1\nhe 3 0\nshe 1 0\n", encoding="utf-8")
    sets_of_words = ("math tools", "arts dance", "he", "she")
    groups = [Group(words, tuple(words.split())) for words in sets_of_words]
    effects = {}
    for name in ("weat", EUCLIDEAN, MANHATTAN, MAHALANOBIS):
        sets = WordSets((), ())
        result = run_measure(VECTOR_MEASURES.find(name), path, [Question("q", *groups)], sets, VectorSettings())
        effects[name] = result.tests[0].effect.value
    assert abs(effects["weat"]) < 0.2 or np.isnan(effects["weat"])
    assert min(effects[name] for name in (EUCLIDEAN, MANHATTAN, MAHALANOBIS)) > 1


def test_whitening_gives_every_direction_the_same_spread() -> None:
    np.testing.assert_allclose(np.cov((VOCABULARY @ whitening(VOCABULARY)).T), np.eye(5), atol=0.1)
    with pytest.raises(StatsError, match="2 vectors without spread"):
        whitening(np.ones((2, 3)))
