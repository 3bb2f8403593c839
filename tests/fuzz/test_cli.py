"""The words of the command line: options, values and names damaged, for commands that are quick."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from unittest.mock import patch

import pytest
from tests.fuzz.harness import BUDGET, Boundary, fuzz

import zoo
from audit.gated import NEEDED
from explorer import samples
from unmask.cli import main
from unmask.core.errors import MAX_MESSAGE, DataError

COMMANDS = (
    "list measures",
    "data show nine-axes --sample 2",
    "gate one --baseline two --measure pll --tolerance 0.5 --seed 3",
    "gate one --baseline two --tolerance bias-score=2 --margin bias-score=40 --allow-missing --json",
    "gate one --max bias-score=60 --junit gate.xml --summary gate.md",
    "compare one two --categories --seed 1 --json",
    "explain one our-pairs/0001 --measure pll --top 2",
    "explain one --top 3",
    "report one two --format md --table headline",
    "report one --format csv --out table.csv",
    "export one --to every-eval-ever --out o",
    "study aul --dry-run --offline --models builtin --limit 3 --set draws=2",
    "audit model --data own.jsonl --measure aul --precision plain --tokens 64 --out o --no-report --no-store --quiet",
    "store",
)
PAIRS = '{"more": "He ran home.", "less": "She ran home."}\n{"more": "He sat.", "less": "She sat."}\n'


@cache
def runs() -> Path:
    """A folder with two small results, which no command changes."""
    folder = Path(mkdtemp(prefix="fuzz-cli-"))
    samples.run(folder / "one", "tiny", passed=NEEDED)
    samples.run(folder / "two", "small", samples.SECOND, passed=NEEDED)
    return folder


def run_command(folder: Path) -> None:
    """Run the words of `command.csv`; exit codes 0, 1 and 3 accept them, 2 refuses them in one line."""
    text = (folder / "command.csv").read_bytes().decode(errors="surrogateescape")
    words = [word for line in text.splitlines() for word in line.split(",")]
    needed = {"study": {"--dry-run"}, "audit": {"model", "--data", "own.jsonl"}}
    if any(name in words and not needed[name] <= {*words} for name in needed):
        raise DataError("not tried: it could run for long")
    for name in ("one", "two"):
        (folder / name).symlink_to(runs() / name)
    (folder / "model").symlink_to(zoo.folder("bert-uncased"))
    (folder / "own.jsonl").write_text(PAIRS)
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch.dict(os.environ, {"UNMASK_DEBUG": "1", "UNMASK_CACHE_DIR": str(folder / "cache")}),
        patch("unmask.cli.GRACE", 0),
        warnings.catch_warnings(),
    ):
        try:
            main(words)
        except SystemExit as left:
            code = left.code
    assert "\x1b" not in out.getvalue() + err.getvalue()
    if code == 2:
        *others, line = err.getvalue().splitlines()
        assert not others or others[0].startswith("Usage: "), err.getvalue()
        assert len(line) < MAX_MESSAGE + 100
        raise DataError(line)
    assert code in (0, 1, 3, None), err.getvalue()


BOUNDARIES = [
    Boundary(
        "command line", lambda: [{"command.csv": ",".join(each.split()).encode()} for each in COMMANDS], run_command
    )
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
