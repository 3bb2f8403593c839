"""The mean over trainings: without the noise between them, another seed would be taken for an effect of a corpus."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.stats.trainings import TrainingNoise, TrainingSpread, mean_over_trainings
from unmask.stats.units import INDEPENDENT, units_of

RUNS = 600


def changes(rng: np.random.Generator, trainings: int, items: int, spread: tuple[float, float, float]) -> Floats:
    """Changes without an effect, with these standard deviations of trainings, items and the rest."""
    parts = (
        rng.normal(0.0, sd, shape)
        for sd, shape in zip(spread, ((trainings, 1), (1, items), (trainings, items)), strict=True)
    )
    return np.asarray(sum(parts), np.float64)


def test_the_mean_over_trainings_by_hand() -> None:
    """Its interval would be over items alone, or over trainings alone.

    Means of trainings 1 and 3, of items 1, 2 and 3: variances 2 / 2 = 1 and 1 / 3; no interaction. The degrees of
    freedom are the fewest, those of two trainings: 1.
    """
    found, p = mean_over_trainings(np.array([[0.0, 1.0, 2.0], [2.0, 3.0, 4.0]]), INDEPENDENT)
    error = np.sqrt(1 + 1 / 3)
    assert (found.value, found.df) == (2.0, 1.0)
    assert (found.low, found.high) == pytest.approx((2 - t.ppf(0.975, 1) * error, 2 + t.ppf(0.975, 1) * error))
    assert p == pytest.approx(2 * t.sf(2 / error, 1))
    assert found.method == "t over 2 trainings and 3 items"


def test_the_interaction_counts_once_by_hand() -> None:
    """The noise of single items would be in the interval twice.

    Means of trainings and of items 1.5 and 3.5: variances 1 and 1; residuals ± 1/2, one degree of freedom: 1 / 4.
    """
    found, p = mean_over_trainings(np.array([[1.0, 2.0], [2.0, 5.0]]), INDEPENDENT)
    assert p == pytest.approx(2 * t.sf(2.5 / np.sqrt(1 + 1 - 1 / 4), 1))
    assert found.high - found.value == pytest.approx(t.ppf(0.975, 1) * np.sqrt(1.75))


@pytest.mark.parametrize("trainings", [2, 3, 5])
@pytest.mark.parametrize(
    "spread", [(0.3, 1.0, 0.5), (0.1, 1.0, 0.3), (0.0, 1.0, 0.3), (0.0, 0.0, 1.0), (1.0, 0.2, 0.2)]
)
def test_another_seed_is_no_effect(trainings: int, spread: tuple[float, float, float]) -> None:
    """More than one in twenty corpora without an effect would be said to have one."""
    rng = np.random.default_rng([trainings, *(int(10 * sd) for sd in spread)])
    ps = [mean_over_trainings(changes(rng, trainings, 50, spread), INDEPENDENT)[1] for _ in range(RUNS)]
    assert np.mean([p is not None and p < 0.05 for p in ps]) < 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / RUNS)


def test_items_alone_take_another_seed_for_an_effect() -> None:
    """The test above would prove nothing: trainings would differ too little to matter."""
    rng, found = np.random.default_rng(0), []
    for _ in range(RUNS):
        items = changes(rng, 1, 50, (0.3, 1.0, 0.5))[0]
        found.append(2 * t.sf(abs(items.mean()) / (items.std(ddof=1) / np.sqrt(50)), 49) < 0.05)
    assert np.mean(found) > 0.3


def test_an_effect_is_found_with_several_trainings() -> None:
    """No effect would ever be found."""
    rng = np.random.default_rng(0)
    ps = [mean_over_trainings(0.8 + changes(rng, 5, 50, (0.3, 1.0, 0.5)), INDEPENDENT)[1] for _ in range(RUNS)]
    assert np.mean([p is not None and p < 0.05 for p in ps]) > 0.8


def test_words_and_templates_are_units_of_several_trainings_too() -> None:
    """Items that share a word would count as independent."""
    rng = np.random.default_rng(1)
    words, templates = np.repeat(np.arange(12), 5).astype(str), np.tile(np.arange(5), 12).astype(str)
    units = units_of({"word": words, "template": templates})
    values = np.repeat(rng.normal(0.0, 1.0, 12), 5) + rng.normal(0.0, 0.1, (3, 60))
    wide, _ = mean_over_trainings(values, units)
    narrow, _ = mean_over_trainings(values, INDEPENDENT)
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
    assert wide.method == "t over 3 trainings and 12 words and 5 templates"


def test_the_same_scores_have_no_test() -> None:
    """A training that changes nothing would have a p-value."""
    found, p = mean_over_trainings(np.zeros((3, 10)), INDEPENDENT)
    assert (found.value, found.low, found.high, p) == (0.0, 0.0, 0.0, None)
    unknown, p = mean_over_trainings(np.ones((3, 10)) * np.arange(3)[:, None], INDEPENDENT)
    assert (unknown.has_interval, p) == (False, None)


def test_the_spread_of_trainings_by_hand() -> None:
    """Means 1, 2 and 6: variance 7. Deviations from the mean run have variances 0, 9 and 9 over 2 items: W = 4.5."""
    spread = TrainingSpread.of([np.array([1.0, 1.0]), np.array([0.0, 4.0]), np.array([8.0, 4.0])], INDEPENDENT)
    deviations = np.array([[-2.0, -2.0], [-3.0, 1.0], [5.0, 1.0]])
    explained = float(np.mean(deviations.var(axis=1, ddof=1)[1:] / 2)) * 3 / 2
    assert (spread.between, spread.items, spread.ratio) == pytest.approx((7.0, explained, 7.0 / explained))


def test_rounding_is_no_noise_of_items() -> None:
    """Equal trainings would differ by hundreds of times what their items explain."""
    values = np.array([0.1, 0.7, 0.3])
    spread = TrainingSpread.of([values, values + 1e-16, values * (1 + 1e-16)], INDEPENDENT)
    assert (spread.items, spread.ratio) == (None, None)


def test_the_noise_of_trainings_is_added_by_hand() -> None:
    """What a run changes from item to item would be multiplied by how much trainings differ, and hide any worsening.

    Three baselines whose means vary by 4 where items explain 1; the change has a standard error of 5 over the items.
    Variance 25 + 4/3 × 3 = 29; degrees of freedom 29² / ((4/3 × 4)² / 4 + 25² / 100).
    """
    noise = TrainingNoise.pool(own := TrainingSpread(4.0, 1.0, 3), [own, TrainingSpread(2.0, 1.0, 3)], 2)
    found = noise.widen(Value(9.0, 9 - t.ppf(0.975, 100) * 5, 9 + t.ppf(0.975, 100) * 5, "t", df=100.0), 4 / 3)
    df = 29**2 / ((16 / 3) ** 2 / 4 + 625 / 100)
    assert (noise.ratio, noise.df, found.df) == (4.0, 4.0, pytest.approx(df))
    assert (found.low, found.high) == pytest.approx((9 - t.ppf(0.975, df) * 29**0.5, 9 + t.ppf(0.975, df) * 29**0.5))
    assert found.method == "t; 3 trainings"


def test_without_noise_of_items_the_trainings_alone_decide() -> None:
    """Trainings that move all items alike would have no noise at all."""
    found = TrainingNoise.pool(own := TrainingSpread(4.0, None, 3), [own], 1).widen(Value(1.0, 1.0, 1.0, "t"), 4 / 3)
    assert found.df == pytest.approx(2.0)
    assert found.high - 1 == pytest.approx(t.ppf(0.975, 2) * (4 * 4 / 3) ** 0.5)


def test_two_trainings_know_little_however_many_bias_types_there_are() -> None:
    own = TrainingSpread(1.0, 1.0, 2)
    assert [TrainingNoise.pool(own, [own] * count, count).df for count in (1, 3, 9)] == [1.0, 3.0, 4.0]
    assert TrainingNoise.pool(TrainingSpread(1.0, 1.0, 3), [own], 9).df == 18.0
