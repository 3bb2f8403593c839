"""The intervals of every kind of estimate contain the truth about as often as they say."""

from __future__ import annotations

import pytest
from tools.coverage import cases, coverage, main


def test_there_is_a_case_of_every_kind() -> None:
    kinds = {case.kind for case in cases()}
    assert kinds >= {
        "share",
        "mean",
        "words × templates",
        "ss",
        "icat",
        "change of a share",
        "ILPS",
        "correlation",
        "AUC",
    }
    assert len({(case.kind, case.data, case.truth) for case in cases()}) == len(cases())


def test_too_few_words_have_no_interval() -> None:
    case = next(each for each in cases() if each.data.startswith("2 × 17"))
    assert coverage(case, 3)[-1] == 100.0


def test_the_table_does_not_depend_on_the_number_of_processes(capsys: pytest.CaptureFixture[str]) -> None:
    tables = []
    for jobs in ("1", "2"):
        main(["--draws", "3", "--only", "share 10 pairs", "--jobs", jobs])
        tables.append(capsys.readouterr().out)
    assert tables[0] == tables[1]
    assert len(tables[0].splitlines()) == 4


def test_a_method_that_is_not_used_fails_as_by_hand() -> None:
    """Of 30 pairs with 2% flips none flips in 0.98³⁰ = 54.5% of draws; Student's interval is then 0 to 0, not 2."""
    every = cases(of_rejected=True)
    assert not {case.kind for case in every} & {case.kind for case in cases()}
    rare = next(each for each in every if each.data == "30 pairs, flips 0.02 and 0")
    _, _, truth, held, *_ = coverage(rare, 400)
    assert truth == 2.0
    assert held == pytest.approx(45.5, abs=8)


@pytest.mark.slow
def test_a_reduced_run_covers() -> None:
    """Of 40 draws 95% are 38 ± 1.4: each case at least 31, all of them together 93 to 98%."""
    rows = [coverage(case, 40) for case in cases() if "log-normal" not in case.data and "172" not in case.data]
    held = [row[3] for row in rows if row[-1] != 100.0]
    assert min(held) >= 77.5
    assert 93 <= sum(held) / len(held) <= 98
