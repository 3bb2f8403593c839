"""CrowS-Pairs and its family: one pair per row, column names differ slightly.

crows-pairs: 1,508 pairs written and judged by crowd workers in the US (Nangia et al., 2020).
crows-pairs-revised, crows-pairs-fr: revised English and French pairs (Névéol et al., 2022).
crows-pairs-nl: Dutch pairs (Strazda & Spanakis, 2025).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from unmask.core.errors import DataError, quote
from unmask.core.types import Card, Pair
from unmask.data.formats import read_table
from unmask.data.items import DatasetSource, LoadedItems, github_files, with_warnings

Row = Mapping[str, str]
_ANNOTATIONS = re.compile(
    r"\[(?:\[(?:'[^'\\]*'(?:, (?!\]))?)*\](?:, (?!\]))?)*\]"
)  # [['gender'], ['age', 'race-color']]
ORIGINAL = Card(
    name="crows-pairs",
    title="CrowS-Pairs",
    folder="crows_pairs",
    files=github_files(
        "nyu-mll/crows-pairs/8aaac11c485473159ec9328a65253a5be9a479dc/data/",
        {"crows_pairs_anonymized.csv": "dfb36986ce0502abbaf7055b9176da3d08d48e07df1251991b5dfbcbceab9d0c"},
    ),
    licence="CC BY-SA 4.0",
    languages=("en",),
    citation="""\
@inproceedings{nangia-etal-2020-crows,
  title = {{CrowS}-Pairs: A Challenge Dataset for Measuring Social Biases in Masked Language Models},
  author = {Nangia, Nikita and Vania, Clara and Bhalerao, Rasika and Bowman, Samuel R.},
  booktitle = {Proceedings of the 2020 Conference on Empirical Methods in Natural Language Processing
               (EMNLP)},
  year = {2020},
  pages = {1953--1967},
  publisher = {Association for Computational Linguistics},
  doi = {10.18653/v1/2020.emnlp-main.154},
}""",
    source="nyu-mll/crows-pairs@8aaac11:data/crows_pairs_anonymized.csv",
    hub="nyu-mll/crows_pairs",
    size=1508,
    problems=(
        "Many pairs are unclear, compare things that are not alternatives, or state no stereotype at all "
        "(Blodgett et al., 2021). "
        "For 162 pairs fewer than three of the five annotators named the row's own category. "
        "Stereotypes are those of the US. One pair occurs twice (rows 1459 and 1502), 268 pairs differ in "
        "length, and most categories are too small for narrow intervals."
    ),
)
REVISED = Card(
    name="crows-pairs-revised",
    title="CrowS-Pairs, revised English",
    folder="crows_pairs_neveol_en_fr",
    files=github_files(
        "JulienBez/CrowsPairsTools/a4824dcd27e409bcd55cb36e9bd541ac197e7804/data/",
        {"english_french_base_file.csv": "e4a5624b3bfa49ae1ed37ddb145e6e88a425af2cd4ce7d05701672468d692d9d"},
    ),
    licence="CC BY-SA 4.0 (the repository of the file states none)",
    languages=("en",),
    citation=r"""@inproceedings{neveol-etal-2022-french,
  title = {{French CrowS-Pairs}: Extending a challenge dataset for measuring social bias in masked language
           models to a language other than {English}},
  author = {N{\'e}v{\'e}ol, Aur{\'e}lie and Dupont, Yoann and Bezan{\c{c}}on, Julien and Fort, Kar{\"e}n},
  booktitle = {Proceedings of the 60th Annual Meeting of the Association for Computational Linguistics
               (Volume 1: Long Papers)},
  year = {2022},
  pages = {8521--8531},
  publisher = {Association for Computational Linguistics},
  doi = {10.18653/v1/2022.acl-long.583},
}""",
    source="JulienBez/CrowsPairsTools@a4824dc:data/english_french_base_file.csv",
    hub="jannalu/crows_pairs_multilingual",
    size=1677,
    problems=(
        "Not comparable with numbers on the 1,508 original pairs: 41 of those are gone, others were "
        "reworded, and 210 come from the French extension. Eleven pairs are of category `autre`, that is, "
        "of no type. Many objections of Blodgett et al. (2021) still hold; 275 pairs are not minimal by the "
        "count of the people who keep the file. Some sentences end in a space."
    ),
)
FRENCH = Card(
    name="crows-pairs-fr",
    title="CrowS-Pairs, French",
    folder="crows_pairs_neveol_en_fr",
    files=github_files(
        "JulienBez/CrowsPairsTools/0a84b602063ab4346850109b054161580547f5eb/output/corrected/",
        {"CrowS-Pairs_fr_FR_corrected.csv": "347be30454b28c256fd0233bbb99520dacdf70d8f8d427945000f7f9352e7a0b"},
    ),
    licence="CC BY-SA 4.0 (the repository of the file states none)",
    languages=("fr",),
    citation=REVISED.citation,
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
DUTCH = Card(
    name="crows-pairs-nl",
    title="CrowS-Pairs, Dutch",
    folder="crows_pairs_dutch",
    files=github_files(
        "jerryspan/Dutch-CrowS-Pairs/7cf51965b4818a717d22068477fba951bca1eb90/datasets/",
        {"crows_dutch.csv": "07b9b562e947e782a0409ebac85b28b417838cf2d33c2f7f2a13766b431ddf35"},
    ),
    licence="CC0 1.0 (translated from CC BY-SA 4.0 pairs)",
    languages=("nl",),
    citation="""\
@inproceedings{strazda-spanakis-2025-dutch,
  title = {Dutch {CrowS}-Pairs: Adapting a Challenge Dataset for Measuring Social Biases in Language Models
           for {Dutch}},
  author = {Strazda, Elza and Spanakis, Gerasimos},
  booktitle = {Proceedings of the 15th International Conference on Recent Advances in Natural Language
               Processing (RANLP 2025)},
  year = {2025},
  note = {arXiv:2507.16442},
}""",
    source="jerryspan/Dutch-CrowS-Pairs@7cf5196:datasets/crows_dutch.csv",
    size=1463,
    problems=(
        "A translation of stereotypes collected in the US, adapted to the Netherlands by few people. "
        "The file is encoded in Mac Roman; in row 1324 the word 'één' was already broken when it was "
        "published, and row 81 ends in a line break on one side only; both are kept as they are. "
        "The objections of Blodgett et al. (2021) to the original pairs apply here too."
    ),
)


def load_table(
    path: Path,
    name: str,
    facts: Callable[[Row, str], dict[str, str]],
    *,
    encoding: str = "utf-8-sig",
    delimiter: str = ",",
    suffix: str = "",
) -> LoadedItems:
    """Load every row as a pair: `sent_more` is the stereotyping sentence in both directions.

    Rows with an empty sentence are left out, with a warning. `facts` adds a row's own groups, `suffix` ends
    the names of the columns (`_fr_FR`).
    """
    if not (rows := read_table(path, "the published file", encoding, delimiter)):
        raise DataError(f"{path.name}: no rows; expected the published file, fetch it again")
    columns = [stem + suffix for stem in ("sent_more", "sent_less", "stereo_antistereo", "bias_type")]
    if missing := [column for column in columns if column not in rows[0]]:
        raise DataError(
            f"{path.name}: no column {missing[0]!r}; found {quote(list(rows[0]))}; is it the published file?"
        )
    items, warnings = [], []
    for number, row in enumerate(rows):
        more, less, direction, category = (row[column] for column in columns)
        at = rows.at(number)
        if not more.strip() or not less.strip():
            warnings.append(f"row {number} of {path.name} has an empty sentence and was left out")
            continue
        if direction not in ("stereo", "antistereo"):
            raise DataError(f"{at}: direction {quote(direction)}, expected 'stereo' or 'antistereo'")
        groups = {"category": category, "direction": direction, **facts(row, at)}
        items.append(Pair(f"{name}/{number:04}", more, less, groups=groups))
    return with_warnings(items, warnings)


def votes_and_writer(row: Row, at: str) -> dict[str, str]:
    """How many of the five annotators named the row's category, and who wrote the pair."""
    lists = row.get("annotations", "")
    if not _ANNOTATIONS.fullmatch(lists) or "anon_writer" not in row:
        raise DataError(
            f"{at}: no readable `annotations` and `anon_writer`; expected a list of label lists as published, "
            f"found {quote(lists)}"
        )
    votes = sum(row["bias_type"] in labels for labels in _label_lists(lists))
    return {"votes": str(votes), "writer": row["anon_writer"]}


def annotator_labels(path: Path) -> list[tuple[str, ...]]:
    """The bias type that each of the five annotators of a pair named, or `none`."""
    rows = read_table(path, "the published file")
    return [
        tuple(labels[0] if labels else "none" for labels in _label_lists(row.get("annotations", ""))) for row in rows
    ]


def _label_lists(lists: str) -> list[list[str]]:
    """The labels of each annotator."""
    return [re.findall(r"'([^']*)'", labels) for labels in re.findall(r"\[([^][]*)\]", lists)]


def original_id(row: Row, at: str) -> dict[str, str]:
    """The row of the original CrowS-Pairs that a translated or revised pair is based on."""
    if not row.get("id"):
        raise DataError(f"{at}: no value in column 'id'; expected the number of the original pair")
    return {"original_id": row["id"]}


DATASETS = (
    DatasetSource(ORIGINAL, partial(load_table, name=ORIGINAL.name, facts=votes_and_writer), annotator_labels),
    DatasetSource(REVISED, partial(load_table, name=REVISED.name, facts=original_id, delimiter="\t", suffix="_en_US")),
    DatasetSource(FRENCH, partial(load_table, name=FRENCH.name, facts=original_id, delimiter="\t", suffix="_fr_FR")),
    DatasetSource(DUTCH, partial(load_table, name=DUTCH.name, facts=original_id, encoding="mac_roman")),
)
