"""Every task has a complete page, and everything it cites is in the bibliography."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from unmask.tasks import TASKS

DOCS = Path(__file__).parents[2] / "docs"


def keys() -> set[str]:
    text = (DOCS / "references.bib").read_text(encoding="utf-8")
    return set(re.findall(r"^@\w+\{([^,]+),", text, re.MULTILINE))


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_a_page(name: str) -> None:
    text = (DOCS / "tasks" / f"{name}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# `{name}`: ")
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert sections == ["Question", "Definition", "How to read it", "Example", "Limits", "Source"]
    assert TASKS[name].question in " ".join(text.split())
    assert f"unmask task {name}" in text
    assert TASKS[name].citation in text


@pytest.mark.parametrize("path", sorted((DOCS / "tasks").glob("*.md")), ids=lambda path: path.name)
def test_links_and_citations_resolve(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert all((path.parent / target).exists() for target in re.findall(r"\]\(([^)#]+)\)", text))
    assert set(re.findall(r"`([a-z-]+-\d{4}-[a-z]+)`", text)) <= keys()


def test_the_tasks_are_listed() -> None:
    text = (DOCS / "tasks" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[`([a-z]+)`\]", text, re.MULTILINE) == list(TASKS)
