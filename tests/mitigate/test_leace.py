"""LEACE: the covariance with gender is zero, a probe is at chance, and no smaller change does it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from tests.mitigate.test_erase import SIZE, planted_states

from unmask.core.errors import StatsError
from unmask.mitigate.erase import erase_states, probe_accuracy, remove_subspace, split_by_word
from unmask.mitigate.methods.inlp import nullspace
from unmask.mitigate.methods.leace import erasing_map, leace_eraser


def apply(tensors: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray:
    return states - ((states - tensors["mean"]) @ tensors["right"].T) @ tensors["left"]


def test_the_map_is_that_of_the_authors_code() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it compiles a function in a deprecated way
        from concept_erasure import LeaceEraser
    states, genders = planted_states().both()
    covariance = np.cov(states.T, bias=True)
    ours = apply(erasing_map(states, genders.astype(float), covariance), states)
    theirs = LeaceEraser.fit(
        torch.from_numpy(states), torch.from_numpy(genders), shrinkage=False, constrain_cov_trace=False, svd_tol=1e-9
    )(torch.from_numpy(states))
    np.testing.assert_allclose(ours, theirs.numpy(), atol=1e-8)


@pytest.mark.parametrize("rows", [SIZE - 4, 400])
def test_the_covariance_with_gender_is_zero(rows: int) -> None:
    """Also with fewer states than dimensions, where the covariance of the states is not known."""
    gendered = planted_states().take(range(rows // 2))
    states, genders = gendered.both()
    erased = erase_states(leace_eraser(gendered, -1), states)
    cross = (erased - erased.mean(0)).T @ (genders - genders.mean())
    assert np.abs((states - states.mean(0)).T @ (genders - genders.mean())).max() > 1
    assert np.abs(cross).max() < 1e-6 * len(states)
    np.testing.assert_allclose(erased.mean(0), states.mean(0), atol=1e-6)  # the mean stays


def test_a_new_probe_is_at_chance() -> None:
    fit, test = split_by_word(planted_states())
    eraser = leace_eraser(fit, -1)
    assert probe_accuracy(fit, test, np.asarray).value > 95
    after = probe_accuracy(fit, test, lambda states: erase_states(eraser, states))
    assert after.value == pytest.approx(50, abs=10)


def test_it_changes_the_states_less_than_inlp() -> None:
    gendered = planted_states()
    states, _ = gendered.both()
    leace = np.linalg.norm(erase_states(leace_eraser(gendered, -1), states) - states)
    inlp = np.linalg.norm(remove_subspace(states, nullspace(gendered).removed) - states)
    assert leace < inlp


def test_erasing_twice_changes_nothing_more() -> None:
    states, _ = planted_states().both()
    eraser = leace_eraser(planted_states(), -1)
    once = erase_states(eraser, states)
    np.testing.assert_allclose(erase_states(eraser, once), once, atol=1e-8)


def test_states_without_a_difference_are_refused() -> None:
    with pytest.raises(StatsError, match="nothing to erase"):
        erasing_map(np.ones((8, 3)), np.repeat([0.0, 1.0], 4))
