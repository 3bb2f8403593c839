"""Revised CrowS-Pairs (Névéol et al., 2022): the English side of the English-French file."""

from __future__ import annotations

from pathlib import Path

from unmask.core.types import Card, DataFile
from unmask.data.crows_table import CrowsLayout, load_table, original_id
from unmask.data.items import DatasetSource, LoadedItems

CITATION = r"""@inproceedings{neveol-etal-2022-french,
  title = {{French CrowS-Pairs}: Extending a challenge dataset for measuring social bias in masked language
           models to a language other than {English}},
  author = {N{\'e}v{\'e}ol, Aur{\'e}lie and Dupont, Yoann and Bezan{\c{c}}on, Julien and Fort, Kar{\"e}n},
  booktitle = {Proceedings of the 60th Annual Meeting of the Association for Computational Linguistics
               (Volume 1: Long Papers)},
  year = {2022},
  pages = {8521--8531},
  publisher = {Association for Computational Linguistics},
  doi = {10.18653/v1/2022.acl-long.583},
}"""

CARD = Card(
    name="crows-pairs-revised",
    title="CrowS-Pairs, revised English",
    folder="crows_pairs_neveol_en_fr",
    files=(
        DataFile(
            name="english_french_base_file.csv",
            url="https://raw.githubusercontent.com/JulienBez/CrowsPairsTools/"
            "a4824dcd27e409bcd55cb36e9bd541ac197e7804/data/english_french_base_file.csv",
            sha256="e4a5624b3bfa49ae1ed37ddb145e6e88a425af2cd4ce7d05701672468d692d9d",
        ),
    ),
    licence="CC BY-SA 4.0 (the repository of the file states none)",
    languages=("en",),
    citation=CITATION,
    source="JulienBez/CrowsPairsTools@a4824dc:data/english_french_base_file.csv",
    size=1677,
    problems=(
        "Not comparable with numbers on the 1,508 original pairs: 41 of those are gone, others were "
        "reworded, and 210 come from the French extension. Eleven pairs are of category `autre`, that is, "
        "of no type. Many objections of Blodgett et al. (2021) still hold; 275 pairs are not minimal by the "
        "count of the people who keep the file. Some sentences end in a space."
    ),
)


def load(path: Path) -> LoadedItems:
    """The English pairs with category, direction and the number of the original pair."""
    return load_table(path, CARD.name, CrowsLayout(delimiter="\t", suffix="_en_US"), original_id)


DATASET = DatasetSource(CARD, load)
