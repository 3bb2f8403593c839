"""The answers of the gate on runs with a known worsening; docs/ci.md states how often they are wrong."""

from __future__ import annotations

import pytest
from tools.gate_rates import Scenario, main, rates


@pytest.mark.slow
@pytest.mark.parametrize("runs", ["related", "unrelated"])
def test_false_alarms_are_rare_among_ten_verdicts(runs: str) -> None:
    """At most 2.5% are promised (of 120 draws at most 8, by chance); without a correction it is more."""
    found = rates(Scenario(360, 10, runs, 0.0), 120)
    assert found["fail"] <= 100 * 8 / 120
    assert found["uncorrected"] > found["fail"]
    if runs == "related":
        assert found["pass"] >= 80


@pytest.mark.slow
def test_false_alarms_are_rare_among_pairs_of_few_writers() -> None:
    found = rates(Scenario(360, 3, "unrelated", 0.0, writers=36), 120)
    assert found["fail"] <= 100 * 8 / 120


@pytest.mark.slow
def test_a_planted_worsening_fails_and_few_pairs_cannot_tell() -> None:
    assert rates(Scenario(1508, 10, "related", 10.0), 20)["fail"] == 100
    few = rates(Scenario(30, 3, "unrelated", 0.0), 60)
    assert few["cannot tell"] >= 75
    assert few["fail"] <= 8


def test_the_table_has_a_row_for_every_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--draws", "2", "--pairs", "40", "--verdicts", "1", "2", "--worsening", "0", "30", "--jobs", "2"])
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("| pairs | writers | verdicts | runs | worsening | pass, % |")
    assert [row.split(" | ")[:5] for row in rows[:3]] == [
        ["| 40", "independent", "1", "related", "0.0"],
        ["| 40", "independent", "1", "related", "30.0"],
        ["| 40", "independent", "1", "unrelated", "0.0"],
    ]
    assert len(rows) == 8
    for row in rows:
        shares = [float(cell) for cell in row.strip("| ").split(" | ")[5:8]]
        assert sum(shares) == 100.0
