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


PAGES = {path: path.read_text(encoding="utf-8") for path in sorted((DOCS / "measures" / "vectors").glob("[a-z]*.md"))}


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", text, re.MULTILINE)


@pytest.mark.parametrize("name", VECTOR_MEASURES)
def test_a_measure_has_a_page_or_a_part_of_one(name: str) -> None:
    (text,) = [text for text in PAGES.values() if any(f"`{name}`" in line for line in headings(text))]
    assert VECTOR_MEASURES[name].citation in text


@pytest.mark.parametrize("text", PAGES.values(), ids=[path.stem for path in PAGES])
def test_a_page_is_complete(text: str) -> None:
    variants = [line for line in headings(text)[1:] if line.startswith("The variant ")]
    assert [line for line in headings(text)[1:] if line not in variants] == SECTIONS
    assert "unmask vectors" in text
    known = re.findall(r"^@\w+\{([^,]+),", (DOCS / "references.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*re.findall(r"`([a-z-]+-\d{4}-[a-z]+)`", text)} <= {*known}
