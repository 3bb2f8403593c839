"""The pairs that ship with this project: 120 everyday sentences, for a first look and for tests."""

from __future__ import annotations

from pathlib import Path

from unmask.data.formats import records
from unmask.data.items import Loaded
from unmask.data.pairs import items
from unmask.types import Card, DataFile

CITATION = """\
@misc{unmask-pairs,
  title = {unmask's own sentence pairs},
  author = {{The unmask developers}},
  year = {2026},
}"""

CARD = Card(
    name="unmask-pairs",
    title="unmask's own pairs",
    folder="builtin",
    files=(
        DataFile(
            name="pairs.csv",
            url="",
            sha256="21e40e4e21c9268327adfe5dc4d314c25b144ba37972df7422e67da9c8452f5a",
        ),
    ),
    licence="Apache-2.0",
    languages=("en",),
    citation=CITATION,
    source="unmask:data/builtin/pairs.csv",
    size=120,
    problems=(
        "Small: with 120 pairs only a strong preference can be told from none, and its categories of 8 to 40 "
        "pairs give a first look at best. Written by few people and judged by no annotators. "
        "English only, with stereotypes of the US and Europe. No published numbers to compare with: "
        "for results to report, use a published set beside it."
    ),
)


def load(path: Path) -> Loaded:
    """The 120 pairs with category and direction."""
    return items(records(path.read_bytes(), path.suffix, path.name), CARD.name, path.name)
