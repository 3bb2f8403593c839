"""A user who types commands of the documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from time import monotonic, process_time

import pytest

from unmask.cli import main

ROOT = Path(__file__).parents[2]
PATIENCE = 600  # seconds that a user gives the whole of a task, on a machine without other work
LINK = re.compile(r"\]\(([\w./-]+\.md)")


@cache
def documentation() -> str:
    """The README, and the pages that it links to."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return "\n".join([readme, *((ROOT / page).read_text(encoding="utf-8") for page in LINK.findall(readme))])


def undocumented(words: list[str]) -> list[str]:
    """What a reader of the README could not know: the command, or an option of it."""
    lines = [line for line in documentation().splitlines() if f"unmask {words[0]}" in line]
    options = [word for word in words if word.startswith("--")]
    return [*([] if lines else [words[0]]), *(word for word in options if word not in documentation())]


User = Callable[..., str]


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[User]:
    """Runs a command in an empty folder; what it printed. Its exit code must be `code`, all must end in ten minutes."""
    monkeypatch.chdir(tmp_path)
    begin, computed = monotonic(), process_time()

    def run(command: str, *, code: int = 0) -> str:
        words = command.split()
        assert words[0] == "unmask"
        assert not undocumented(words[1:]), "the documentation does not show it"
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr("warnings.showwarning", None)
            with pytest.raises(SystemExit) as left:
                main(words[1:])
        said = capsys.readouterr()
        assert left.value.code == code, said.out + said.err
        return said.out + said.err

    yield run
    # processor time counts where other programs have the machine; the clock, where several threads compute
    assert min(monotonic() - begin, process_time() - computed) < PATIENCE
