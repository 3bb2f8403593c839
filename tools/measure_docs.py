"""Write the table of docs/measures/README.md from the heads of the pages; a test fails when it is stale.

python tools/measure_docs.py
"""

from __future__ import annotations

import re
from pathlib import Path

from unmask.measures import MEASURES

FOLDER = Path(__file__).parents[1] / "docs" / "measures"
CELLS = "scores a sentence by | number, null | use it |"
HEAD = f"| measure | models | {CELLS}\n| --- | --- | --- | --- | --- |\n"
TOP = re.compile(rf"^\| measure \| {re.escape(CELLS)}\n\|(?: --- \|)+\n((?:\|.*\n)+)", re.MULTILINE)


def page() -> str:
    """The whole page: its rows in their order, new measures last."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    before, _, rest = text.partition(HEAD)
    rows, mark, after = rest.partition("\n\n")
    listed = [name for name in re.findall(r"^\| \[`([^`]+)`\]", rows, re.MULTILINE) if name in MEASURES]
    ordered = dict.fromkeys([*listed, *(name for name in MEASURES if not MEASURES.origin(name))])
    return before + HEAD + "\n".join(map(_row, ordered)) + mark + after


def rows() -> dict[str, tuple[str, str]]:
    """By measure: the page that describes it, and the cells at its head; a page may describe several."""
    cells: dict[str, tuple[str, str]] = {}
    for path in sorted(FOLDER.glob("*.md")):
        head = TOP.search(path.read_text(encoding="utf-8")) if path.stem != "README" else None
        for line in head[1].splitlines() if head else ():
            _, name, rest = line.split("|", 2)
            cells[name.strip(" `")] = path.name, rest
    return cells


def _row(name: str) -> str:
    """The row of a measure: its name, the kinds of model, and the cells at the head of its page."""
    known = rows()
    if name not in known:
        raise SystemExit(f"no page in docs/measures has a table with the columns measure | {CELLS} and a row {name}")
    page, cells = known[name]
    kinds = MEASURES[name].kinds
    return f"| [`{name}`]({page}) | {kinds[0] if len(kinds) == 1 else 'both'} |{cells}"


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(page(), encoding="utf-8")
