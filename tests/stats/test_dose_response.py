"""Scores made to follow a dose, or not to; the smallest step by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from unmask.core.types import Row
from unmask.stats.paired import apply_holm, comparisons
from unmask.stats.validity import dose_response, smallest_step

from .tables import DATA, measure, row, unscored

DOSES = (-2, -1, 0, 1, 2)


def planted(slope: float, *, n: int = 60, noise: float = 1.0, seed: int = 0) -> dict[int, list[Row]]:
    """Pairs whose difference is slope × dose, plus what the pair itself brings, the same at every dose."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=n)
    return {dose: [row(i, own[i] + slope * dose + noise * rng.normal()) for i in range(n)] for dose in DOSES}


def test_a_score_that_follows_the_dose() -> None:
    found = dose_response(measure(), "mean-difference", planted(2.0), data=DATA, seed=0)
    assert found.spearman.value == pytest.approx(1.0)
    assert found.kendall.value == pytest.approx(1.0)
    assert found.p == pytest.approx(2 / math.factorial(5))
    assert (found.step, found.n_separated, found.n_tested) == (1, 10, 10)
    assert found.middle == 2
    assert found.errors[2] == 0.0
    assert (found.errors[[0, 1, 3, 4]] > 0).all()


def test_scores_and_correlations_are_plain_means_and_scipys() -> None:
    made = planted(0.2, noise=2.0)
    for statistic, value in (("mean-difference", lambda d: d), ("bias-score", lambda d: 100.0 * (d > 0))):
        found = dose_response(measure(), statistic, made, data=DATA, seed=0)
        expected = [np.mean([value(one.difference) for one in made[dose]]) for dose in DOSES]
        np.testing.assert_allclose(found.scores, expected)
        assert found.spearman.value == pytest.approx(spearmanr(DOSES, expected).statistic)
        assert found.kendall.value == pytest.approx(kendalltau(DOSES, expected).statistic)
        assert found.spearman.low <= found.spearman.value <= found.spearman.high


def test_a_score_that_falls_with_the_dose_tells_nothing_apart() -> None:
    found = dose_response(measure(), "mean-difference", planted(-2.0), data=DATA, seed=0)
    assert found.kendall.value == pytest.approx(-1.0)
    assert (found.step, found.n_separated) == (None, 0)


def test_noise_tells_nothing_apart() -> None:
    found = dose_response(measure(), "bias-score", planted(0.0, noise=3.0), data=DATA, seed=0)
    assert found.step is None
    assert found.kendall.low < 0 < found.kendall.high


def test_sizes_follow_the_size_of_the_dose() -> None:
    found = dose_response(measure("magnitude"), "asld", planted(4.0, noise=0.1), data=DATA, seed=0)
    expected = [np.mean([abs(one.difference) for one in planted(4.0, noise=0.1)[dose]]) for dose in DOSES]
    np.testing.assert_allclose(found.scores, expected)
    assert found.kendall.value == pytest.approx(kendalltau(np.abs(DOSES), expected).statistic)
    assert found.n_tested == 8  # ten pairs less those of one size: -1 and +1, -2 and +2
    assert found.kendall.value > 0.8


def test_words_are_the_units_of_templates() -> None:
    def made(dose: int) -> list[Row]:
        values = {"nurse": [dose, dose + 1.0], "doctor": [3.0 * dose]}
        return [
            row(f"{word}-{i}", value, word=word, template=f"{word} {i}", goal="zero")
            for word, some in values.items()
            for i, value in enumerate(some)
        ]

    found = dose_response(measure("lean"), "appd", {dose: made(dose) for dose in (-1, 0, 1)}, data=DATA, seed=0)
    np.testing.assert_allclose(found.scores, [-4 / 3, 1 / 3, 2.0])
    assert found.n == 3
    assert (found.kendall.method, found.kendall.unit) == ("percentile over 2 words", "word")


def test_a_pair_that_is_not_scored_does_not_count() -> None:
    made = {dose: [row(0, dose + 0.5), row(1, dose + 1.5), unscored(2)] for dose in (-1, 0, 1)}
    found = dose_response(measure(), "mean-difference", made, data=DATA, seed=0)
    np.testing.assert_allclose(found.scores, [0.0, 1.0, 2.0])
    assert found.n == 2


def test_the_smallest_step_is_one_at_which_all_are_told_apart() -> None:
    assert smallest_step([(1, True), (1, False), (2, True)]) == 2
    assert smallest_step([(1, True), (1, True), (2, False)]) == 1
    assert smallest_step([(1, False), (2, False)]) is None
    assert smallest_step([]) is None


def test_two_doses_are_compared_as_two_runs_are() -> None:
    """Of three doses: the p-values, corrected by Holm, are those of `comparisons`."""
    made = {dose: planted(0.45, n=60)[dose] for dose in (-1, 0, 1)}
    for statistic in ("bias-score", "mean-difference"):
        compared = [
            next(
                one
                for one in comparisons(measure(), made[a], made[b], data=DATA, rng_seed=0)
                if one.statistic == statistic
            )
            for a, b in ((-1, 0), (-1, 1), (0, 1))
        ]
        told = sum(one.p_holm < 0.05 and one.change > 0 for one in apply_holm(compared))  # type: ignore[operator]
        found = dose_response(measure(), statistic, made, data=DATA, seed=0)
        assert (found.n_separated, found.n_tested) == (told, 3)
        assert 0 < told < 3


def flipping(up: int, *, n: int = 60) -> dict[int, list[Row]]:
    """Two doses; so many of the pairs lost at the first are won at the second, the others stay lost."""
    return {0: [row(i, -1.0) for i in range(n)], 1: [row(i, 1.0 if i < up else -1.0) for i in range(n)]}


def test_flips_are_judged_by_the_sign_test() -> None:
    """Five flips one way have p = 2 / 32 = 0.0625, six p = 2 / 64 = 0.03125; a t test would pass both."""
    five, six = (dose_response(measure(), "bias-score", flipping(up), data=DATA, seed=0) for up in (5, 6))
    assert (five.n_separated, six.n_separated) == (0, 1)
    assert five.kendall.method == "percentile over pairs"


def test_a_p_value_at_the_level_is_not_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.stats.validity.LEVEL", 0.0625)
    assert dose_response(measure(), "bias-score", flipping(5), data=DATA, seed=0).n_separated == 0
    monkeypatch.setattr("unmask.stats.validity.LEVEL", 0.0626)
    assert dose_response(measure(), "bias-score", flipping(5), data=DATA, seed=0).n_separated == 1


def test_a_rise_is_tested_against_none() -> None:
    """All pairs rise by about 1."""
    made = {0: [row(i, 0.1 * (i % 3)) for i in range(9)], 1: [row(i, 1.0 + 0.1 * (i % 2)) for i in range(9)]}
    assert dose_response(measure(), "mean-difference", made, data=DATA, seed=0).n_separated == 1


def templates(values: np.ndarray) -> list[Row]:
    """A row for every word (down) and template (across)."""
    return [
        row(i, float(value), word=f"w{w}", template=f"t{t}", goal="zero")
        for i, ((w, t), value) in enumerate(np.ndenumerate(values))
    ]


def test_templates_of_one_word_are_no_proof_of_a_rise() -> None:
    noise = np.random.default_rng(0).normal(0, 0.01, (8, 30))
    one_word = noise + np.eye(8)[:, :1]
    for before, after, told in ((noise, one_word, 0), (noise - 0.25, noise[::-1] + 0.25, 1)):
        made = {0: templates(before), 1: templates(after)}
        assert dose_response(measure("lean"), "appd", made, data=DATA, seed=0).n_separated == told


def test_words_are_resampled_with_all_their_templates() -> None:
    """Of three words one rises by 3: the mean of three drawn ones rises by as many as the word was drawn."""
    after = np.zeros((3, 20))
    after[2] = 3.0
    made = {0: templates(np.zeros((3, 20))), 1: templates(after)}
    found = dose_response(measure("lean"), "appd", made, data=DATA, seed=0)
    assert found.errors[1] == pytest.approx(math.sqrt(3 * 1 / 3 * 2 / 3), rel=0.05)


def test_pairs_of_one_writer_are_resampled_together() -> None:
    """Only one of two writers follows the dose: half of the resamples have both, a quarter each one of them twice."""

    def made(dose: int) -> list[Row]:
        values = {"a": 2.0 * dose, "b": -1.0 * dose}
        return [row(f"{writer}{i}", value, writer=writer) for writer, value in values.items() for i in range(20)]

    rows = {dose: made(dose) for dose in (-1, 0, 1)}
    found = dose_response(measure(), "mean-difference", rows, data=DATA, seed=0)
    assert (found.kendall.value, found.kendall.low, found.kendall.high) == pytest.approx((1.0, -1.0, 1.0))
    assert found.kendall.method == "percentile over 2 writers"
    alone = dose_response(measure(), "mean-difference", rows, data=DATA, seed=0, independent=True)
    assert alone.kendall.low == pytest.approx(1.0)
    assert alone.kendall.method == "percentile over pairs"


def test_three_words_in_three_templates_are_too_few() -> None:
    rows = {
        dose: [
            row(f"{word}-{at}", dose + 0.1 * word * at, word=f"w{word}", template=f"t{at}", goal="zero")
            for word in range(3)
            for at in range(3)
        ]
        for dose in (-1, 0, 1)
    }
    found = dose_response(measure("lean"), "appd", rows, data=DATA, seed=0)
    assert found.kendall.method == "too few: 3 words and 3 templates, expected at least 4 of each"
    assert not found.kendall.has_interval
