"""Every vector measure has a complete page, and the command knows its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from unmask.cli.console import VECTORS, repeat_options
from unmask.vectors.run import VECTOR_MEASURES

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
    known = re.findall(
        r"^@\w+\{([^,]+),", (DOCS / "references.bib").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {*re.findall(r"`([a-z-]+-\d{4}-[a-z]+)`", text)} <= {*known}


def test_names_known_without_importing_are_all_there_are() -> None:
    assert sorted(VECTOR_MEASURES) == sorted(VECTORS)


def test_several_questions_behind_one_option() -> None:
    words = ["vectors", "--measure", "weat", "ripa", "--questions", "weat-6", "mine.json", "builtin"]
    assert repeat_options(words) == [
        *("vectors", "--measure", "weat", "--measure", "ripa"),
        *("--questions", "weat-6", "--questions", "mine.json", "builtin"),
    ]
