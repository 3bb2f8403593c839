"""McNemar's test against statsmodels and scipy's binomial test, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar

from unmask.core.errors import StatsError
from unmask.stats.paired import ContingencyTable, cross_tabulate, mcnemar_p


def test_crossing_counts_each_of_the_four_cases() -> None:
    first = np.array([True, True, True, False, False, False, False])
    second = np.array([True, True, False, True, True, True, False])
    found = cross_tabulate(first, second)
    assert found == ContingencyTable(both=2, first=1, second=3, neither=1)
    assert (found.n, found.disagreements) == (7, 4)


def test_crossing_refuses_other_things() -> None:
    with pytest.raises(StatsError, match="3 predictions against 2"):
        cross_tabulate(np.ones(3, dtype=bool), np.ones(2, dtype=bool))


@pytest.mark.parametrize(("first", "second"), [(0, 5), (3, 9), (12, 12), (1, 23), (5, 20), (300, 280)])
def test_the_test_is_the_exact_one_of_statsmodels(first: int, second: int) -> None:
    expected = mcnemar([[40, first], [second, 7]], exact=True).pvalue
    assert mcnemar_p(ContingencyTable(40, first, second, 7)) == pytest.approx(expected, rel=1e-9)
    assert mcnemar_p(ContingencyTable(40, first, second, 7)) == pytest.approx(binomtest(first, first + second).pvalue)


def test_what_agrees_plays_no_part_and_which_comes_first_neither() -> None:
    assert mcnemar_p(ContingencyTable(0, 4, 10, 0)) == mcnemar_p(ContingencyTable(999, 4, 10, 5))
    assert mcnemar_p(ContingencyTable(0, 4, 10, 0)) == pytest.approx(mcnemar_p(ContingencyTable(0, 10, 4, 0)))


def test_without_disagreement_there_is_no_test() -> None:
    assert mcnemar_p(ContingencyTable(10, 0, 0, 10)) is None
    assert mcnemar_p(ContingencyTable(0, 0, 0, 0)) is None


def test_crossing_tells_neither_from_either() -> None:
    first = np.array([True, True, False, False, False, False])
    second = np.array([False, False, True, False, False, False])
    assert cross_tabulate(first, second) == ContingencyTable(both=0, first=2, second=1, neither=3)
