"""The answers of the gate on runs with a known worsening; docs/ci.md states how often they are wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tools.gate_rates import Scenario, main, rates

UNCHANGED = Scenario(360, 0, 4, 9, "related", 0.0, 1, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(("writers", "correlation"), [(0, 0.5), (36, 0.5), (0, 0.9)])
def test_false_alarms_are_rare_among_eighty_verdicts(writers: int, correlation: float) -> None:
    """At most 5% are promised (of 60 draws at most 8, by chance); without a correction it is far more."""
    found = rates(replace(UNCHANGED, writers=writers, correlation=correlation), 60)
    assert found["fail"] <= 100 * 8 / 60
    assert found["uncorrected"] > found["fail"]
    assert found["pass"] >= 50


@pytest.mark.slow
def test_a_planted_worsening_never_passes_and_few_pairs_cannot_tell() -> None:
    found = rates(replace(UNCHANGED, measures=1, worsening=10.0), 30)
    assert (found["pass"], found["fail"] >= 80) == (0.0, True)
    assert rates(replace(UNCHANGED, pairs=40), 30)["cannot tell"] >= 75


@pytest.mark.slow
def test_another_seed_fails_against_one_baseline_and_not_against_several() -> None:
    """A training moves every bias type by 0.3 standard deviations: one baseline does not know that, three do."""
    trained = replace(UNCHANGED, measures=1, between=0.3)
    assert rates(trained, 60)["fail"] >= 15
    assert rates(replace(trained, baselines=3), 60)["fail"] <= 100 * 8 / 60


def test_trainings_move_bias_types_together_or_one_of_them_more() -> None:
    """The false alarms of pooling would be printed for bias types that are independent and alike only."""
    alike = replace(UNCHANGED, between=0.5, together=1.0)._trained(np.random.default_rng(0))
    assert np.ptp(alike, axis=1) == pytest.approx(0.0)
    noisier = replace(UNCHANGED, between=0.5, baselines=4000, noisier=3.0)._trained(np.random.default_rng(0))
    assert noisier.std(axis=0) == pytest.approx([1.5, *[0.5] * 8], rel=0.05)


def test_the_table_has_a_row_for_every_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--draws", "2", "--pairs", "40", "--measures", "1", "2", "--types", "2", "--worsening", "0", "30"]
    main([*words, "--jobs", "2"])
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("| pairs | writers | measures | types | runs | between trainings | baselines | worsening |")
    assert [row.strip("| ").split(" | ")[:8] for row in rows[:3]] == [
        ["40", "independent", "1", "2", "related", "0", "1", "0.0"],
        ["40", "independent", "1", "2", "related", "0", "1", "30.0"],
        ["40", "independent", "2", "2", "related", "0", "1", "0.0"],
    ]
    assert len(rows) == 4
    for row in rows:
        shares = [float(cell) for cell in row.strip("| ").split(" | ")[9:12]]
        assert sum(shares) == pytest.approx(100.0, abs=0.2)
