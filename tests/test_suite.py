"""The suite itself: a clean clone runs it whole; what is left out is counted, never skipped in silence."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(path for path in TESTS.rglob("*.py") if path != Path(__file__))
SKIPS = {"skip", "skipif", "importorskip", "xfail"}


@pytest.fixture
def little(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A suite of eight tests under this suite's conftest, on a machine without a browser and TeX."""
    folder = pytester.path
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -q -p no:cacheprovider\n", encoding="utf-8")
    (folder / "conftest.py").write_text(
        f"import sys; sys.path.insert(0, {str(TESTS)!r}); "
        "import importlib.util as u; s = u.spec_from_file_location('suite', "
        f"{str(TESTS / 'conftest.py')!r}); m = u.module_from_spec(s); s.loader.exec_module(m); "
        "globals().update({k: v for k, v in vars(m).items() if not k.startswith('__')})\n",
        encoding="utf-8",
    )
    (folder / "test_little.py").write_text(
        "import pytest\n"
        "def test_plain(): pass\n"
        "def test_files(published): assert published.is_dir()\n"
        "def test_either(data_dir): assert data_dir.is_dir()\n"
        "def test_page(chromium): assert chromium\n"
        "def test_table(pdflatex): assert pdflatex\n"
        "@pytest.mark.skip(reason='no GPU')\n"
        "def test_gpu(): pass\n"
        "def test_lazy(): pytest.skip('not today')\n",
        encoding="utf-8",
    )
    return pytester


def test_what_a_machine_lacks_is_deselected_and_said_in_one_line_each(little: pytest.Pytester) -> None:
    done = little.runpytest_inprocess()
    assert done.ret == 0
    done.assert_outcomes(passed=2, skipped=2, deselected=4)
    printed = done.stdout.str()
    assert "2 tests compare with published files and were left out; to run them: make published" in printed
    assert "1 tests drive a browser and were left out" in printed
    assert "1 tests compile LaTeX and were left out" in printed


def test_with_the_variable_the_published_files_are_read(
    little: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNMASK_DATA_DIR", str(tmp_path))
    done = little.runpytest_inprocess("-m", "needs_data")
    done.assert_outcomes(passed=2, deselected=6)
    assert "were left out" not in done.stdout.str()
    monkeypatch.setenv("UNMASK_DATA_DIR", str(tmp_path / "nowhere"))
    wrong = little.runpytest_inprocess()
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
    assert "is not a folder" in wrong.stderr.str()


def test_the_gate_refuses_skips_but_for_a_gpu(little: pytest.Pytester) -> None:
    refused = little.runpytest_inprocess("--no-skips")
    assert refused.ret == pytest.ExitCode.TESTS_FAILED
    printed = refused.stdout.str()
    assert "1 browser tests, no Chromium" in printed
    assert "1 LaTeX tests, no pdflatex" in printed
    assert "test_little.py::test_lazy: Skipped: not today" in printed
    assert "no GPU" not in printed


def test_a_tier_that_takes_too_much_processor_time_fails(little: pytest.Pytester) -> None:
    refused = little.runpytest_inprocess("--most-processor-time", "0.001")
    assert refused.ret == pytest.ExitCode.TESTS_FAILED
    assert "this tier takes more processor time than it may" in refused.stdout.str()
    assert little.runpytest_inprocess("--most-processor-time", "1e6").ret == 0


def test_no_test_skips_itself_or_looks_beside_the_checkout() -> None:
    """A skip hides a promise; `tests/models/test_gpu.py` alone may, for want of a GPU."""
    offenders = []
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        names = {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
        allowed = {"skipif"} if path.name == "test_gpu.py" else set()
        if names & SKIPS - allowed or "shared/data" in text or '/ "shared"' in text:
            offenders.append(str(path.relative_to(TESTS)))
    assert offenders == []
