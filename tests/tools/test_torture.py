"""The torture of the commands: differences and refusals are seen, and a small round of it passes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tools.torture.cases import Row, one_line
from tools.torture.processes import Process
from tools.torture.scenarios import Scenario

ROOT = Path(__file__).parents[2]


def scenario(folder: Path) -> Scenario:
    """A command of two undisturbed runs, which differ in a time."""
    for name, seconds in (("a", 1.5), ("b", 2.5)):
        out = folder / name / "out"
        out.mkdir(parents=True)
        (out / "result.json").write_text(json.dumps({"seconds": seconds, "estimates": [{"value": 50.0}]}))
        (out / "items.parquet").write_bytes(b"rows")
        (out / "report.html").write_text(f"in {seconds} s")
    made = Scenario("audit", [], folder)
    made.compare_undisturbed()
    return made


def test_times_are_not_compared_and_everything_else_is(tmp_path: Path) -> None:
    made = scenario(tmp_path)
    out = tmp_path / "b" / "out"
    assert made.differences(out) == []
    (out / "result.json").write_text(json.dumps({"seconds": 9, "estimates": [{"value": 50.5}]}))
    assert made.differences(out) == ["result.json#/estimates/0/value"]
    (out / "items.parquet").write_bytes(b"other rows")
    (out / "extra").touch()
    (out / "report.html").unlink()
    assert len(made.differences(out)) == 5
    assert "report.html" in made.differences(out)
    assert "report.html" not in made.differences(out, pages=False)


@pytest.mark.parametrize(
    ("code", "said", "right"),
    [
        (2, "unmask: no space left\n", True),
        (2, "unmask: no store (full); continuing without a store\nunmask: no space left\n", True),
        (1, "unmask: no space left\n", False),
        (2, "Traceback\nOSError: no space left\n", False),
        (2, "", False),
    ],
)
def test_a_refusal_is_one_line_with_code_2(code: int, said: str, right: bool, tmp_path: Path) -> None:
    (tmp_path / "stderr").write_text(said)
    process = Process.__new__(Process)
    process.folder, process.code = tmp_path, code
    row = Row("full disk")
    row.check(one_line(process))
    assert (row.tries, len(row.failures)) == (1, 0 if right else 1)


@pytest.mark.slow
def test_a_small_round_passes() -> None:
    words = ["--kills", "4", "--stores", "20", "--quick", "--commands", "prompts"]
    ended = subprocess.run(
        [sys.executable, "-m", "tools.torture", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    for test in ("SIGKILL prompts", "SIGKILL explore", "SIGINT and SIGTERM", "full disk", "damaged store"):
        assert f"| {test}" in ended.stdout
