"""CrowS-Pairs (Nangia et al., 2020): 1,508 pairs written and judged by crowd workers in the US."""

from __future__ import annotations

import ast
from pathlib import Path

from unmask.core.errors import DataError
from unmask.core.types import Card, DataFile
from unmask.data.crows_table import CrowsLayout, Row, load_table
from unmask.data.items import DatasetSource, LoadedItems

CITATION = """\
@inproceedings{nangia-etal-2020-crows,
  title = {{CrowS}-Pairs: A Challenge Dataset for Measuring Social Biases in Masked Language Models},
  author = {Nangia, Nikita and Vania, Clara and Bhalerao, Rasika and Bowman, Samuel R.},
  booktitle = {Proceedings of the 2020 Conference on Empirical Methods in Natural Language Processing
               (EMNLP)},
  year = {2020},
  pages = {1953--1967},
  publisher = {Association for Computational Linguistics},
  doi = {10.18653/v1/2020.emnlp-main.154},
}"""

CARD = Card(
    name="crows-pairs",
    title="CrowS-Pairs",
    folder="crows_pairs",
    files=(
        DataFile(
            name="crows_pairs_anonymized.csv",
            url="https://raw.githubusercontent.com/nyu-mll/crows-pairs/"
            "8aaac11c485473159ec9328a65253a5be9a479dc/data/crows_pairs_anonymized.csv",
            sha256="dfb36986ce0502abbaf7055b9176da3d08d48e07df1251991b5dfbcbceab9d0c",
        ),
    ),
    licence="CC BY-SA 4.0",
    languages=("en",),
    citation=CITATION,
    source="nyu-mll/crows-pairs@8aaac11:data/crows_pairs_anonymized.csv",
    size=1508,
    problems=(
        "Many pairs are unclear, compare things that are not alternatives, or state no stereotype at all "
        "(Blodgett et al., 2021). "
        "For 162 pairs fewer than three of the five annotators named the row's own category. "
        "Stereotypes are those of the US. One pair occurs twice (rows 1459 and 1502), 268 pairs differ in "
        "length, and most categories are too small for narrow intervals."
    ),
)


def load(path: Path) -> LoadedItems:
    """The 1,508 pairs with category, direction, writer and votes for the category."""
    return load_table(path, CARD.name, CrowsLayout(), _facts)


def _facts(row: Row, at: str) -> dict[str, str]:
    """How many of the five annotators named the row's category, and who wrote the pair."""
    try:
        votes = sum(row["bias_type"] in labels for labels in ast.literal_eval(row["annotations"]))
        return {"votes": str(votes), "writer": row["anon_writer"]}
    except (KeyError, ValueError, SyntaxError, TypeError):
        raise DataError(
            f"{at}: no readable `annotations` and `anon_writer`; expected a list of label lists as published"
        ) from None


DATASET = DatasetSource(CARD, load)
