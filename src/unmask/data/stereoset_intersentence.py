"""StereoSet (Nadeem et al., 2021), development set, intersentence: which sentence follows the context?"""

from __future__ import annotations

from pathlib import Path

from unmask.core.types import Card
from unmask.data.items import DatasetSource, LoadedItems
from unmask.data.stereoset import CITATION, FILE, load_part

CARD = Card(
    name="stereoset-intersentence",
    title="StereoSet, intersentence",
    folder="stereoset",
    files=(FILE,),
    licence="CC BY-SA 4.0",
    languages=("en",),
    citation=CITATION,
    source="moinnadeem/StereoSet@ead7d08:data/dev.json (data.intersentence)",
    size=2123,
    problems=(
        "The three sentences after a context are free text and no minimal pairs: length, style and fluency "
        "differ with the stereotype. "
        "Many examples are unclear or no stereotype at all (Blodgett et al., 2021). "
        "The published score needs a model with a next-sentence head. Only 79 target terms. "
        "Stereotypes are those of the US."
    ),
)


def load(path: Path) -> LoadedItems:
    """The intersentence triples; the context is the sentence before."""
    return load_part(path, CARD.name, "intersentence")


DATASET = DatasetSource(CARD, load)
