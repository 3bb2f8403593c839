"""Without a fair sample and a guard, pairs that low precision decides otherwise are left in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from unmask.audit import selection
from unmask.audit.selection import Differences, Selection, guard_size, select, unseen_risk
from unmask.core.types import Floats

PAIRS, ASKED = 1_000, 256
LENGTHS = np.arange(PAIRS, dtype=float)


class Errors:
    """An oracle that knows the errors of each measure, and what was scored again."""

    def __init__(self, *errors: Floats) -> None:
        self.errors = errors
        self.calls: list[list[set[int]]] = []

    def __call__(self, chosen: Sequence[np.ndarray]) -> list[Floats]:
        self.calls.append([set(pairs.tolist()) for pairs in chosen])
        return [errors[pairs] for errors, pairs in zip(self.errors, chosen, strict=True)]

    def scored(self, measure: int = 0) -> set[int]:
        """All pairs of a measure that were scored again."""
        parts = [call[measure] for call in self.calls]
        assert sum(map(len, parts)) == len(set().union(*parts)), "a pair was scored again twice"
        return set().union(*parts)


def drawn(seed: int = 0) -> tuple[Floats, Floats]:
    """Differences and normal errors."""
    rng = np.random.default_rng(seed)
    return rng.laplace(0, 60, PAIRS), rng.normal(size=PAIRS)


def choose(*columns: tuple[Floats, Floats]) -> tuple[list[Selection], Errors]:
    """Select with the gaps and errors of each measure."""
    oracle = Errors(*(errors for _, errors in columns))
    given = [Differences(np.abs(gaps), np.ones(PAIRS)) for gaps, _ in columns]
    return select(given, LENGTHS, ASKED, part=1.0, rng=np.random.default_rng(1), oracle=oracle), oracle


def test_half_of_the_sample_is_in_proportion_to_the_lengths_and_the_longest_have_their_own() -> None:
    _, oracle = choose(drawn())
    sample = np.array(sorted(oracle.calls[0][0]))
    assert sample.size == ASKED
    parts = np.histogram(sample, np.linspace(0, PAIRS, 9))[0]
    assert (parts >= ASKED // 2 // 8).all()  # one of each of 128 lengths
    assert (sample >= 0.9 * PAIRS).sum() >= ASKED // 8 + ASKED // 2 // 10


def test_the_rest_of_the_sample_is_near_zero() -> None:
    gaps, errors = drawn()
    _, oracle = choose((gaps, errors))
    nearest = set(np.argsort(np.abs(gaps))[: ASKED // 2 - ASKED // 8].tolist())
    assert nearest <= oracle.calls[0][0]


def test_larger_errors_of_the_longest_pairs_concern_these_alone() -> None:
    gaps, errors = drawn()
    longest = LENGTHS >= 0.9 * PAIRS
    (plain,), _ = choose((gaps, errors))
    (chosen,), _ = choose((gaps, np.where(longest, 30 * errors, errors)))
    assert longest[plain.left].sum() > 0
    assert longest[chosen.left].sum() == 0
    assert chosen.left.size > 0.8 * plain.left.size


@pytest.mark.parametrize("step", [0, 1])
def test_one_error_beyond_the_fit_scores_everything_again(step: int) -> None:
    """In the sample, near zero or in the guard: no pair left can be trusted."""
    gaps, errors = drawn()
    (chosen,), oracle = choose((gaps, errors))
    assert not chosen.fell_back
    large = errors.copy()
    large[max(oracle.calls[step][0], key=lambda pair: abs(gaps[pair]))] = 1_000
    (chosen,), oracle = choose((gaps, large))
    assert chosen.fell_back
    assert oracle.scored() == set(range(PAIRS))
    assert (chosen.left.size, chosen.estimate, chosen.unseen) == (0, 0.0, 0.0)


def test_measures_share_the_sample_and_fall_back_one_by_one() -> None:
    gaps, errors = drawn()
    large = errors.copy()
    large[::50] = 1_000
    (first, second), oracle = choose((gaps, errors), (gaps, large))
    assert (first.fell_back, second.fell_back) == (False, True)
    assert oracle.calls[0][0] == oracle.calls[0][1]
    assert oracle.scored(0) == set(range(PAIRS)) - set(first.left.tolist())
    assert oracle.scored(1) == set(range(PAIRS))


def test_what_has_no_difference_is_scored_again_and_what_is_absent_is_not() -> None:
    gaps, errors = drawn()
    given = Differences(np.abs(gaps), np.ones(PAIRS))
    given.gaps[[5, 6]] = -np.inf, np.nan
    oracle = Errors(np.where(LENGTHS == 5, np.nan, errors))
    (chosen,) = select([given], LENGTHS, ASKED, part=1.0, rng=np.random.default_rng(1), oracle=oracle)
    assert 5 in oracle.scored()
    assert 6 not in oracle.scored()
    assert 6 not in chosen.left


def test_a_measure_with_no_pair_in_this_precision_selects_nothing() -> None:
    """A second step has none where the first scored everything again."""
    gaps, errors = drawn()
    none = Differences(np.full(PAIRS, np.nan), np.ones(PAIRS))
    some = Differences(np.abs(gaps), np.ones(PAIRS))
    for columns in ([none], [some, none]):
        oracle = Errors(*[errors] * len(columns))
        selections = select(columns, LENGTHS, ASKED, part=1.0, rng=np.random.default_rng(1), oracle=oracle)
        assert (selections[-1].left.size, selections[-1].estimate, selections[-1].unseen) == (0, 0.0, 0.0)
        assert oracle.scored(len(columns) - 1) == set()


def test_too_few_errors_for_a_fit_score_everything_again() -> None:
    gaps, errors = drawn()
    oracle = Errors(errors)
    given = [Differences(np.abs(gaps), np.ones(PAIRS))]
    (chosen,) = select(given, LENGTHS, 24, part=1.0, rng=np.random.default_rng(1), oracle=oracle)
    assert chosen.left.size == 0


def test_the_risk_of_unseen_errors_is_the_largest_over_all_shares() -> None:
    shares = np.linspace(1e-5, 0.3, 30_000)
    for left, clean in ((200, 800), (900, 100), (1_200, 192), (10, 1_000)):
        by_share = (1 - shares) ** clean * (1 - (1 - shares / 2) ** left)
        assert unseen_risk(left, clean) == pytest.approx(by_share.max(), rel=0.03)
    assert (unseen_risk(0, 10), unseen_risk(10, 0)) == (0.0, 1.0)


def test_the_guard_is_as_large_as_the_limit_asks() -> None:
    size = guard_size(1_000, 100, 0.05)
    assert unseen_risk(1_000 - size, 100 + size) <= 0.05 < unseen_risk(1_000 - size + 1, 100 + size - 1)
    assert guard_size(1_000, 100, 1.0) == selection.GUARD
    assert guard_size(10, 100, 1.0) == 10
    assert guard_size(0, 100, 0.05) == 0
