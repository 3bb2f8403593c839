"""The pages of the site: those of docs/ and of the root, copied, their links adapted, sorted into sections."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
ROOT_PAGES = {"CHANGELOG.md": "reference/changes.md"}
ROOT_PAGES |= {name: f"project/{name.lower()}" for name in ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")}
COPIED = (".md", ".ipynb", ".png", ".svg", ".bib", ".csv", ".yaml")
# Pages at the top of docs/ that are not guides; a page named nowhere here is listed under How-to.
UNDERSTAND = ("ideas", "which-measure", "footguns", "reviewers", "statistics", "reliability", "speed", "architecture")
REFERENCE = ("cli", "results")
CATALOGUE = ("data",)
SECTIONS = {
    "start": ("Start", "Install it, audit a model, and read the result.", ("tutorials/*", "notebooks/*")),
    "how-to": ("How-to", "One page a task.", ("@guides", "models/*", "project/contributing")),
    "understand": (
        "Understand",
        "What the numbers mean, what they depend on besides bias, and how they are computed.",
        (*UNDERSTAND, "mutants"),
    ),
    "reference": (
        "Reference",
        "Python, the command line, the result folder and its JSON Schema.",
        ("reference/python", "cli", "results", "reference/schema", "reference/*", "project/*"),
    ),
}


def stage(root: Path, source: Path) -> None:
    """Copy docs/ and the pages of the root into the folder that Sphinx reads; README.md becomes index.md."""
    for path in sorted((root / "docs").rglob("*")):
        if path.suffix in COPIED:
            _copy(path, source / _site_path(path.relative_to(root / "docs")), root)
    for name, page in ROOT_PAGES.items():
        _copy(root / name, source / page, root)
    (source / "index.md").write_text(_home(root), encoding="utf-8")
    for picture in (Path(__file__).parent / "static").glob("*.svg"):
        shutil.copyfile(picture, source / picture.name)


def write_sections(source: Path) -> None:
    """Write the front page of every section: its pages, by title, in the order of the folders."""
    taken: set[str] = {"index"}
    for name, (title, lead, patterns) in SECTIONS.items():
        documents: list[str] = []
        for pattern in patterns:
            found = _guides(source) if pattern == "@guides" else _matching(source, pattern)
            documents += [each for each in found if each not in taken and each not in documents]
        taken |= set(documents)
        page = f"# {title}\n\n{lead}\n\n```{{toctree}}\n:maxdepth: 1\n\n" + "\n".join(f"/{each}" for each in documents)
        (source / f"{name}.md").write_text(f"{page}\n```\n", encoding="utf-8")


def adapt_links(text: str, page: Path, root: Path) -> str:
    """The text of a page with its links as the site needs them; code is left alone."""

    def adapt(match: re.Match[str]) -> str:
        label, target = match[1], match[2]
        path, mark, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:") or not path:
            return match[0]
        inside = Path(os.path.normpath(page.parent / path)).relative_to(root)
        where = _target(inside, root)
        if where is None:  # a file of the repository that is no page: its name, without a link
            return label[1:-1]
        here = _target(page.relative_to(root), root) or Path("index.md")
        return f"{label}({Path(os.path.relpath(where, here.parent)).as_posix()}{mark}{anchor})"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(adapt, part) for part in parts)


def title_of(path: Path) -> str:
    """The first heading of a page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        text = "".join(json.loads(text)["cells"][0]["source"])
    match = re.search(r"^# (.+?)\s*$", text, re.MULTILINE)
    return match[1] if match else path.stem


def _copy(path: Path, target: Path, root: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".md":
        target.write_text(adapt_links(path.read_text(encoding="utf-8"), path, root), encoding="utf-8")
    elif path.suffix == ".ipynb":
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = adapt_links("".join(cell["source"]), path, root)
        target.write_text(json.dumps(notebook, ensure_ascii=False), encoding="utf-8")
    else:
        shutil.copyfile(path, target)


def _site_path(inside: Path) -> Path:
    return inside.with_name("index.md") if inside.name == "README.md" else inside


def _target(inside: Path, root: Path) -> Path | None:
    """Where a file of the repository is on the site; None if it is not there."""
    if inside.as_posix() in ROOT_PAGES:
        return Path(ROOT_PAGES[inside.as_posix()])
    if inside.as_posix() == "README.md":
        return Path("index.md")
    if inside.parts[0] != "docs":
        return None
    path = inside.relative_to("docs")
    return _site_path(path / "README.md" if (root / inside).is_dir() else path)


def _matching(source: Path, pattern: str) -> list[str]:
    """Documents that match a pattern, the index of a folder first; names that are not there are left out."""
    found = [path for suffix in (".md", ".ipynb") for path in source.glob(pattern + suffix)]
    ordered = sorted(found, key=lambda path: (path.stem != "index", path.stem))
    return [path.relative_to(source).with_suffix("").as_posix() for path in ordered]


def _guides(source: Path) -> list[str]:
    """The pages at the top of docs/ that belong to no other section."""
    others = {*UNDERSTAND, *REFERENCE, *CATALOGUE, "mutants", "index", *SECTIONS}
    return [path.stem for path in sorted(source.glob("*.md")) if path.stem not in others]


def _home(root: Path) -> str:
    """The home page: the first screen of the README, then the doors."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    first = readme[: readme.index("\n## What it prints\n")]
    doors = (Path(__file__).parent / "home.md").read_text(encoding="utf-8")
    return adapt_links(first, root / "README.md", root) + doors
