"""JSON text of any kind, at the helper that all boundaries use."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fuzz.harness import BUDGET, Boundary, fuzz

from unmask.core.boundary import read_json

BOUNDARIES = [
    Boundary(
        "JSON file",
        lambda: [{"a.json": b'{"name": "x", "values": [1, 2.5, null, "a\\u00e9"]}'}],
        lambda folder: read_json(Path(folder) / "a.json"),
        share=20,
    )
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
