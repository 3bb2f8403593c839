"""A static copy of the page: one HTML file with its scripts and the data, which opens without a server.

The scripts are those of the page. Browsers do not load modules from a local file, so the modules are put into one
script, each in a function of its own; what the server would answer is embedded, compressed, under its address.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Iterator
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmask.core.errors import DataError, ResultError, UnmaskError
from unmask.core.files import plain, write_text
from unmask.explorer.app import STATIC, STYLESHEET, Site, overview, pair_details
from unmask.explorer.pairs import Runs, compare_runs
from unmask.findings import html
from unmask.findings.assets import policy

PAGE, RESULT_PAGE = "index.html", "result-{}.html"
CHUNK = 100  # pairs whose tokens are unpacked together
MARK = '<meta name="generator" content="unmask explore --bundle">'
_IMPORT = re.compile(r'^import \{ ([^}]+) \} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:const|function|class)) (\w+)", re.MULTILINE)
Progress = Callable[[str], object]


def write_bundle(site: Site, folder: Path, *, progress: Progress = lambda _: None) -> Path:
    """Write the static copy into a folder that is new, empty, or holds an earlier copy; the path of its page."""
    _refuse_foreign(folder)
    if not site.runs.results and not site.others:
        raise ResultError("there are no runs to copy: name result folders, unmask explore RUN --bundle DIR")
    answers = {address: _packed(content) for address, content in _answers(site, progress)}
    for number, result in enumerate(site.others):
        write_text(folder / RESULT_PAGE.format(number), html.page(result))
    return write_text(folder / PAGE, _page(answers))


def _refuse_foreign(folder: Path) -> None:
    """Raise unless the folder is new or empty, or holds an earlier copy."""
    try:
        names = {entry.name for entry in folder.iterdir()}
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"{folder} cannot be read ({error.strerror}): give a new or empty folder") from error
    page = folder / PAGE
    ours = page.is_file() and MARK in page.read_text(encoding="utf-8", errors="replace")[:2000]
    if names and not ours:
        raise DataError(f"{folder} holds other files: give a new or empty folder for the copy")


def _answers(site: Site, progress: Progress) -> Iterator[tuple[str, Any]]:
    """The answers of the server by their addresses; tokens of pairs in chunks."""
    runs = site.runs
    yield "/api/runs", overview(site) | {"live": None, "judging": None, "copy": version("unmask")}
    yield "/api/pairs", runs.columns
    for first in range(len(runs.results)):
        for second in range(len(runs.results)):
            if first != second:
                progress(f"comparing {runs.names[first]} with {runs.names[second]}")
                yield f"/api/compare/{first}/{second}", _changes(runs, first, second)
    for begin in range(0, len(runs.pairs), CHUNK):
        rows = range(begin, min(begin + CHUNK, len(runs.pairs)))
        yield f"/api/pair/{begin // CHUNK}", [pair_details(runs, row) for row in rows]


def _changes(runs: Runs, first: int, second: int) -> Any:
    try:
        return compare_runs(runs.results[first], runs.results[second])
    except UnmaskError as error:
        return {"error": str(error)}


def _packed(content: Any) -> str:
    text = json.dumps(plain(content), allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(errors="backslashreplace"), mtime=0)).decode()


def _page(answers: dict[str, str]) -> str:
    """The page with everything in it, and a policy that forbids everything else."""
    scripts = [(STATIC / "theme.js").read_text(encoding="utf-8"), joined_modules("app")]
    styles = "\n".join(path.read_text(encoding="utf-8") for path in (STYLESHEET, STATIC / "explorer.css"))
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    page = re.sub(r'<link rel="stylesheet"[^>]*>\n|<script[^>]*></script>\n', "", page)
    head = (
        f'<meta http-equiv="content-security-policy" content="{escape(policy(scripts))}">\n{MARK}\n'
        f"<style>\n{styles}</style>\n<script>{scripts[0]}</script>\n</head>"
    )
    data = "\n".join(
        f'<script type="text/plain" data-answer="{escape(address)}" data-chunk="{CHUNK}">{packed}</script>'
        for address, packed in answers.items()
    )
    return page.replace("</head>", head).replace("</body>", f"{data}\n<script>{scripts[1]}</script>\n</body>")


def joined_modules(entry: str) -> str:
    """A module of the page with all that it imports as one script."""
    parts: dict[str, str] = {}

    def add(name: str) -> None:
        if name in parts:
            return
        text = (STATIC / f"{name}.js").read_text(encoding="utf-8")
        for _, needed in _IMPORT.findall(text):
            add(needed)
        exported = [found for _, found in _EXPORT.findall(text)]
        body = _EXPORT.sub(r"\1 \2", _IMPORT.sub(r"const { \1 } = modules.\2;\n", text))
        parts[name] = f"modules.{name} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();\n"

    add(entry)
    return '"use strict";\nconst modules = {};\n' + "".join(parts.values())
