"""The suite itself: a clean clone runs it whole; what is left out is counted, never skipped in silence."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FILES = sorted(path for path in TESTS.rglob("*.py") if path != Path(__file__))
SKIPS = {"skip", "skipif", "importorskip", "xfail"}


def run_pytest(folder: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Pytest in a process of its own, without the variables and options of this one."""
    own = {"PYTEST_ADDOPTS", "UNMASK_DATA_DIR", "PYTEST_XDIST_WORKER"}
    environment = {name: value for name, value in os.environ.items() if name not in own} | variables
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=TESTS.parent, env=environment)


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of six tests under this suite's conftest: a plain one, and one for all a machine may lack."""
    folder = tmp_path_factory.mktemp("little")
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
    return folder


NO_BROWSER = {"PATH": str(Path(sys.executable).parent)}


@pytest.mark.thorough
def test_what_a_machine_lacks_is_deselected_and_said_in_one_line_each(little: Path) -> None:
    done = run_pytest(little, **NO_BROWSER)
    assert done.returncode == 0, done.stdout
    assert "2 passed, 2 skipped, 4 deselected" in done.stdout
    assert "2 tests compare with published files and were left out; to run them: make published" in done.stdout
    assert "1 tests drive a browser and were left out" in done.stdout
    assert "1 tests compile LaTeX and were left out" in done.stdout


@pytest.mark.thorough
def test_with_the_variable_the_published_files_are_read(little: Path, tmp_path: Path) -> None:
    done = run_pytest(little, "-m", "needs_data", UNMASK_DATA_DIR=str(tmp_path), **NO_BROWSER)
    assert "2 passed" in done.stdout, done.stdout
    assert "were left out" not in done.stdout
    wrong = run_pytest(little, UNMASK_DATA_DIR=str(tmp_path / "nowhere"))
    assert wrong.returncode == pytest.ExitCode.USAGE_ERROR
    assert "is not a folder" in wrong.stderr


@pytest.mark.thorough
def test_the_gate_refuses_skips_but_for_a_gpu(little: Path) -> None:
    refused = run_pytest(little, "--no-skips", **NO_BROWSER)
    assert refused.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 browser tests, no Chromium" in refused.stdout
    assert "1 LaTeX tests, no pdflatex" in refused.stdout
    assert "test_little.py::test_lazy: Skipped: not today" in refused.stdout
    assert "no GPU" not in refused.stdout


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
