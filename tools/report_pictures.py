"""Pictures of the report for the documentation, taken in chromium from pages made of two runs.

    unmask audit --data nine-axes pronoun-templates --measure sss pll aul ppd --out runs/plain
    unmask audit builtin-dose-3 --data nine-axes pronoun-templates --measure sss pll aul ppd --out runs/dose
    python tools/report_pictures.py runs/plain runs/dose

Needs `pip install playwright` and chromium on the PATH.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import unmask
from unmask.audit.result import load

if TYPE_CHECKING:
    from playwright.sync_api import Page

DOCS = Path(__file__).parents[1] / "docs"
WIDTH, SCALE = 1240, 1.25
SHOTS = {  # picture: page, the element it begins at, its height
    "report.png": ("one.html", "body", 1330),
    "report-pairs.png": ("one.html", "section[aria-labelledby=pairs]", 900),
    "report-comparison.png": ("two.html", "section[aria-labelledby=changes]", 915),
    "report-templates.png": ("two.html", "section[aria-labelledby=templates]", 1150),
}


def main() -> None:
    from playwright.sync_api import sync_playwright

    runs = [load(folder) for folder in sys.argv[1:3]]
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        unmask.report(runs[0], out=Path(folder) / "one.html")
        unmask.report(*runs, out=Path(folder) / "two.html")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": WIDTH, "height": 900}, device_scale_factor=SCALE)
        for name, (source, element, height) in SHOTS.items():
            page = context.new_page()
            page.goto((Path(folder) / source).as_uri())
            page.locator("html[data-charts=live]").wait_for(state="attached")
            _take(page, element, height, DOCS / name)
            print(f"wrote {DOCS / name}")
        browser.close()


def _take(page: Page, element: str, height: int, path: Path) -> None:
    for figure in page.locator("figure").all():  # drawn when they come into sight
        figure.scroll_into_view_if_needed()
        page.wait_for_timeout(80)
    page.evaluate("window.scrollTo(0, 0)")  # the navigation stays at the top of what is seen
    box = page.locator(element).bounding_box()
    top = page.evaluate("window.scrollY") + (box["y"] if box else 0)
    clip = {"x": 0, "y": max(0, top - 10), "width": WIDTH, "height": height}
    page.screenshot(path=path, full_page=True, clip=clip)


if __name__ == "__main__":
    main()
