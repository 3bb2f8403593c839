"""Run files, and the commands that results record: damaged copies of valid ones, which are read but not run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.fuzz.harness import BUDGET, Boundary, Files, fuzz

from report import fake
from unmask.cli.run_file import check_data, describe_versions, read_run, run_words

PAIRS = b"more,less\nHe ran.,She ran.\n"
AUDIT = """\
# Repeat with: unmask run audit.yaml
command: audit
options:
  model: bert-base-uncased@main
  data: [own.csv, nine-axes]
  measure: [cps, aul]
  limit: 60
  seed: 3
  no-store: true
files: {own.csv: 1ee5cc2f1d0b1a0b}
data:
- {name: own, sha256: 1ee5cc2f1d0b1a0b, n: 2}
- {name: nine-axes, n: 60}
models:
- {id: bert-base-uncased, fingerprint: 4c8976b67ddd71b62f9fe5eb7315c792}
versions: {python: 3.11.7, unmask: 0.1.0, torch: 2.6.0}
"""
COUNT = "{command: corpus count, options: {files: [own.csv], seed: 3, unit: line}, versions: {unmask: 0.1.0}}"
COMMAND = "unmask audit bert --data 'own file.csv' --measure cps --seed 3 --no-store --limit 2"


def run_files() -> list[Files]:
    return [{"run.yaml": each.encode(), "own.csv": PAIRS} for each in (AUDIT, COUNT)]


def results() -> list[Files]:
    facts = {"id": "bert", "kind": "masked", "fingerprint": "ab", "warnings": []}
    data = [{"name": "own", "title": "Own", "n": 1, "sha256": "00"}]
    made = fake.meta(model=facts, data=data) | {"title": "", "lead": "", "findings": [], "estimates": [], "checks": []}
    return [{"result.json": json.dumps(made | {"details": {"command": COMMAND, "measures": []}}).encode()}]


def read(folder: Path) -> None:
    """Read it, turn it into words of the command line, and compare what it records with what is here."""
    path = folder / "run.yaml"
    kept, words = run_words(read_run(path if path.exists() else folder), ["--seed", "2"], name="run.yaml")
    assert all(isinstance(word, str) for word in words)
    describe_versions(kept, "run.yaml")
    if not kept.files:
        check_data(kept, "run.yaml")


BOUNDARIES = [Boundary("run files", run_files, read), Boundary("commands of results", results, read)]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
