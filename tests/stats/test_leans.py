"""Leans of template data: what the headline speaks of, and intervals that know words and templates repeat."""

from __future__ import annotations

import numpy as np
import pytest

from unmask.stats import comparisons, estimates, gate
from unmask.types import Row

from .tables import DATA, measure, only, row, rows

LEAN = measure("lean", null=0.0)


def crossed(effects: np.ndarray, *, goal: str = "zero", begin: int = 0) -> list[Row]:
    """A row for every word (down) and template (across)."""
    words, templates = effects.shape
    return [
        row(
            begin + w * templates + t,
            float(effects[w, t]),
            word=f"{goal}-w{w}",
            template=f"{goal}-t{t}",
            goal=goal,
            category=goal,
        )
        for w in range(words)
        for t in range(templates)
    ]


def drawn(seed: int, words: int, templates: int, *, by_word: float = 0.0, noise: float = 0.01) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(0, by_word, (words, 1)) + rng.normal(0, noise, (words, templates))


def test_the_headline_leaves_out_words_that_should_lean() -> None:
    table = crossed(np.full((3, 4), 0.2)) + crossed(np.full((3, 4), -0.9), goal="female", begin=100)
    found = estimates(LEAN, table, data=DATA, rng_seed=0)
    assert found[0].group == "all"
    assert found[0].value == pytest.approx(0.2)
    assert found[0].n == 12
    assert only(found, "appd", "goal=female").value == pytest.approx(-0.9)
    assert only(found, "appd", "word=zero-w1").n == 4
    assert not [one for one in found if one.group == "goal=zero"]


def test_rows_of_one_word_do_not_count_as_independent() -> None:
    """Ten words that differ, a hundred templates that do not: the interval is that of ten values."""
    table = crossed(drawn(1, 10, 100, by_word=1.0))
    one = only(estimates(LEAN, table, data=DATA, rng_seed=0), "appd")
    by_word = drawn(1, 10, 100, by_word=1.0).mean(1)
    error = by_word.std() / np.sqrt(10)  # what resampling ten words gives
    assert (one.high - one.low) / 2 == pytest.approx(1.96 * error, rel=0.15)
    assert one.method == "two-way bootstrap over 10 words and 100 templates"


@pytest.mark.slow
def test_the_interval_covers() -> None:
    """Words and templates both vary; the true mean is 0."""
    inside = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        effects = rng.normal(0, 1, (25, 1)) + rng.normal(0, 1, (1, 25)) + rng.normal(0, 1, (25, 25))
        one = only(estimates(LEAN, crossed(effects), data=DATA, rng_seed=seed), "appd")
        inside += one.low <= 0 <= one.high
    assert inside >= 90


def test_one_word_falls_back_to_its_templates() -> None:
    one = only(estimates(LEAN, crossed(drawn(2, 1, 40)), data=DATA, rng_seed=0), "appd")
    assert one.method == "bca"


def test_p_agrees_with_the_interval() -> None:
    near = only(estimates(LEAN, crossed(drawn(3, 12, 12, by_word=1)), data=DATA, rng_seed=0), "appd")
    far = only(estimates(LEAN, crossed(drawn(3, 12, 12, by_word=1) + 5), data=DATA, rng_seed=0), "appd")
    assert near.p is not None
    assert far.p is not None
    assert (near.p > 0.05) == (near.low <= 0 <= near.high)
    assert far.p < 0.01


def test_compared_and_gated_with_the_same_care() -> None:
    """One word changes much in every template: two-way, that is no proof of a change."""
    before = drawn(4, 8, 30)
    after = before.copy()
    after[0] += 1.0
    a, b = crossed(before), crossed(after)
    change = only(comparisons(LEAN, a, b, data=DATA, rng_seed=0), "appd")
    assert change.change == pytest.approx(1 / 8)
    assert change.low <= 0.0 <= change.high
    assert change.method.startswith("two-way")
    worse = gate(LEAN, a, crossed(before + 0.5), data=DATA, rng_seed=0)
    better = gate(LEAN, crossed(before + 0.5), a, data=DATA, rng_seed=0)
    assert (worse.worse, better.worse) == (True, False)
    assert worse.worsening == pytest.approx(-better.worsening)


def test_no_change_at_all() -> None:
    table = crossed(drawn(5, 6, 6))
    change = only(comparisons(LEAN, table, table, data=DATA, rng_seed=0), "appd")
    assert (change.low, change.high, change.method) == (0.0, 0.0, "no change")


def test_data_without_words_or_templates() -> None:
    one = only(estimates(LEAN, rows([0.1, -0.2] * 30), data=DATA, rng_seed=0), "appd")
    assert one.value == pytest.approx(-0.05)
    assert one.method == "bca"


def test_a_template_of_several_words_has_a_mean_of_its_own() -> None:
    effects = drawn(4, 3, 2)
    found = estimates(LEAN, crossed(effects), data=DATA, rng_seed=0)
    groups = {one.group: one for one in found if one.group.startswith("template=")}
    assert len(groups) == 2
    table = crossed(effects)
    for name, one in groups.items():
        mine = [row.difference for row in table if row.groups["template"] == name.partition("=")[2]]
        assert one.n == len(mine) == 3
        assert one.value == pytest.approx(sum(mine) / 3)
        assert one.low <= one.value <= one.high
