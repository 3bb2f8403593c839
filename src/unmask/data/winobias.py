"""WinoBias: two occupations and a pronoun that refers to one of them (Zhao et al., 2018)."""

from __future__ import annotations

import re
from pathlib import Path

from unmask.core.errors import DataError
from unmask.core.types import Card, Pair
from unmask.data.formats import decode, read_bytes
from unmask.data.items import DatasetSource, LoadedItems, github_files, with_warnings
from unmask.data.winogender import slot_of

SUMS = {
    "pro_stereotyped_type1.txt.dev": "dd55a0d220fe4c0ceb63dd4648223fb4fe1a58d5ad95c116a002ad24b0e292a5",
    "anti_stereotyped_type1.txt.dev": "a4e0ebae344e78b56f657a42e8ae684b9db7747d177c5e7149c0907ebb7f3bf6",
    "pro_stereotyped_type1.txt.test": "db7838907238a758eeb5779e48f38c013b892910d6fe864456c59f04245c6689",
    "anti_stereotyped_type1.txt.test": "331db5bd74bfefebf146a60b67645152a4a1991570d2a56f57154103ac361dd2",
    "pro_stereotyped_type2.txt.dev": "8f0250de723cea9328e3eaf7169e07936f01aa5909ce7aa580db66eb803f4e86",
    "anti_stereotyped_type2.txt.dev": "763ad829ad724f9a85ead689ba8ca69072020cb1238def6210f0fc6a47b97e59",
    "pro_stereotyped_type2.txt.test": "ea1c1fd94fa612e3cc44d7fa3cc4cb76021bb63fdf94f9826f430051e9052438",
    "anti_stereotyped_type2.txt.test": "336571ac1ea8c06cd2aba8e5dd2bd98e00acc0c48da3e4ec5ec7e54eb2633a8f",
}
PLACE = "uclanlp/corefBias/0bce984dd081bbc10b0622f326727a024c607895/WinoBias/wino/data/"
CARD = Card(
    name="winobias",
    title="WinoBias",
    folder="winobias/data",
    files=github_files(PLACE, SUMS),
    licence="MIT",
    languages=("en",),
    citation="""\
@inproceedings{zhao-etal-2018-gender,
  title = {Gender Bias in Coreference Resolution: Evaluation and Debiasing Methods},
  author = {Zhao, Jieyu and Wang, Tianlu and Yatskar, Mark and Ordonez, Vicente and Chang, Kai-Wei},
  booktitle = {Proceedings of NAACL-HLT},
  year = {2018},
}""",
    source="uclanlp/corefBias@0bce984:WinoBias/wino/data/pro_stereotyped_type1.txt.dev and seven more",
    size=1522,
    problems=(
        "Side `more` is the masculine sentence, not a stereotype: whether the occupation is held by more men "
        "or women is `category`. Made to test coreference: here it is only asked which pronoun a model "
        "expects. 40 occupations; type 1 must be understood, type 2 can be solved by grammar (`kind`). "
        "Of the 1,584 lines 62 are left out: they have several pronouns, or the two files differ in more "
        "than the pronoun. A possessive 's stands apart from its noun, as published."
    ),
)
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_MASCULINE, _FEMININE = {"he", "him", "his", "himself"}, {"she", "her", "hers", "herself"}


def load(path: Path) -> LoadedItems:
    """Pair the lines of pro- and anti-stereotypical files; all eight files are in one folder."""
    items, odd = [], []
    for name in (file for file in SUMS if file.startswith("pro_")):
        kind, split = name.rsplit("_", maxsplit=1)[-1].split(".txt.")
        both = [_lines(path.parent / file) for file in (name, name.replace("pro_", "anti_"))]
        if len(both[0]) != len(both[1]):
            sizes = f"{len(both[0])} lines and its counterpart {len(both[1])}"
            raise DataError(f"{name} has {sizes}; expected the same number")
        for number, (pro, anti) in enumerate(zip(*both, strict=True), start=1):
            item = _item(pro, anti, kind, f"{kind}-{split}-{number:03}")
            items += [item] if item else []
            odd += [] if item else [f"{name} line {number}"]
    left_out = f"{len(odd)} lines without one occupation and one pronoun were left out ({''.join(odd[:1])} …)"
    return with_warnings(items, [left_out] if odd else [])


def _lines(path: Path) -> list[str]:
    text = decode(read_bytes(path, "the eight files of winobias"), path.name)
    return [re.sub(r"^\d+ ", "", line.strip()) for line in text.splitlines() if line.strip()]


def _item(pro: str, anti: str, kind: str, name: str) -> Pair | None:
    """An item; None if the two lines differ in more than one pronoun."""
    marked = _BRACKETS.findall(pro), _BRACKETS.findall(anti)
    plain = [" ".join(_BRACKETS.sub(r"\1", text).split()) for text in (pro, anti)]
    if any(len(marks) != 2 for marks in marked) or len(plain[0].split()) != len(plain[1].split()):
        return None
    word, pronoun = (text.strip().lower() for text in marked[0])
    stereotype = "male" if pronoun in _MASCULINE else "female" if pronoun in _FEMININE else ""
    more, less = plain if stereotype == "male" else plain[::-1]
    if not stereotype or sum(a != b for a, b in zip(more.split(), less.split(), strict=True)) != 1:
        return None
    groups = {
        "category": stereotype,
        "word": re.sub(r"^(the|an?) ", "", word),
        "goal": "zero",
        "slot": slot_of(more, less),
        "template": name,
        "kind": kind,
    }
    return Pair(f"{CARD.name}/{name}", more, less, groups=groups)


DATASET = DatasetSource(CARD, load)
