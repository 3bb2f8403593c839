"""What ten commands find, print and show on tiny models, as text: a change of any of it is seen in a diff.

`UNMASK_WRITE_GOLDEN=1 python -m pytest tests/test_golden.py` writes `tests/golden/` anew. Numbers are rounded, because
processors and versions of libraries differ in the last digits.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import zoo
from unmask.cli import run_command

GOLDEN = Path(__file__).parent / "golden"
WRITE = bool(os.environ.get("UNMASK_WRITE_GOLDEN"))
OF_THE_MACHINE = ("unmask", "versions", "schema", "tables", "details", "options", "request", "findings")
NUMBER = re.compile(r"(?<![\w.])[+−-]?\d[\d,]*\.\d+")
TEXT = "".join(f"The nurse said that she was late on day {day}. He told her so.\n" for day in range(60))
COMMANDS: dict[str, list[str]] = {
    "audit": ["audit", "--data", "nine-axes,pronoun-templates", "--limit", "36"],
    "audit-causal": ["audit", "gpt2", "--data", "triple-gender", "--limit", "30"],
    "audit-triples": ["audit", "bert", "--data", "stereoset", "--data-dir", "published"],
    "diagnose": ["diagnose", "length,alignment,stability,direction", "bert", "--data", "nine-axes", "--limit", "36"],
    "mitigate": ["mitigate", "projection", "bert", "--limit", "24"],
    "task": ["task", "winobias", "bert", "--data-dir", "published", "--limit", "8"],
    "vectors": ["vectors", "bert", "--questions", "weat-6-sentences"],
    "prompts": ["prompts", "bert", "--limit", "8"],
    "corpus": ["corpus", "count", "text.txt"],
    "study": ["study", "paraphrase", "--models", "bert", "--limit", "4", "--threads", "1"],
}


class VisibleText(HTMLParser):
    """The text of a page, one line an element; scripts, styles and charts are left out."""

    HIDDEN = ("script", "style", "svg", "template")

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.depth += tag in self.HIDDEN

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag in self.HIDDEN

    def handle_data(self, data: str) -> None:
        if not self.depth and data.strip():
            self.lines.append(" ".join(data.split()))


def rounded(value: Any) -> Any:
    """Numbers with three significant digits, at any depth."""
    if isinstance(value, float):
        return float(f"{value:.3g}")
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list) else value


def result_lines(folder: Path) -> Iterator[str]:
    """The content of `result.json` line by line: an estimate or a check is one."""
    content = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    for key, value in rounded(content).items():
        if key in ("model", "models") or key in OF_THE_MACHINE:
            continue
        for part in value if isinstance(value, list) else [value]:
            yield f"{key} {json.dumps(part, ensure_ascii=False)}"


def page_lines(folder: Path) -> Iterator[str]:
    """The visible sentences of the page: cells of tables are in the result."""
    page = VisibleText()
    page.feed((folder / "report.html").read_text(encoding="utf-8"))
    for line in page.lines:
        if len(line) > 24 and not re.search(r"\d{4}-\d\d-\d\d|sha256|torch|unmask-runs|fingerprint", line):
            yield NUMBER.sub(lambda found: found[0][: max(3, len(found[0]) - 1)], line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models, data and a text."""
    here = tmp_path_factory.mktemp("golden")
    for name, architecture in (("bert", "bert-uncased"), ("gpt2", "gpt2")):
        shutil.copytree(zoo.folder(architecture), here / name)
    (here / "published").symlink_to(zoo.MINIATURE)
    (here / "text.txt").write_text(TEXT, encoding="utf-8")
    return here


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_finds_prints_and_shows_what_it_did_before(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    out = f"out-{name}"
    quiet = [] if name == "study" else ["--quiet"]
    assert run_command([*COMMANDS[name], "--out", out, *quiet]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    parts = {"printed": printed, "result": result_lines(Path(out)), "page": page_lines(Path(out))}
    text = "".join(f"=== {part}\n" + "".join(f"{line}\n" for line in lines) for part, lines in parts.items())
    path = GOLDEN / f"{name}.txt"
    if WRITE:
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{name} changed; see this module's first lines"
