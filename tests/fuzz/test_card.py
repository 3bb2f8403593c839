"""Model cards that a result is added to: kept, or refused and left as they are."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from tests import zoo
from tests.fuzz.harness import BUDGET, Boundary, fuzz

import unmask
from unmask.audit.result import AuditResult
from unmask.core.errors import UnmaskError
from unmask.report import card

TEXT = "# A model\n\nMy own words: é ✓.\n"
METADATA = "---\nlanguage: [en, fr]\nlicense: mit\nmodel-index:\n- name: a\n  results: []\n---\n\n"


@functools.cache
def result() -> AuditResult:
    return unmask.audit(zoo.folder("bert-uncased"), data="nine-axes", measures="aul", limit=4, store=False)


def read(folder: Path) -> None:
    """What is refused is left as it was; what is accepted can be added to again without change."""
    path = folder / "README.md"
    before = path.read_bytes()
    try:
        card.write(result(), path)
    except UnmaskError:
        assert path.read_bytes() == before
        raise
    once = path.read_bytes()
    card.write(result(), path)
    assert path.read_bytes() == once


BOUNDARIES = [
    Boundary("model card", lambda: [{"README.md": (METADATA + TEXT).encode()}, {"README.md": TEXT.encode()}], read, 3)
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
