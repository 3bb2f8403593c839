"""WEAT against plain loops and hand-made values."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from unmask.core.errors import StatsError
from unmask.vectors import association as module
from unmask.vectors.association import association_test, effect_size, permutation_p_value, sample_partitions, weat
from unmask.vectors.questions import Group, Question
from unmask.vectors.spec import VectorSettings
from unmask.vectors.static import WordVectors, read_vectors
from vectors import weat_reference

DEFAULT, POPULATION = VectorSettings(), VectorSettings(population=True)


def sets(seed: int, sizes: tuple[int, int, int, int], size: int = 6) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=(one, size)) for one in sizes)


def make_question(words: dict[str, list[float]], *names: str) -> tuple[Question, WordVectors]:
    """A question whose sets are given as words in one string each."""
    groups = [Group(f"set {number}", tuple(text.split())) for number, text in enumerate(names)]
    return Question("made", *groups), WordVectors(tuple(words), np.array(list(words.values())), "made")


@pytest.mark.parametrize("sizes", [(4, 4, 3, 5), (2, 2, 1, 1), (5, 3, 4, 2), (6, 6, 8, 8)])
def test_effect_statistic_and_exact_p_are_those_of_plain_loops(sizes: tuple[int, int, int, int]) -> None:
    x, y, a, b = sets(sum(sizes), sizes)
    found = association_test("q", (x, y, a, b), DEFAULT)
    first, second = weat_reference.values(x, y, a, b)
    p, total = weat_reference.exact_p(first, second)
    assert found.effect.value == pytest.approx(weat_reference.effect(x, y, a, b), abs=1e-12)
    assert found.statistic == pytest.approx(weat_reference.statistic(x, y, a, b), abs=1e-12)
    assert (found.p, found.partitions, found.exact) == (pytest.approx(p), total, True)
    assert found.sizes == sizes
    np.testing.assert_allclose(found.x, first)
    np.testing.assert_allclose(found.y, second)
    population = association_test("q", (x, y, a, b), POPULATION)
    assert population.effect.value == pytest.approx(weat_reference.effect(x, y, a, b, less=0), abs=1e-12)
    assert population.spread == "population"


def test_known_values_from_a_glove_file(tmp_path: Path) -> None:
    """X lies on A, Y on B: s is 1 for X and −1 for Y; one of six partitions is at least as extreme."""
    path = tmp_path / "glove.txt"
    path.write_text("he 2 0\nshe 0 3\nmath 1 0\ntools 5 0\narts 0 1\ndance 0 7\n", encoding="utf-8")
    question, _ = make_question({"he": [1.0]}, "math tools", "arts dance", "he", "she")
    found = weat(question, read_vectors(path), DEFAULT)
    assert found.x.tolist() == [1, 1]
    assert found.y.tolist() == [-1, -1]
    assert found.statistic == 4
    assert found.effect.value == pytest.approx(2 / math.sqrt(4 / 3))
    assert found.p == pytest.approx(1 / math.comb(4, 2))
    turned, _ = make_question({"he": [1.0]}, "arts dance", "math tools", "he", "she")
    assert weat(turned, read_vectors(path), DEFAULT).p == 1.0


def test_ties_count() -> None:
    """With equal targets all partitions tie, and there is no effect size."""
    same = np.tile([1.0, 2.0], (3, 1))
    found = association_test("q", (same, same, np.eye(2), np.ones((1, 2))), DEFAULT)
    assert found.p == 1.0
    assert math.isnan(found.effect.value)
    assert math.isnan(found.effect.low)
    assert found.effect.method == "no spread: 6 targets alike"
    x, y = np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.1])  # 0 in exact numbers, not in floats
    assert permutation_p_value(x, y, rng=np.random.default_rng(0))[0] == pytest.approx(weat_reference.exact_p(x, y)[0])


def test_sampled_partitions_are_distinct_and_not_the_observed() -> None:
    rows = sample_partitions(4, 5, 100, rng=np.random.default_rng(1))
    seen = {tuple(row) for row in rows.tolist()}
    assert len(seen) == len(rows) == 100
    assert (rows.sum(1) == 4).all()
    assert (True,) * 4 + (False,) * 5 not in seen
    every = sample_partitions(3, 3, 19, rng=np.random.default_rng(1))
    assert {tuple(np.flatnonzero(row)) for row in every} == set(combinations(range(6), 3)) - {(0, 1, 2)}


def test_a_sampled_p_counts_the_observed_and_approximates_the_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(3).normal(size=(2, 7))
    exact, total = weat_reference.exact_p(x, y)
    monkeypatch.setattr(module, "ENUMERABLE", 1000)
    monkeypatch.setattr(module, "SAMPLED", 2000)
    rows = sample_partitions(7, 7, 1999, rng=np.random.default_rng(2))
    both, hits = [*x, *y], 1
    for row in rows:
        total_row = sum(one if inside else -one for one, inside in zip(both, row, strict=True))
        hits += total_row >= sum(x) - sum(y)
    found = permutation_p_value(x, y, rng=np.random.default_rng(2))
    assert found == (hits / 2000, 2000)
    assert found[0] == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 2000))
    monkeypatch.setattr(module, "SAMPLED", total)
    assert permutation_p_value(x, y, rng=np.random.default_rng(2))[0] == pytest.approx(exact)  # all of them drawn


def test_the_sampled_p_is_never_zero() -> None:
    x, y, a, b = sets(1, (14, 14, 2, 2))
    towards = a.mean(0) / 1 - b.mean(0)
    found = association_test("q", (x + 50 * towards, y - 50 * towards, a, b), DEFAULT)
    assert (found.p, found.partitions, found.exact) == (1e-5, 100_000, False)


def test_the_interval_holds_the_effect_and_repeats() -> None:
    four = sets(8, (8, 8, 8, 8))
    one, two = association_test("q", four, DEFAULT), association_test("q", four, DEFAULT)
    assert one.effect == two.effect
    assert one.effect.low < one.effect.value < one.effect.high
    assert one.effect.method == "bca over 8+8+8+8"
    assert association_test("q", four, VectorSettings(seed=1)).effect != one.effect
    single = association_test("q", sets(8, (8, 8, 1, 1)), DEFAULT).effect
    assert single.method == "bca over 8+8+1+1"
    assert single.low < single.high


@pytest.mark.parametrize("sizes", [(9, 9, 7, 7), (12, 7, 14, 5)])
def test_the_interval_resamples_words_of_all_four_sets(sizes: tuple[int, int, int, int]) -> None:
    """Against effect sizes of sets resampled in a loop: the ends of both distributions."""
    four = sets(21, sizes)
    four[1][:, 0] += 2  # Y lies near B: with the words of the larger A alone there would be no effect
    four[3][:, 0] += 2
    rng = np.random.default_rng(0)
    redrawn = []
    for _ in range(1500):
        x, y, a, b = (rows[rng.integers(len(rows), size=len(rows))] for rows in four)
        unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (x, y, a, b)]
        towards = unit[2].mean(0) - unit[3].mean(0)
        redrawn.append(effect_size(unit[0] @ towards, unit[1] @ towards, "sample"))
    found = association_test("q", four, DEFAULT)
    low, high = np.percentile(redrawn, [2.5, 97.5])
    assert found.effect.high - found.effect.low == pytest.approx(high - low, rel=0.25)


def test_rows_of_one_unit_are_resampled_together() -> None:
    """A row repeated three times under one unit gives the same interval as the row alone."""
    four = sets(8, (8, 7, 6, 5))
    thrice = tuple(np.repeat(rows, 3, axis=0) for rows in four)
    units = tuple(tuple(f"w{n // 3}" for n in range(3 * len(rows))) for rows in four)
    once = association_test("q", four, POPULATION)
    together = association_test("q", thrice, POPULATION, units=units)
    alone = association_test("q", thrice, POPULATION)
    assert together.effect.value == pytest.approx(once.effect.value)
    assert together.effect.low == pytest.approx(once.effect.low, abs=0.06)  # other resamples
    assert together.effect.high == pytest.approx(once.effect.high, abs=0.06)
    assert (together.effect.method, alone.effect.method) == ("bca over 8+7+6+5", "bca over 24+21+18+15")
    assert alone.effect.high - alone.effect.low < once.effect.high - once.effect.low
    one = (("same",) * 8, *(tuple(map(str, range(len(rows)))) for rows in four[1:]))
    assert association_test("q", four, DEFAULT, units=one).effect.method == "too few: 1+7+6+5 units"


def test_unknown_words_are_left_out_and_listed() -> None:
    x, y, a, b = sets(4, (3, 3, 2, 2))
    names = [*"pqrstuvwij"]
    words = dict(zip(names, np.concatenate([x, y, a, b]).tolist(), strict=True))
    question, vectors = make_question(words, "p q r gone", "s t u", "v w lost", "i j")
    found = weat(question, vectors, DEFAULT)
    assert found.left_out == ("gone", "lost")
    assert found.sizes == (3, 3, 2, 2)
    assert found.effect.value == pytest.approx(weat_reference.effect(x, y, a, b))
    empty, _ = make_question(words, "p q", "r s", "t", "gone")
    with pytest.raises(StatsError, match="for any word of set 3"):
        weat(empty, vectors, DEFAULT)


def test_too_few_targets_and_zero_vectors_are_refused() -> None:
    x, y, a, b = sets(4, (3, 3, 2, 2))
    with pytest.raises(StatsError, match="1, 3, 2, 2 vectors"):
        association_test("q", (x[:1], y, a, b), DEFAULT)
    with pytest.raises(StatsError, match="length zero"):
        association_test("q", (x, y, a, 0 * b), DEFAULT)
