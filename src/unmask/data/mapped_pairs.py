"""Published pairs in Japanese and Russian, read by a mapping of their columns.

crows-pairs-ja, crows-pairs-ru: pairs of CrowS-Pairs about gender, translated by hand (Kaneko et al., 2022).
rubia: pairs written in Russian by volunteers (Grigoreva et al., 2024).

Their checksums are not known here: you bring the files, and numbers on them count as unverified.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from unmask.core.types import Card
from unmask.data import pairs
from unmask.data.columns import Column, map_columns
from unmask.data.formats import read_records
from unmask.data.items import DatasetSource, LoadedItems, github_files

TRANSLATED = {
    "more": Column("stereotype"),
    "less": Column("anti-stereotype"),
    "category": Column("bias_type"),
    "direction": Column("direction"),
    "rating": Column("bias_score"),
}
TROPES = {
    "id": Column(""),
    "more": Column("pro-trope"),
    "less": Column("anti-trope"),
    "category": Column("domain"),
    "task": Column("task_type"),
}
_FOLDER = "bias_eval_in_multiple_mlm"
_CITATION = """\
@inproceedings{kaneko-etal-2022-gender,
  title = {Gender Bias in Masked Language Models for Multiple Languages},
  author = {Kaneko, Masahiro and Imankulova, Aizhan and Bollegala, Danushka and Okazaki, Naoaki},
  booktitle = {Proceedings of the 2022 Conference of the North American Chapter of the Association for
               Computational Linguistics: Human Language Technologies},
  year = {2022},
}"""
_PROBLEMS = (
    "Gender only, two genders, stereotypes of the US in translation: the objections of Blodgett et al. (2021) to the "
    "original pairs apply here too. The number of pairs is not stated by its README, nor what its rating (`bias_score`)"
    " means. "
)


def _missing(path: str, commit: str) -> str:
    return f"its checksum is not known here: download {path} of its repository at commit {commit}"


JAPANESE = Card(
    name="crows-pairs-ja",
    title="CrowS-Pairs about gender, Japanese",
    folder=_FOLDER,
    files=github_files(
        f"kanekomasahiro/{_FOLDER}/bb2f2c718d17f41444112b4191e46fd8d436a141/translated_data/", {"japanese.json": ""}
    ),
    licence="MIT (translated from CC BY-SA 4.0 pairs)",
    languages=("ja",),
    citation=_CITATION,
    source=f"kanekomasahiro/{_FOLDER}@bb2f2c7:translated_data/japanese.json",
    size=0,
    problems=f"{_PROBLEMS}Names are Japanese; some pairs differ in more than the words for a gender.",
    manual=_missing("translated_data/japanese.json", "bb2f2c7"),
)
RUSSIAN = Card(
    name="crows-pairs-ru",
    title="CrowS-Pairs about gender, Russian",
    folder=_FOLDER,
    files=github_files(
        f"kanekomasahiro/{_FOLDER}/2161cd94227fc1e8c3b25efef6afaf723be8b56d/translated_data/", {"russian.json": ""}
    ),
    licence=JAPANESE.licence,
    languages=("ru",),
    citation=_CITATION,
    source=f"kanekomasahiro/{_FOLDER}@2161cd9:translated_data/russian.json",
    size=0,
    problems=(
        f"{_PROBLEMS}The text is tokenized and escaped: spaces before punctuation, `@-@` for a hyphen and `&quot;` for "
        "quotes, which no model was trained on; it is kept as it is. Agreement makes pairs differ in several words."
    ),
    manual=_missing("translated_data/russian.json", "2161cd9"),
)
RUBIA = Card(
    name="rubia",
    title="RuBia",
    folder="rubia",
    files=github_files("vergrig/RuBia-Dataset/3c39e21e6300f7d3af8928bf3c20e9eae0eb5d24/", {"rubia.tsv": ""}),
    licence="CC BY 4.0",
    languages=("ru",),
    citation="""\
@inproceedings{grigoreva-etal-2024-rubia,
  title = {{RuBia}: A {Russian} Language Bias Detection Dataset},
  author = {Grigoreva, Veronika and Ivanova, Anastasiia and Alimova, Ilseyar and Artemova, Ekaterina},
  booktitle = {Proceedings of the 2024 Joint International Conference on Computational Linguistics, Language Resources
               and Evaluation (LREC-COLING 2024)},
  year = {2024},
  pages = {14227--14239},
}""",
    source="vergrig/RuBia-Dataset@3c39e21:rubia.tsv",
    size=1989,
    problems=(
        "The number of pairs is that of its paper. Many sentences of one kind of task (`task`) reword each "
        "other, so items are not independent. Agreement makes pairs differ in several words; in some tasks the second "
        "sentence is about people in general. The domain of diverse tropes was not validated by annotators."
    ),
    manual=_missing("rubia.tsv", "3c39e21"),
)


def load(path: Path, name: str, columns: Mapping[str, Column]) -> LoadedItems:
    """The pairs of a file, by its columns."""
    return pairs.items(map_columns(read_records(path, "the published file"), columns), name)


DATASETS = (
    DatasetSource(JAPANESE, partial(load, name=JAPANESE.name, columns=TRANSLATED)),
    DatasetSource(RUSSIAN, partial(load, name=RUSSIAN.name, columns=TRANSLATED)),
    DatasetSource(RUBIA, partial(load, name=RUBIA.name, columns=TROPES)),
)
