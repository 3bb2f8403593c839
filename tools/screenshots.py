"""Make the pictures of the explorer in docs/, from the built-in models and data.

    python tools/screenshots.py [--chromium /usr/bin/chromium] [--work FOLDER]

Needs chromium and the extras `dev` and `explore`. Runs are made in FOLDER, and used again if they are there.
"""

from __future__ import annotations

import argparse
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = Path(__file__).parents[1] / "docs"
MODELS = ("builtin", "builtin-dose+3")
DATA = ("nine-axes", "triple-gender")
PAIR = "#/pair/triple-gender%2F0049?measure=cps"
VIEWS = {
    "explorer-pairs": ("#/pairs?measure=cps&outcome=flips&sort=-d1", "light", ".grid-body .grid-row"),
    "explorer-pair": (PAIR, "light", "table.matrix"),
    "explorer-compare": ("#/compare?measure=cps", "light", "main table >> nth=1"),
    "explorer-live": ("#/live", "dark", "#scores"),
    "explorer-template": ("#/live?kind=template", "dark", "#scores"),
    "explorer-judge": ("#/judge?judge=anna", "dark", ".judging"),
}
FORGET = """() => {
  const said = document.getElementById("said");
  said.textContent = said.textContent.replace(/^.*? s\\. /, "");
}"""
SIZE = {"width": 1280, "height": 860}
HEIGHTS = {"explorer-pair": {"height": 1560}, "explorer-template": {"height": 720}, "explorer-judge": {"height": 600}}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--chromium", default="/usr/bin/chromium")
    asked.add_argument("--work", type=Path)
    asked.add_argument("--only", nargs="*", default=list(VIEWS), help="names of pictures")
    options = asked.parse_args()
    with TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        runs = [run(model, work / model) for model in MODELS]
        answers = prompts(work / "answers")
        from playwright.sync_api import sync_playwright

        with sync_playwright() as playwright, serve_explorer([*runs, answers]) as url:
            browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
            for name in options.only:
                view(browser, url, name)
                print(f"wrote {DOCS / f'{name}.png'}")
            browser.close()


def run(model: str, folder: Path) -> Path:
    """An audit of a model inside the package on data of ours."""
    from unmask import audit

    if not (folder / "result.json").exists():
        audit(model, data=list(DATA), out=folder)
    return folder


def prompts(folder: Path) -> Path:
    """What the built-in model puts into our prompts."""
    from unmask import data
    from unmask.models import open_lm
    from unmask.prompts.annotations import ANSWERS, create_folder
    from unmask.prompts.fill import fill_prompts

    if not (folder / ANSWERS).exists():
        create_folder(folder, fill_prompts(open_lm(), data.read("prompts")))
    return folder


@contextmanager
def serve_explorer(folders: list[Path]) -> Iterator[str]:
    """The explorer, as long as the pictures are taken."""
    from unmask.explorer.live import LiveModel
    from unmask.explorer.server import create_server, open_folders, open_socket, page_url
    from unmask.models import open_lm

    started, place = threading.Event(), open_socket(0)
    site = open_folders(folders, secrets.token_urlsafe(24))
    site = replace(site, live=LiveModel.start("builtin", open_lm))
    running = create_server(site, started.set)
    thread = threading.Thread(target=running.run, args=([place],), daemon=True)
    thread.start()
    started.wait()
    yield page_url(place, site.token)
    running.should_exit = True
    thread.join()


def view(browser: Browser, url: str, name: str) -> None:
    """One view of the explorer, once what it waits for is there."""
    address, theme, awaited = VIEWS[name]
    page = browser.new_page(viewport=SIZE | HEIGHTS.get(name, {}), color_scheme=theme)  # type: ignore[arg-type]
    page.goto(url + address)
    page.wait_for_selector("body[data-ready]", timeout=120_000)
    page.locator(awaited).first.wait_for(timeout=120_000)
    if page.locator("#said").count():  # how long this machine took is no part of the picture
        page.evaluate(FORGET)
    page.screenshot(path=DOCS / f"{name}.png")
    page.close()


if __name__ == "__main__":
    main()
