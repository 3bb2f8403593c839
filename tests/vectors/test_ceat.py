"""CEAT against DerSimonian and Laird's formulas written out."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from unmask.core.errors import StatsError
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.vectors.association import association_test
from unmask.vectors.ceat import ceat
from unmask.vectors.questions import Group, Question
from unmask.vectors.spec import VectorSettings
from vectors import weat_reference

QUESTION = Question(
    "made",
    *(Group(name, tuple(f"{name}{n}" for n in range(size))) for name, size in zip("xyab", (4, 5, 3, 3), strict=True)),
)


def contexts(lean: float = 1.0, most: int = 5) -> dict[str, Floats]:
    """A few vectors per word, X close to A."""
    rng = np.random.default_rng(7)
    towards = {"x": lean, "a": lean, "y": -lean, "b": -lean}
    found = {}
    for number, text in enumerate(QUESTION.texts()):
        rows = rng.normal(size=(1 + number % most, 6))
        rows[:, 0] += towards[text[0]]
        found[text] = rows
    return found


def draws(vectors: dict[str, Floats], count: int, seed: int = 0) -> list[list[list[Floats]]]:
    """The sampled contexts: one per word, by draw and set."""
    rng = generator(seed, "made/contexts")
    return [
        [[vectors[text][rng.integers(len(vectors[text]))] for text in group.texts] for group in QUESTION.groups()]
        for _ in range(count)
    ]


@pytest.mark.parametrize("variance", ["published", "sampling"])
@pytest.mark.parametrize("lean", [0.0, 1.0])
def test_the_combined_effect_is_that_of_the_formulas(variance: str, lean: float) -> None:
    vectors, count = contexts(lean), 40
    effects, variances = [], []
    for sets in draws(vectors, count):
        first, second = weat_reference.values(*sets)
        d = weat_reference.effect(*sets)
        both = first + second
        middle = sum(both) / 9
        own = sum((one - middle) ** 2 for one in both) / 8 if variance == "published" else 9 / 20 + d * d / 18
        effects.append(d)
        variances.append(own)
    weights = [1 / one for one in variances]
    fixed = sum(w * d for w, d in zip(weights, effects, strict=True)) / sum(weights)
    q = sum(w * (d - fixed) ** 2 for w, d in zip(weights, effects, strict=True))
    c = sum(weights) - sum(w * w for w in weights) / sum(weights)
    tau2 = max(0.0, (q - (count - 1)) / c)
    random = [1 / (one + tau2) for one in variances]
    effect = sum(w * d for w, d in zip(random, effects, strict=True)) / sum(random)
    error = math.sqrt(1 / sum(random))
    found = ceat(QUESTION, vectors, VectorSettings(draws=count, variance=variance))  # type: ignore[arg-type]
    np.testing.assert_allclose(found.effects, effects)
    assert found.effect.value == pytest.approx(effect)
    assert found.tau2 == pytest.approx(tau2)
    assert found.i2 == pytest.approx(max(0.0, 1 - (count - 1) / q))
    assert found.p == pytest.approx(2 * (1 - NormalDist().cdf(abs(effect / error))), abs=1e-12)
    assert found.effect.low == pytest.approx(effect - 1.959964 * error, abs=1e-6)
    assert found.effect.high == pytest.approx(effect + 1.959964 * error, abs=1e-6)
    assert (found.draws, found.contexts) == (count, (1, 5))


def test_one_context_per_word_equals_weat() -> None:
    vectors = {text: rows[:1] for text, rows in contexts().items()}
    sets = [np.concatenate([vectors[text] for text in group.texts]) for group in QUESTION.groups()]
    found = ceat(QUESTION, vectors, VectorSettings(draws=3))
    assert found.effect.value == pytest.approx(association_test("q", sets, VectorSettings()).effect.value)
    assert (found.tau2, found.i2, found.contexts) == (0.0, 0.0, (1, 1))


def test_draws_repeat_and_depend_on_the_seed() -> None:
    one, two, other = (ceat(QUESTION, contexts(), VectorSettings(draws=5, seed=seed)) for seed in (0, 0, 1))
    assert (one.effects == two.effects).all()
    assert (one.effects != other.effects).any()


def test_words_without_a_context_are_left_out_and_listed() -> None:
    vectors = contexts()
    del vectors["x1"], vectors["b2"]
    assert ceat(QUESTION, vectors, VectorSettings(draws=2)).left_out == ("x1", "b2")


def test_invalid_requests_are_refused() -> None:
    vectors, settings = contexts(), VectorSettings(draws=2)
    with pytest.raises(StatsError, match="no word of some set"):
        ceat(QUESTION, {text: rows for text, rows in vectors.items() if text[0] != "a"}, settings)
    with pytest.raises(StatsError, match="two targets"):
        ceat(QUESTION, {text: rows for text, rows in vectors.items() if text[0] != "y" or text == "y0"}, settings)
    alike = {text: np.ones((1, 3)) for text in QUESTION.texts()}
    with pytest.raises(StatsError, match="all targets have the same association"):
        ceat(QUESTION, alike, settings)
