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


def page() -> str:
    """The whole page: its rows in their order, new measures last."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    before, _, rest = text.partition(HEAD)
    rows, mark, after = rest.partition("\n\n")
    listed = [name for name in re.findall(r"^\| \[`([^`]+)`\]", rows, re.MULTILINE) if name in MEASURES]
    ordered = dict.fromkeys([*listed, *(name for name in MEASURES if not MEASURES.origin(name))])
    return before + HEAD + "\n".join(map(_row, ordered)) + mark + after


def _row(name: str) -> str:
    """The row of a measure: its name, the kinds of model, and the cells at the head of its page."""
    text = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
    found = re.search(rf"^\| {re.escape(CELLS)}\n\| --- \| --- \| --- \|\n(\|.*)$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"docs/measures/{name}.md has no table with the columns {CELLS}")
    kinds = MEASURES[name].kinds
    return f"| [`{name}`]({name}.md) | {kinds[0] if len(kinds) == 1 else 'both'} {found[1]}"


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(page(), encoding="utf-8")
