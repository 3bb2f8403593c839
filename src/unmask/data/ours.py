"""What the data we wrote ourselves have in common: cards that say so, and tables of pairs."""

from __future__ import annotations

from pathlib import Path

from unmask.core.types import Card, DataFile, Pair
from unmask.data.formats import decode, table
from unmask.data.items import LoadedItems, with_warnings

FOLDER = "builtin"
WRITERS = "Few writers, one second reader of every line, no annotators; English of the US only."


def card(name: str, title: str, *, file: str, sha256: str, size: int, problems: str) -> Card:
    """The card of a file we wrote; what is known of its writers comes before its own problems."""
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
    """The pairs of one of our files, with ids `<name>/<row>`; every column but the sentences is a group."""
    rows = table(decode(path.read_bytes(), path.name), path.name)
    return with_warnings(
        [
            Pair(f"{name}/{row:04}", cells.pop("more"), cells.pop("less"), groups=cells)
            for row, cells in enumerate(rows)
        ]
    )


def _citation(name: str, title: str) -> str:
    """One BibTeX entry for all we wrote, under the name of the set."""
    return f"""\
@misc{{unmask-{name},
  title = {{{title}}},
  author = {{{{The unmask developers}}}},
  year = {{2026}},
  note = {{Dataset {name} of unmask, CC BY 4.0}},
}}"""
