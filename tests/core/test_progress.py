"""The callback of long-running work, its parts, and the bar."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from unmask.core import progress
from unmask.core.progress import part_of, progress_bar, progress_lines, silent, steps_of


def test_a_step_reports_its_label_share_and_total() -> None:
    calls: list[tuple[str, float, int]] = []
    step = steps_of(lambda label, share, total, note="": calls.append((label, share, total)), "pairs", 40)
    step(0.25)
    step(1.0)
    assert calls == [("pairs", 0.25, 40), ("pairs", 1.0, 40)]
    steps_of(None, "pairs", 40)(0.5)  # nobody listens
    silent("pairs", 0.5, 40, note="loss 2.1")


def test_the_parts_make_the_whole() -> None:
    shares: list[float] = []
    for begin, share in ((0.0, 0.75), (0.75, 0.25)):
        part = part_of(shares.append, begin, share)
        part(0.5)
        part(1.0)
    assert shares == [0.375, 0.75, 0.875, 1.0]


def test_the_bar_is_on_stderr_with_its_note(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with progress_bar() as update:
        update("scoring", 0.0, 10)
        update("scoring", 0.5, 10, note="loss 2.10")
        update("training", 0.2, 5)
    said = capsys.readouterr()
    assert said.out == ""
    assert all(part in said.err for part in ("scoring", "5/10", "loss 2.10", "training", "1/5"))


def test_a_quiet_bar_and_one_without_work_say_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(quiet=True) as update:
        update("scoring", 0.5, 10)
    with progress_bar():
        pass
    assert capsys.readouterr() == ("", "")


def wait_for_lines(capsys: pytest.CaptureFixture[str], seconds: float = 60.0) -> list[str]:
    """The lines on stderr, as soon as there are some."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
        if found := capsys.readouterr().err.splitlines():
            return found
    return []


def test_without_a_terminal_a_line_says_now_and_then_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CI job would look dead: its log is empty until the end."""
    monkeypatch.setattr(progress, "INTERVAL", 0.02)
    with progress_bar() as update:
        time.sleep(0.05)
        assert capsys.readouterr().err == ""  # nothing was reported yet
        update("crows-pairs", 0.0, 1508)
        assert wait_for_lines(capsys)[0] == "unmask: crows-pairs: 0 of 1,508 (0%)"
        update("crows-pairs", 0.25, 1508)
        capsys.readouterr()
        assert "unmask: crows-pairs: 377 of 1,508 (25%), 1 min left" in wait_for_lines(
            capsys
        )  # also while nothing happens
        update("train\x1b", 0.5, 10, note="loss 2.1")
        assert r"unmask: train\x1b: 5 of 10 (50%), loss 2.1" in [*wait_for_lines(capsys), *wait_for_lines(capsys)]
    capsys.readouterr()
    time.sleep(0.06)
    assert capsys.readouterr().err == ""


def test_the_remaining_time_counts_from_where_the_work_began(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # resumed at 50% and at 60% ten minutes later: 40% are left, which take 40 minutes
    times = iter([0.0, 600.0, *[600.0] * 1000])
    monkeypatch.setattr(progress, "monotonic", lambda: next(times))
    monkeypatch.setattr(progress, "INTERVAL", 0.02)
    with progress_lines() as update:
        update("pairs", 0.5, 100)
        update("pairs", 0.6, 100)
        assert wait_for_lines(capsys)[-1] == "unmask: pairs: 60 of 100 (60%), 40 min left"


QUICK = """
import sys
from unmask.core import progress
progress.INTERVAL = 0.5
from unmask.cli import main
main(sys.argv[1:])
"""


@pytest.mark.thorough
def test_a_piped_audit_shows_its_progress(tmp_path: Path) -> None:
    words = ["audit", "--measure", "aul", "--limit", "8", "--no-store", "--no-report", "--out", str(tmp_path / "run")]
    done = subprocess.run([sys.executable, "-c", QUICK, *words], capture_output=True, text=True, check=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("unmask: prepare: ")]
    assert lines, done.stderr
    assert "import torch" in lines[0]
    assert "\x1b" not in done.stderr
