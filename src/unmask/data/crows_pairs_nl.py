"""Dutch CrowS-Pairs (Strazda & Spanakis, 2025)."""

from __future__ import annotations

from pathlib import Path

from unmask.core.types import Card, DataFile
from unmask.data.crows_table import CrowsLayout, load_table, original_id
from unmask.data.items import DatasetSource, LoadedItems

CITATION = """\
@inproceedings{strazda-spanakis-2025-dutch,
  title = {Dutch {CrowS}-Pairs: Adapting a Challenge Dataset for Measuring Social Biases in Language Models
           for {Dutch}},
  author = {Strazda, Elza and Spanakis, Gerasimos},
  booktitle = {Proceedings of the 15th International Conference on Recent Advances in Natural Language
               Processing (RANLP 2025)},
  year = {2025},
  note = {arXiv:2507.16442},
}"""

CARD = Card(
    name="crows-pairs-nl",
    title="CrowS-Pairs, Dutch",
    folder="crows_pairs_dutch",
    files=(
        DataFile(
            name="crows_dutch.csv",
            url="https://raw.githubusercontent.com/jerryspan/Dutch-CrowS-Pairs/"
            "7cf51965b4818a717d22068477fba951bca1eb90/datasets/crows_dutch.csv",
            sha256="07b9b562e947e782a0409ebac85b28b417838cf2d33c2f7f2a13766b431ddf35",
        ),
    ),
    licence="CC0 1.0 (translated from CC BY-SA 4.0 pairs)",
    languages=("nl",),
    citation=CITATION,
    source="jerryspan/Dutch-CrowS-Pairs@7cf5196:datasets/crows_dutch.csv",
    size=1463,
    problems=(
        "A translation of stereotypes collected in the US, adapted to the Netherlands by few people. "
        "The file is encoded in Mac Roman; in row 1324 the word 'één' was already broken when it was "
        "published, and row 81 ends in a line break on one side only; both are kept as they are. "
        "The objections of Blodgett et al. (2021) to the original pairs apply here too."
    ),
)


def load(path: Path) -> LoadedItems:
    """The Dutch pairs with category, direction and the number of the original pair."""
    return load_table(path, CARD.name, CrowsLayout(encoding="mac_roman"), original_id)


DATASET = DatasetSource(CARD, load)
