"""Build the site and check its links: `python -m tools.site [FOLDER]`, by default build/site."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tools.site import catalogue, links, llms, pages, reference

ROOT = Path(__file__).parents[2]


def build(out: Path) -> list[str]:
    """Write the site into a folder; the problems found, of the sources and of the links."""
    from sphinx.cmd.build import build_main

    source = out.with_name(f"{out.name}-source")
    for folder in (source, out):
        shutil.rmtree(folder, ignore_errors=True)
    pages.stage(ROOT, source)
    catalogue.write(source / "catalogue")
    reference.write(source / "reference")
    pages.write_sections(source)
    options = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(Path(__file__).parent)]
    if build_main([*options, "-d", str(out.with_name(f"{out.name}-doctrees")), str(source), str(out)]):
        return ["Sphinx found the problems above"]
    llms.write(source, out)
    return links.problems(out)


def main() -> int:
    """Build; print what is wrong, or where the site is."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve()
    found = build(out)
    for problem in found:
        print(problem, file=sys.stderr)
    if not found:
        print(f"{out / 'index.html'}: {len(list(out.rglob('*.md')))} pages, no broken link")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
