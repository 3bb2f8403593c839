"""Every vector measure has a complete page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from unmask.vectors import VECTOR_MEASURES

DOCS = Path(__file__).parents[2] / "docs"
SECTIONS = [
    "Meaning",
    "Formula",
    "Null and reading",
    "The published code, and ours",
    "Known criticism",
    "Run",
    "Citation",
]


@pytest.mark.parametrize("name", VECTOR_MEASURES)
def test_the_page_is_complete(name: str) -> None:
    text = (DOCS / "measures" / "vectors" / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# `{name}`: ")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    assert VECTOR_MEASURES[name].citation in text
    assert "unmask vectors" in text
    known = re.findall(r"^@\w+\{([^,]+),", (DOCS / "references.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*re.findall(r"`([a-z-]+-\d{4}-[a-z]+)`", text)} <= {*known}
