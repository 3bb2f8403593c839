"""Help, lists and refused names import nothing heavy; an audit shows at once that it runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import zoo
from audit.gated import pairs, save
from unmask.cli import COMMANDS, main
from unmask.cli.list import _KINDS
from unmask.core.progress import PREPARATIONS, PREPARE, Progress

HEAVY = {"torch", "transformers", "scipy", "pandas", "sklearn", "pyarrow", "numpy", "altair", "jinja2"}
QUICK = (
    *([], ["--help"], ["--version"], ["--nope"], ["audit", "--nope"]),
    *([command, "--help"] for command in COMMANDS),
    *(["list", kind] for kind in (*_KINDS, "nope")),
    *(["audit", "--measure", "nope"], ["audit", "--measure", "cps,nope"], ["audit", "--data", "nope"]),
    *([command, "nope"] for command in ("task", "mitigate", "diagnose", "study")),
    ["vectors", "--measure", "nope"],
)


RUN = """
import json, sys
from contextlib import suppress
from unmask.cli import main
commands, heavy = json.loads(sys.argv[1])
for words in commands:
    with suppress(SystemExit):
        main(words)
    found = sorted({*heavy} & {*sys.modules})
    if found:
        sys.exit(f"{words} imports {found}")
"""
NOT_SERVED = """
import uvicorn
uvicorn.Server.run = lambda self, sockets=None: None
"""  # the page of the explorer: the command ends where it would wait for requests


def test_a_quick_command_imports_nothing_heavy(tmp_path: Path) -> None:
    """Every one of these would take seconds: torch alone takes more than one to import."""
    words = [sys.executable, "-c", RUN, json.dumps([QUICK, sorted(HEAVY)])]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr.splitlines()[-1]
    assert done.stderr.count("no measure named 'nope'") == 2  # they all ran
    assert "unexpected error" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_command_that_reads_results_imports_no_torch(tmp_path: Path) -> None:
    save(tmp_path / "run", pairs(210, 400))
    commands = [["gate", "run", "--baseline", "run"], ["compare", "run", "run"], ["explain", "run"]]
    commands += [["report", "run", "--out", "page.html"], ["report", "run", "--format", "latex"]]
    commands += [["plan", "run"], ["plan", "--data", "nine-axes"]]
    commands += [["export", "run", "--to", "every-eval-ever", "--out", "exported"]]
    commands += [["explore", "run", "--bundle", "copy"], ["explore", "run", "--no-live", "--no-browser", "--port", "0"]]
    words = [sys.executable, "-c", f"{NOT_SERVED}{RUN}", json.dumps([commands, ["torch", "transformers"]])]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr.splitlines()[-1]
    assert "PASS: unchanged in 2 verdicts" in done.stdout
    assert "5 points takes 820 pairs" in done.stdout
    assert "open http://127.0.0.1:" in done.stdout  # the last command ran
    assert all((tmp_path / name).exists() for name in ("page.html", "exported", "copy/index.html"))


def test_the_package_imports_nothing_heavy() -> None:
    code = "import sys, unmask; dir(unmask); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & {*done.stdout.split()}


def test_an_audit_reports_what_it_prepares_from_the_import_of_torch_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the first score nothing would be seen, for seconds or, with a large model, minutes."""
    told: list[tuple[str, float, str]] = []

    @contextmanager
    def record(*, quiet: bool = False) -> Iterator[Progress]:
        yield lambda label, share, total, note="": told.append((label, round(share * total, 6), note))

    monkeypatch.setattr("unmask.cli.audit.progress_bar", record)
    (tmp_path / "own.csv").write_text("more,less\nHe left.,She left.\n", encoding="utf-8")
    words = ["--data", str(tmp_path / "own.csv"), "--measure", "aul", "--no-report", "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as left:
        main(["audit", str(zoo.folder("bert-uncased")), *words])
    assert not left.value.code
    preparations = [(PREPARE, float(done), what) for done, what in enumerate((*PREPARATIONS, ""))]
    assert told[: len(preparations)] == preparations
    assert {label for label, *_ in told[len(preparations) :]} == {"own"}
