"""Run files, and the requests that results record: damaged copies of valid ones, which are read but not run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.fuzz.harness import BUDGET, Boundary, Files, fuzz

from report import fake
from unmask.cli.run import check_data, describe_versions, prepare, read_run

PAIRS = b"more,less\nHe ran.,She ran.\n"
AUDIT = """\
# Repeat with: unmask run audit.yaml
command: audit
on:
  model: bert-base-uncased@main
options:
  data: [own.csv, nine-axes]
  measures: [cps, aul]
  limit: 60
  seed: 3
  no-store: true
defaults: {dtype: fp32, offline: false}
files: {own.csv: 1ee5cc2f1d0b1a0b}
data:
- {name: own, sha256: 1ee5cc2f1d0b1a0b, n: 2}
- {name: nine-axes, n: 60}
models:
- {id: bert-base-uncased, fingerprint: 4c8976b67ddd71b62f9fe5eb7315c792}
versions: {python: 3.11.7, unmask: 0.1.0, torch: 2.6.0}
"""
COUNT = "{command: corpus count, options: {files: [own.csv], seed: 3, unit: line}, versions: {unmask: 0.1.0}}"
REQUEST = {
    "command": "audit",
    "on": {"model": "bert"},
    "options": {"data": ["own file.csv"], "measures": ["cps"], "seed": 3, "store": False, "limit": 2},
}


def run_files() -> list[Files]:
    return [{"run.yaml": each.encode(), "own.csv": PAIRS} for each in (AUDIT, COUNT)]


def results() -> list[Files]:
    facts = {"id": "bert", "kind": "masked", "fingerprint": "ab", "warnings": []}
    data = [{"name": "own", "title": "Own", "n": 1, "sha256": "00"}]
    made = fake.meta(model=facts, data=data) | {"title": "", "lead": "", "findings": [], "estimates": [], "checks": []}
    return [{"result.json": json.dumps(made | {"request": REQUEST, "details": {"measures": []}}).encode()}]


def read(folder: Path) -> None:
    """Read it, prepare its command, and compare what it records with what is here."""
    path = folder / "run.yaml"
    kept, command = prepare(read_run(path if path.exists() else folder), ["--seed", "2"], name="run.yaml")
    assert command.params.get("seed", 2) == 2
    describe_versions(kept, "run.yaml")
    if not kept.files:
        check_data(kept, "run.yaml")


BOUNDARIES = [Boundary("run files", run_files, read), Boundary("requests of results", results, read)]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
