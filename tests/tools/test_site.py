"""The site: links lead somewhere, every page is in the navigation, and the catalogue is what the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.site import catalogue, links, llms, pages, reference

from unmask.data import SOURCES
from unmask.diagnose import DIAGNOSES
from unmask.measures import MEASURES
from unmask.mitigate import METHODS
from unmask.tasks import TASKS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that Sphinx reads."""
    folder = tmp_path_factory.mktemp("site") / "source"
    pages.stage(ROOT, folder)
    catalogue.write(folder / "catalogue")
    reference.write(folder / "reference")
    pages.write_sections(folder)
    return folder


def test_every_page_is_in_the_navigation_once(source: Path) -> None:
    fronts = [*(source / f"{name}.md" for name in pages.SECTIONS), source / "catalogue" / "index.md"]
    listed = [page for front in fronts for page in llms._documents(source, front)]
    assert sorted(set(listed)) == sorted(listed), "a page is listed twice"
    found = {path for suffix in ("md", "ipynb") for path in source.rglob(f"*.{suffix}")}
    assert found - set(listed) == {source / "index.md", *fronts}


def test_a_page_that_is_added_to_docs_needs_no_entry(tmp_path: Path) -> None:
    for name in ("docs/guide.md", "docs/models/new.md", "docs/which-measure.md"):
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Title of {path.stem}\n", encoding="utf-8")
    for name in (*pages.ROOT_PAGES, "README.md"):
        (tmp_path / "root" / name).write_text("# unmask\n\nWords.\n\n## What it prints\n", encoding="utf-8")
    pages.stage(tmp_path / "root", tmp_path / "site")
    pages.write_sections(tmp_path / "site")
    guides = (tmp_path / "site" / "how-to.md").read_text(encoding="utf-8")
    assert "\n/guide\n" in guides
    assert "\n/models/new\n" in guides
    assert "/which-measure" not in guides
    assert "\n/which-measure\n" in (tmp_path / "site" / "understand.md").read_text(encoding="utf-8")


def test_links_are_adapted_outside_code_only() -> None:
    page = ROOT / "docs" / "architecture.md"
    text = "[rules](../CONTRIBUTING.md#x) [measures](measures/README.md) [code](../src/unmask/core/types.py) [web](https://a.b/c)"
    assert pages.adapt_links(text, page, ROOT) == (
        "[rules](project/contributing.md#x) [measures](measures/index.md) code [web](https://a.b/c)"
    )
    fenced = "```\n[measures](measures/README.md)\n```"
    assert pages.adapt_links(fenced, page, ROOT) == fenced


def test_the_catalogue_has_everything_that_is_installed(source: Path) -> None:
    kinds = {"measures": MEASURES, "data": SOURCES, "diagnoses": DIAGNOSES, "mitigations": METHODS, "tasks": TASKS}
    for name, registry in kinds.items():
        rows = re.findall(r"^\| \[?`([^`]+)`", (source / "catalogue" / f"{name}.md").read_text("utf-8"), re.MULTILINE)
        assert rows == list(registry)
    card = (source / "catalogue" / "data" / "crows-pairs.md").read_text(encoding="utf-8")
    assert SOURCES["crows-pairs"].card.problems in card


def test_links_that_lead_nowhere_and_files_of_other_machines_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<h1 id="top">A</h1><a href="b.html#here">x</a><a href="#top">x</a>', "utf-8")
    (tmp_path / "b.html").write_text('<p id="here"><a href="https://a.b/c">web</a><img src="a.html">', "utf-8")
    assert links.problems(tmp_path) == []
    (tmp_path / "a.html").write_text('<a href="b.html#gone"></a><a href="c.html"></a><a href="#top"></a>', "utf-8")
    (tmp_path / "b.html").write_text('<script src="https://cdn.example/x.js"></script>', "utf-8")
    assert links.problems(tmp_path) == [
        "a.html: b.html#gone leads nowhere",
        "a.html: c.html leads nowhere",
        "a.html: #top leads nowhere",
        "b.html: loads https://cdn.example/x.js",
    ]


def test_llms_txt_lists_pages_with_their_first_sentence(source: Path, tmp_path: Path) -> None:
    llms.write(source, tmp_path)
    text = (tmp_path / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# unmask\n\n> unmask measures, explains and mitigates social bias")
    assert "- [aul: all unmasked likelihood](measures/aul.md): For masked models." in text
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (tmp_path / target).is_file()
