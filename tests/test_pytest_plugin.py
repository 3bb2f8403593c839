"""The verdicts of the gate as tests: a project's pytest would pass with a model that is worse."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from audit.gated import BROKEN, pairs, save

pytest_plugins = ["pytester"]
PLUGIN = ("-p", "no:unmask", "-p", "unmask.pytest_plugin", "-p", "no:cacheprovider")  # whether it is installed or not


@pytest.fixture
def runs(pytester: pytest.Pytester) -> Path:
    """Four results, and a project with a test of its own."""
    folder = pytester.path
    save(folder / "fair", [*pairs(210, 400), *pairs(220, 400, "cps")])
    save(folder / "unfair", [*pairs(310, 400), *pairs(220, 400, "cps")])
    save(folder / "part", pairs(210, 400))
    save(folder / "few", pairs(6, 12, "aul", "few"))
    save(folder / "fewer", pairs(7, 12, "aul", "few"), checks=[BROKEN])
    pytester.makepyfile(test_own="def test_own():\n    pass\n")
    return folder


def test_every_verdict_is_a_test_beside_those_of_the_project(runs: Path, pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_inprocess(*PLUGIN, "-v", "--unmask-run", "unfair", "--unmask-baseline", "fair")
    done.assert_outcomes(passed=3, failed=2)
    done.stdout.fnmatch_lines(["unmask::own aul bias-score FAILED*", "unmask::own cps bias-score PASSED*"])
    done.stdout.fnmatch_lines(["FAIL own aul bias-score: 52.5 → 77.5, +25.0 (*"])
    done.stdout.fnmatch_lines(["FAIL: worse in 2 of 4 verdicts. *"])
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.no_fnmatch_line("*Traceback*")


def test_a_run_that_is_no_worse_passes(runs: Path, pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_inprocess(*PLUGIN, "--unmask-run", "fair", "--unmask-baseline", "fair")
    done.assert_outcomes(passed=5)
    done.stdout.fnmatch_lines(["PASS: unchanged in 4 verdicts"])


def test_what_is_missing_and_what_cannot_be_told_fails(runs: Path, pytester: pytest.Pytester) -> None:
    words = ("--unmask-run", "part", "--unmask-baseline", "fair")
    pytester.runpytest_inprocess(*PLUGIN, *words).assert_outcomes(passed=3, failed=1)
    pytester.runpytest_inprocess(*PLUGIN, *words, "--unmask-allow-missing").assert_outcomes(passed=3)
    pytester.runpytest_inprocess(*PLUGIN, *words, "--unmask-measure", "aul").assert_outcomes(passed=3)
    words = ("--unmask-run", "fewer", "--unmask-baseline", "few")
    pytester.runpytest_inprocess(*PLUGIN, *words).assert_outcomes(passed=1, failed=3)  # no answers, and a failed check
    more = ("--unmask-margin", "bias-score=90")
    pytester.runpytest_inprocess(*PLUGIN, *words, *more).assert_outcomes(passed=3, failed=1)


def test_the_verdicts_are_selected_like_other_tests(runs: Path, pytester: pytest.Pytester) -> None:
    words = ("--unmask-run", "unfair", "--unmask-max", "bias-score=60")
    done = pytester.runpytest_inprocess(*PLUGIN, *words, "-k", "cps", "--junit-xml", "out.xml")
    done.assert_outcomes(passed=1, deselected=2)
    assert 'name="own cps bias-score limit"' in Path("out.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--unmask-baseline", "fair"), "--unmask-baseline needs --unmask-run RUN"),
     (("--unmask-run", "fair"), "unmask: there is nothing to compare with"),
     (("--unmask-run", "gone", "--unmask-baseline", "fair"), "unmask: no result.json in gone"),
     (("--unmask-run", "fair", "--unmask-max", "x"), "unmask: max is 'x', expected a number")],
)  # fmt: skip
def test_bad_input_is_one_line(words: tuple[str, ...], message: str, runs: Path, pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_inprocess(*PLUGIN, *words)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"ERROR: {message}*"])


def test_without_its_options_it_does_nothing(runs: Path, pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_inprocess(*PLUGIN)
    done.assert_outcomes(passed=1)
    done.stdout.no_fnmatch_line("*unmask*gate*")


def test_pytest_finds_it_by_its_entry_point() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert hasattr(import_module(project["entry-points"]["pytest11"]["unmask"]), "pytest_addoption")
