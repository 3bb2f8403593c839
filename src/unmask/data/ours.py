"""Shared by the built-in datasets: their cards and tables of pairs."""

from __future__ import annotations

from pathlib import Path

from unmask.core.types import Card, DataFile, Pair
from unmask.data.formats import decode, table
from unmask.data.items import LoadedItems, with_warnings

FOLDER = "builtin"
WRITERS = "Few writers, one second reader of every line, no annotators; English of the US only."


def card(name: str, title: str, *, file: str, sha256: str, size: int, problems: str) -> Card:
    """The card of a built-in file; `WRITERS` comes before its own known problems."""
    return Card(
        name=name,
        title=title,
        folder=FOLDER,
        files=(DataFile(file, url="", sha256=sha256),),
        licence="CC BY 4.0",
        languages=("en",),
        citation=_citation(name, title),
        source=f"unmask:data/{FOLDER}/{file}",
        size=size,
        problems=f"{WRITERS} {problems}",
    )


def load_pairs(path: Path, name: str) -> LoadedItems:
    """Load a built-in file of pairs, with ids `<name>/<row>`; all other columns are groups."""
    rows = table(decode(path.read_bytes(), path.name), path.name)
    return with_warnings(
        [
            Pair(f"{name}/{row:04}", cells.pop("more"), cells.pop("less"), groups=cells)
            for row, cells in enumerate(rows)
        ]
    )


def _citation(name: str, title: str) -> str:
    """The BibTeX entry of a built-in dataset."""
    return f"""\
@misc{{unmask-{name},
  title = {{{title}}},
  author = {{{{The unmask developers}}}},
  year = {{2026}},
  note = {{Dataset {name} of unmask, CC BY 4.0}},
}}"""
