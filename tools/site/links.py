"""Check a built site: every internal link and anchor leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
LINKS = LOADED | {("a", "href")}
POINTERS = ("canonical", "alternate", "prev", "next", "search", "index")  # relations that load nothing


class _Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names and where it leads."""
        values = {key: value or "" for key, value in attrs}
        self.anchors |= {values[key] for key in ("id", "name") if key in values}
        for where, key in LINKS:
            if tag == where and key in values:
                self.links.append(values[key])
                if (tag, key) in LOADED and values.get("rel") not in POINTERS:
                    self.loads.append(values[key])


def problems(site: Path) -> list[str]:
    """One line for every link that leads nowhere, and for everything loaded from another machine."""
    built = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    pages = {path.resolve(): _parse(path) for path in built}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        found += [f"{name}: loads {link}" for link in page.loads if urlsplit(link).netloc]
        found += [f"{name}: {link} leads nowhere" for link in page.links if not _leads(path, link, pages)]
    return found


def _leads(path: Path, link: str, pages: dict[Path, _Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return False
    if not parts.fragment or target not in pages:
        return True
    return unquote(parts.fragment) in pages[target].anchors


def _parse(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page
