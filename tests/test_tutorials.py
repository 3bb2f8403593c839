"""The tutorials: every block of code runs, in its order, and prints what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fences import blocks, missing, run_page

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
LONG = {"4-mitigate"}
PAGES = [
    pytest.param(page, id=page.stem, marks=pytest.mark.slow if page.stem in LONG else pytest.mark.thorough)
    for page in sorted(FOLDER.glob("[0-9]*.md"))
]


@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_tutorial_runs_and_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    steps = list(run_page(page))
    assert len(steps) >= 3
    for command, expected, printed in steps:
        assert not missing(expected, printed), f"{command}: the page says {missing(expected, printed)}"


def test_output_that_is_not_on_the_page_is_noticed() -> None:
    printed = "│ cps │ 56.7 │ 44.1 to 68.4 │\nchecks\n  ok ties"
    assert not missing("cps … 44.1 to 68.4\n…\nok ties", printed)
    assert "56.8" in missing("cps 56.8", printed)
    assert "checks" in missing("ok ties\nchecks", printed), "the order counts"


@pytest.mark.parametrize("page", PAGES)
def test_every_fence_of_a_tutorial_is_of_a_kind_that_is_run(page: Path) -> None:
    text, found = page.read_text(encoding="utf-8"), blocks(page)
    assert text.count("\n```") == 2 * len(found), "a fence without a language, or one that is indented"
    assert all(block.language in ("console", "python", "text") or block.file for block in found)
