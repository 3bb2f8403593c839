"""Every measure has a page, and the page says what the measure says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import measure_docs
from unmask.diagnose import DIAGNOSES
from unmask.measures import MEASURES

DOCS = Path(__file__).parents[2] / "docs"
SECTIONS = [
    "Meaning",
    "Formula",
    "Null and reading",
    "The published code, and ours",
    "Known criticism",
    "Published numbers",
    "Citation",
]


def keys() -> set[str]:
    return set(re.findall(r"^@\w+\{([^,]+),", (DOCS / "references.bib").read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_described_on_a_whole_page(name: str) -> None:
    text = (DOCS / "measures" / measure_docs.rows()[name][0]).read_text(encoding="utf-8")
    assert f"`{name}`" in "".join(re.findall(r"^(?:# |## The variant |\| ).*$", text, re.MULTILINE))
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [section for section in sections if not section.startswith("The variant `")] == SECTIONS
    measure = MEASURES[name]
    assert measure.citation in text
    assert re.search(rf"^For {' and '.join(measure.kinds)} models|; .* for {measure.kinds[0]} ones", text, re.MULTILINE)
    for published in measure.published:
        assert f"{published.value:.2f}".rstrip("0").rstrip(".") in text
        assert published.model in text


def test_no_page_without_a_measure() -> None:
    described = measure_docs.rows()
    pages = {path.name for path in (DOCS / "measures").glob("*.md")} - {"README.md"}
    assert pages == {page for page, _ in described.values()}
    assert described.keys() == MEASURES.keys()


@pytest.mark.parametrize(
    "path",
    [*sorted((DOCS / "measures").glob("*.md")), *(DOCS / name for name in ("ideas.md", "report.md", "results.md"))],
    ids=lambda p: p.name,
)
def test_links_lead_somewhere_and_citations_are_listed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (path.parent / target).exists(), target
    cited = set(re.findall(r"`([a-z-]+-(?:\d{4}(?:-[a-z]+)?|lm-eval))`", text))
    assert cited <= keys()


def test_every_citation_is_in_the_bibliography() -> None:
    assert {measure.citation for measure in MEASURES.values()} <= keys()


@pytest.mark.parametrize("name", DIAGNOSES)
def test_every_diagnosis_has_a_whole_page(name: str) -> None:
    text = (DOCS / "diagnoses" / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# `{name}`: ")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [one for one in sections if one != "Example"] == [
        *("Question", "Definition", "How to read it", "Limits", "Source")
    ]
    assert f"unmask diagnose {name}" in text
    assert DIAGNOSES[name].citation in text
    assert DIAGNOSES[name].citation in keys()


def test_the_diagnoses_are_listed() -> None:
    text = (DOCS / "diagnoses" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[`([a-z]+)`\]", text, re.MULTILINE) == list(DIAGNOSES)
