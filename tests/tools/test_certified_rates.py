"""Certified precision would leave more decisions wrong than docs/speed.md says."""

from __future__ import annotations

import pytest
from tools.certified_rates import ERRORS, main, rates

from unmask.audit.selection import UNSEEN


@pytest.mark.parametrize("name", ERRORS)
def test_decisions_are_seldom_wrong_whatever_the_errors_are(name: str) -> None:
    """At most 2% (of 40 draws at most 3, by chance)."""
    wrong, _, estimated, again, _ = rates((name, UNSEEN), 40)
    assert wrong <= 100 * 3 / 40
    assert estimated <= 100 * (UNSEEN + 0.01)
    assert again >= 80


def test_a_guard_of_64_pairs_misses_rare_large_errors() -> None:
    """Why the guard is larger: with 64 pairs about a third of the runs have a wrong decision."""
    wrong, _, estimated, again, _ = rates(("1 pair in 500 100 times", 1.0), 40)
    assert wrong >= 15
    assert estimated >= 15
    assert rates(("normal", 1.0), 10)[0] == 0
    assert again < rates(("1 pair in 500 100 times", UNSEEN), 40)[3]


def test_the_table_has_a_row_for_every_kind_of_error(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--draws", "2", "--unseen", "0.03", "1", "--only", "normal", "5%"])
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("| errors | unseen, % | any wrong, % |")
    assert [row.split(" | ")[:2] for row in rows[:4]] == [
        ["| normal", "3.0"],
        ["| normal", "100.0"],
        ["| longest 5% 30 times", "3.0"],
        ["| longest 5% 30 times", "100.0"],
    ]
