"""Lines and correlations: against formulas written out, scipy, and cases that bear no number."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.regression.linear_model import OLS

from unmask.core.errors import StatsError
from unmask.core.estimate import Value
from unmask.core.types import Floats
from unmask.stats import estimates
from unmask.stats.power import standard_error
from unmask.stats.regression import PropertyRegression, correlation, fit_line, regress_on_property
from unmask.stats.units import Units, units_of

from .tables import DATA, measure, normal, only, row, unscored

X = np.array([-2.0, -1.0, -0.5, 0.0, 0.3, 0.7, 1.5, 2.0, 2.5, 4.0])
Y = np.array([-1.2, -2.5, 0.4, 0.1, 1.9, -0.3, 2.2, 0.8, 4.5, 1.1])


def reference_line(x: list[float], y: list[float]) -> dict[str, tuple[float, float]]:
    """Slope and intercept with their HC3 standard errors (MacKinnon & White 1985), sums written out."""
    n, mid_x, mid_y = len(x), sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mid_x) ** 2 for a in x)
    slope = sum((a - mid_x) * (b - mid_y) for a, b in zip(x, y, strict=True)) / spread
    intercept = mid_y - slope * mid_x
    slope_error = intercept_error = 0.0
    for a, b in zip(x, y, strict=True):
        pull = (a - mid_x) / spread  # what this point gives to the slope, per unit of y
        leverage = 1 / n + (a - mid_x) ** 2 / spread
        grown = (b - intercept - slope * a) / (1 - leverage)
        slope_error += (pull * grown) ** 2
        intercept_error += ((1 / n - mid_x * pull) * grown) ** 2
    return {"slope": (slope, math.sqrt(slope_error)), "intercept": (intercept, math.sqrt(intercept_error))}


def test_a_line_is_least_squares_with_hc3_errors() -> None:
    found, expected = fit_line(X, Y), reference_line(X.tolist(), Y.tolist())
    t = stats.t.ppf(0.975, X.size - 2)
    for fitted, (value, error) in ((found.slope, expected["slope"]), (found.intercept, expected["intercept"])):
        assert fitted.value == pytest.approx(value)
        assert (fitted.low, fitted.high) == pytest.approx((value - t * error, value + t * error))
        assert fitted.method == "HC3"
    slope, error = expected["slope"]
    assert found.p == pytest.approx(2 * stats.t.sf(abs(slope / error), X.size - 2))
    assert found.n == 10


def test_without_a_spread_of_x_at_zero_the_intercept_is_the_mean() -> None:
    found = fit_line(np.zeros(10), Y)
    assert found.intercept.value == pytest.approx(Y.mean())
    assert found.intercept.low < Y.mean() < found.intercept.high
    assert math.isnan(found.slope.value)
    assert found.p is None


def test_what_bears_no_line_says_so() -> None:
    nothing, elsewhere, two = (fit_line(np.empty(0), np.empty(0)), fit_line(np.ones(4), Y[:4]), fit_line(X[:2], Y[:2]))
    assert nothing.n == 0
    assert math.isnan(nothing.intercept.value)
    assert nothing.intercept.method == "none: nothing scored"
    assert math.isnan(elsewhere.intercept.value)  # equal x elsewhere says nothing about zero
    assert two.slope.value == pytest.approx((Y[1] - Y[0]) / (X[1] - X[0]))
    assert math.isnan(two.slope.low)
    assert "too few" in two.slope.method


def test_one_point_that_decides_the_line_leaves_no_interval() -> None:
    found = fit_line(np.array([0.0, 0.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0, 9.0]))
    assert found.slope.value == pytest.approx(7.0)
    assert math.isnan(found.slope.low)
    assert found.p is None


def test_equal_values_get_no_interval_of_no_width() -> None:
    found = fit_line(X, np.full(10, 100.0))
    assert found.intercept.value == pytest.approx(100.0)
    assert math.isnan(found.intercept.low)
    assert found.intercept.method.startswith("no spread")


def test_correlations_are_scipys_and_hold_their_value() -> None:
    pearson = correlation([X], [Y])
    spearman = correlation([X], [Y], ranks=True)
    assert pearson.value == pytest.approx(stats.pearsonr(X, Y).statistic)
    assert spearman.value == pytest.approx(stats.spearmanr(X, Y).statistic)
    for found in (pearson, spearman):
        assert -1 <= found.low <= found.value <= found.high <= 1
        assert found.high > found.low


def test_the_interval_of_a_correlation_is_the_jackknifes_on_fishers_z() -> None:
    z = [math.atanh(np.corrcoef(np.delete(X, place), np.delete(Y, place))[0, 1]) for place in range(10)]
    error = math.sqrt(9 / 10 * sum((each - sum(z) / 10) ** 2 for each in z))
    middle = math.atanh(np.corrcoef(X, Y)[0, 1])
    found = correlation([X], [Y])
    reach = 2.306004 * error  # Student's t with 8 degrees of freedom
    assert (found.low, found.high) == pytest.approx((math.tanh(middle - reach), math.tanh(middle + reach)), abs=1e-6)
    assert found.method == "jackknife, Fisher's z"


def test_a_correlation_does_not_depend_on_units_of_measurement_or_on_where_zero_is() -> None:
    found, moved = correlation([X], [Y]), correlation([X * 1e-9 + 1e-3], [Y * 1e6 + 1e9])
    assert (moved.value, moved.low, moved.high) == pytest.approx((found.value, found.low, found.high), abs=1e-5)


def test_columns_are_laid_end_to_end_and_units_left_out_whole() -> None:
    """With every unit doubled the value stays and so does the interval: there is no more to know."""
    once = correlation([X], [Y])
    twice = correlation([X, X], [Y, Y])
    mixed = correlation([X, Y], [Y, X])
    assert twice.value == pytest.approx(once.value)
    assert (twice.low, twice.high) == pytest.approx((once.low, once.high))
    both = np.concatenate([X, Y]), np.concatenate([Y, X])
    assert mixed.value == pytest.approx(stats.pearsonr(*both).statistic)


def test_one_unit_alone_may_make_the_correlation() -> None:
    x = np.array([0.0] * 9 + [1.0])
    found = correlation([x], [Y])
    assert found.value == pytest.approx(stats.pearsonr(x, Y).statistic)
    assert math.isnan(found.low)
    assert "too few" in found.method


@pytest.mark.parametrize(("x", "n"), [(np.ones(6), 6), (np.empty(0), 0), (np.array([3.0]), 1)])
def test_no_spread_has_no_correlation(x: Floats, n: int) -> None:
    found = correlation([x], [Y[:n]])
    assert math.isnan(found.value)
    assert math.isnan(found.low)


def test_pairs_are_explained_by_their_property() -> None:
    """Differences are 1 + 2x exactly; two pairs lack the property, one is unscored, one counts as lost."""
    sss = measure(empty_span_loses=True)
    by = {f"{place:05}": float(x) for place, x in enumerate(X[:8])}
    rows = [row(place, 1 + 2 * float(x)) for place, x in enumerate(X[:7])]
    rows += [unscored(7, "empty span: nothing"), row(8, -9.0), row(9, 9.0)]
    found = regress_on_property(sss, rows, by, data=DATA, seed=0)
    assert found.line.n == 7
    assert found.line.slope.value == pytest.approx(2.0)
    assert found.line.intercept.value == pytest.approx(1.0)
    assert found.r.value == pytest.approx(1.0)
    assert found.mean.value == pytest.approx(np.mean(1 + 2 * X[:7]))
    assert found.score is not None
    assert found.score.n == 8
    won = [1 + 2 * x > 0 for x in X[:7].tolist()] + [False]
    assert found.score.value == pytest.approx(100 * sum(won) / 8)
    assert found.wins is not None
    expected = reference_line(X[:8].tolist(), [100.0 * one for one in won])
    assert found.wins.intercept.value == pytest.approx(expected["intercept"][0])


def test_of_a_magnitude_sizes_follow_sizes() -> None:
    """|difference| = 3|x| whatever the signs: no line through signed numbers would show it."""
    sld = measure("magnitude")
    signs = (1, -1, -1, 1, -1, 1)
    rows = [row(place, sign * 3.0 * (place + 1)) for place, sign in enumerate(signs)]
    by = {
        f"{place:05}": float(-sign * (place + 1) if place % 2 else sign * (place + 1))
        for place, sign in enumerate(signs)
    }
    found = regress_on_property(sld, rows, by, data=DATA, seed=0)
    assert found.line.slope.value == pytest.approx(3.0)
    assert found.r_squared.value == pytest.approx(1.0)
    assert found.score is None
    assert found.wins is None


def test_r_squared_folds_the_interval_of_r() -> None:
    cps = measure()
    noise = [0.5, -1.0, 2.0, -0.2, -1.5, 1.0, 0.1, -0.6, 1.2, -0.9]
    found = regress_on_property(
        cps,
        [row(i, one) for i, one in enumerate(noise)],
        {f"{i:05}": float(x) for i, x in enumerate(X)},
        data=DATA,
        seed=0,
    )
    assert found.r.low < 0 < found.r.high
    assert found.r_squared.low == 0
    assert found.r_squared.high == pytest.approx(max(found.r.low**2, found.r.high**2))
    assert found.r_squared.value == pytest.approx(stats.pearsonr(X, noise).statistic ** 2)


def test_no_rows_are_an_error() -> None:
    with pytest.raises(StatsError, match="nothing to estimate"):
        regress_on_property(measure(), [], {}, data=DATA, seed=0)


def test_a_few_units_have_a_correlation_without_an_interval() -> None:
    for n, method in ((2, "too few: 2 items"), (3, "too few: 3 items")):
        found = correlation([X[:n]], [Y[:n]])
        assert found.value == pytest.approx(np.corrcoef(X[:n], Y[:n])[0, 1])
        assert math.isnan(found.low)
        assert math.isnan(found.high)
        assert found.method == method


@pytest.mark.parametrize(
    ("r", "squared"),
    [
        ((0.5, 0.2, 0.8), (0.25, 0.04, 0.64)),
        ((-0.5, -0.8, -0.2), (0.25, 0.04, 0.64)),
        ((0.1, -0.2, 0.5), (0.01, 0.0, 0.25)),
    ],
)
def test_r_squared_by_hand(r: tuple[float, float, float], squared: tuple[float, float, float]) -> None:
    none = fit_line(np.empty(0), np.empty(0))
    found = PropertyRegression(none, Value(*r, "bca"), none.slope, None, None).r_squared
    assert (found.value, found.low, found.high) == pytest.approx(squared)
    assert found.method == "bca"


def test_three_points_have_a_line_with_an_interval() -> None:
    found = fit_line(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0]))
    assert found.slope.value == pytest.approx(1.5)
    assert found.slope.low < 1.5 < found.slope.high
    assert found.p is not None


def test_why_a_point_has_no_interval() -> None:
    one, two = fit_line(np.zeros(1), np.array([3.0])), fit_line(np.zeros(2), np.array([3.0, 3.0]))
    assert [one.intercept.value, two.intercept.value] == pytest.approx([3.0, 3.0])
    assert one.intercept.method.startswith("too few: 1 items")
    assert two.intercept.method == "no spread: 2 items alike"


def test_an_infinite_difference_counts_nowhere() -> None:
    rows = [row(i, 1 + 2 * float(x)) for i, x in enumerate(X)] + [row(10, math.inf)]
    by = {f"{i:05}": float(x) for i, x in enumerate([*X, 5.0])}
    found = regress_on_property(measure(), rows, by, data=DATA, seed=0)
    assert (found.line.n, found.line.slope.value) == (10, pytest.approx(2.0))
    assert found.score is not None
    assert (found.score.n, found.score.unscored, found.score.group) == (10, 1, "all")


def test_the_mean_has_the_interval_an_audit_gives_it() -> None:
    rows = [row(i, value) for i, value in enumerate(normal(40, 3))]
    by = {one.item: float(i) for i, one in enumerate(rows)}
    found = regress_on_property(measure(), rows, by, data=DATA, seed=0).mean
    audited = only(estimates(measure(), rows, data=DATA, rng_seed=0), "mean-difference")
    assert (found.value, found.low, found.high) == (audited.value, audited.low, audited.high)


# ------------------------------------------------------------------------------------- items that share units


def of_writers(*sizes: int) -> Units:
    return units_of({"writer": np.repeat([f"w{number:03}" for number in range(len(sizes))], sizes)})


def test_a_slope_over_writers_is_near_the_clustered_one_of_statsmodels() -> None:
    """40 writers of ten pairs with an effect of their own: three times the variance of independent pairs, and more."""
    rng = np.random.default_rng(2)
    writer = np.repeat(np.arange(40), 10)
    x = rng.normal(size=40)[writer] + rng.normal(size=400)
    y = 0.5 * x + rng.normal(size=40)[writer] + rng.normal(size=400)
    found, alone = fit_line(x, y, of_writers(*(10,) * 40)), fit_line(x, y)
    expected = OLS(y, np.column_stack([np.ones(400), x])).fit(
        cov_type="cluster", cov_kwds={"groups": writer}, use_t=True
    )
    assert found.slope.value == pytest.approx(alone.slope.value)
    assert standard_error(found.slope) == pytest.approx(float(expected.bse[1]), rel=0.03)
    assert standard_error(found.intercept) == pytest.approx(float(expected.bse[0]), rel=0.03)
    assert found.slope.method == "HC3 over 40 writers"
    assert found.slope.unit == "writer"
    assert found.intercept.design_effect is not None
    assert found.intercept.design_effect > 3
    assert found.p is not None
    assert found.p == pytest.approx(float(expected.pvalues[1]), rel=0.5)


def test_an_intercept_over_writers_by_hand() -> None:
    # x is 0 throughout, so the intercept is the mean of 1 1 | 0 0 | 2 2, and its linearised values are 1 ± d · 6/5 of
    # d = 0, −1, 1 (the leverage of a pair is 1/6). Sums over writers: 0, −2.4, 2.4; CR2: (2 · 2.4²) / (1 − 2/6) / 36
    line = fit_line(np.zeros(6), np.array([1.0, 1, 0, 0, 2, 2]), of_writers(2, 2, 2))
    assert line.intercept.value == pytest.approx(1.0)
    assert line.intercept.df == pytest.approx(2.0)
    assert standard_error(line.intercept) == pytest.approx(math.sqrt(2 * 2.4**2 / (2 / 3) / 36))


def test_copies_of_a_pair_add_nothing_to_a_correlation() -> None:
    """Every pair three times, as the pairs of one writer: the error is that of the pairs once."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=40)
    y = 0.6 * x + rng.normal(size=40)
    once, copies = correlation([x], [y]), [np.repeat(column, 3) for column in (x, y)]
    clustered = correlation([copies[0]], [copies[1]], units=of_writers(*(3,) * 40))
    naive = correlation([copies[0]], [copies[1]])
    assert clustered.value == pytest.approx(once.value)
    assert (clustered.low, clustered.high) == pytest.approx((once.low, once.high), abs=0.005)
    assert naive.high - naive.low < 0.7 * (once.high - once.low)
    assert clustered.design_effect is not None
    assert clustered.design_effect > 2.5
    assert clustered.method == "jackknife, Fisher's z over 40 writers"


def test_three_writers_are_too_few_for_a_correlation() -> None:
    rng = np.random.default_rng(4)
    found = correlation([rng.normal(size=30)], [rng.normal(size=30)], units=of_writers(10, 10, 10))
    assert not found.has_interval
    assert found.method == "too few: 3 writers"


def test_a_regression_on_a_property_is_over_the_writers() -> None:
    pairs = [replace(row(number, math.sin(number)), groups={"writer": f"{number // 4}"}) for number in range(40)]
    by = {each.item: float(number % 7) for number, each in enumerate(pairs)}
    found = regress_on_property(measure(), pairs, by, data=DATA, seed=0)
    assert found.wins is not None
    assert {found.line.slope.unit, found.r.unit, found.mean.unit, found.wins.intercept.unit} == {"writer"}
