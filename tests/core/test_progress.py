"""The callback of long-running work, its parts, and the bar."""

from __future__ import annotations

import pytest

from unmask.core.progress import part_of, progress_bar, silent, steps_of


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
    monkeypatch.setenv("FORCE_COLOR", "1")
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
