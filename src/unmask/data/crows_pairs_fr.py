"""French CrowS-Pairs (Névéol et al., 2022)."""

from __future__ import annotations

from pathlib import Path

from unmask.core.types import Card, DataFile
from unmask.data.crows_pairs_revised import CITATION
from unmask.data.crows_table import CrowsLayout, load_table, original_id
from unmask.data.items import DatasetSource, LoadedItems

CARD = Card(
    name="crows-pairs-fr",
    title="CrowS-Pairs, French",
    folder="crows_pairs_neveol_en_fr",
    files=(
        DataFile(
            name="CrowS-Pairs_fr_FR_corrected.csv",
            url="https://raw.githubusercontent.com/JulienBez/CrowsPairsTools/"
            "0a84b602063ab4346850109b054161580547f5eb/output/corrected/CrowS-Pairs_fr_FR_corrected.csv",
            sha256="347be30454b28c256fd0233bbb99520dacdf70d8f8d427945000f7f9352e7a0b",
        ),
    ),
    licence="CC BY-SA 4.0 (the repository of the file states none)",
    languages=("fr",),
    citation=CITATION,
    source="JulienBez/CrowsPairsTools@0a84b60:output/corrected/CrowS-Pairs_fr_FR_corrected.csv",
    size=1676,
    problems=(
        "Mostly translations of stereotypes collected in the US, adapted to France; 210 pairs were collected "
        "in French. Of 1,677 rows, row 128 has no second sentence and is left out; rows 58, 372 and 381 have "
        "two identical sentences. "
        "French agreement makes many pairs differ in several words, and some sentences end in a space. "
        "The objections of Blodgett et al. (2021) to the original pairs apply here too."
    ),
)


def load(path: Path) -> LoadedItems:
    """The French pairs with category, direction and the number of the original pair."""
    return load_table(path, CARD.name, CrowsLayout(delimiter="\t", suffix="_fr_FR"), original_id)


DATASET = DatasetSource(CARD, load)
