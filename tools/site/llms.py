"""llms.txt (llmstxt.org): every page with its first sentence and a link to its Markdown source."""

from __future__ import annotations

import re
from pathlib import Path

from tools.site.pages import SECTIONS, title_of

DOCUMENT = re.compile(r"^/?([\w./-]+)$", re.MULTILINE)


def write(source: Path, out: Path) -> None:
    """Write llms.txt, and beside every page its source."""
    lines = ["# unmask", "", f"> {_lead((source / 'index.md').read_text(encoding='utf-8'))}", ""]
    fronts = {title: source / f"{name}.md" for name, (title, _, _) in SECTIONS.items()}
    fronts |= {"Catalogue": source / "catalogue" / "index.md"}
    for title, front in fronts.items():
        lines += [f"## {title}", "", *(_line(source, out, page) for page in _documents(source, front)), ""]
    (out / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def _documents(source: Path, front: Path) -> list[Path]:
    """The pages of a section, and those below them."""
    found: list[Path] = []
    for tree in re.findall(r"```\{toctree\}\n(.*?)```", front.read_text(encoding="utf-8"), re.DOTALL):
        for name in DOCUMENT.findall(tree):
            stem = tree_path(source, front, name)
            page = next((path for path in (stem.with_name(stem.name + ".md"), stem.with_name(stem.name + ".ipynb"))
                         if path.is_file()), None)  # fmt: skip
            if page is not None:
                found += [page, *_documents(source, page)]
    return found


def tree_path(source: Path, front: Path, name: str) -> Path:
    """The path of an entry of a toctree, without its suffix: below the source, or beside the front page."""
    entry = re.search(rf"^(/?){re.escape(name)}$", front.read_text(encoding="utf-8"), re.MULTILINE)
    return source / name if entry and entry[1] else front.parent / name


def _line(source: Path, out: Path, page: Path) -> str:
    target = out / page.relative_to(source)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = page.read_text(encoding="utf-8")
    target.write_text(text, encoding="utf-8")
    lead = "" if page.suffix == ".ipynb" else _lead(text)
    return f"- [{title_of(page).replace('`', '')}]({page.relative_to(source).as_posix()})" + (lead and f": {lead}")


def _lead(text: str) -> str:
    """The first sentence of the first paragraph of prose, as plain text."""
    for block in re.split(r"\n\s*\n", text):
        if re.match(r"[A-Za-z`*\[“]", block.strip()) and not block.startswith("["):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(block.split())).replace("**", "")
            return re.split(r"(?<=[.?!])\s", plain)[0]
    return ""
