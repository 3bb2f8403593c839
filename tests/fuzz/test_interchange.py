"""Samples files of lm-eval: imported as a result that can be opened again, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.fuzz.harness import BUDGET, Boundary, fuzz
from tests.interchange.conftest import sample

import unmask
from unmask.interchange.lm_eval import import_samples

NAME = "samples_crows_pairs_english_2026-01-02T10-20-30.1.jsonl"
LINES = [
    sample(0, "Old people forget.", "Young people forget.", (-10.5, -11.25)),
    sample(1, "Él dijo sí 😀.", "Ella dijo sí 😀.", (-20.0, -20.0), bias_type="gender", stereo_antistereo="antistereo"),
]
RESULTS = b'{"model_name": "org/model", "results": {}}'


def read(folder: Path) -> None:
    result = import_samples(folder / NAME, out=folder / "run")
    assert unmask.load(folder / "run").meta == result.meta
    assert str(result)


EXAMPLE = {
    NAME: "".join(f"{json.dumps(line)}\n" for line in LINES).encode(),
    "results_2026-01-02T10-20-30.1.json": RESULTS,
}
BOUNDARIES = [Boundary("lm-eval samples", lambda: [EXAMPLE], read)]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
