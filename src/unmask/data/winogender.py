"""Winogender schemas: an occupation, a participant and a pronoun (Rudinger et al., 2018)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

from unmask.core.errors import DataError, quote
from unmask.core.types import Card, Pair
from unmask.data.formats import read_table
from unmask.data.items import DatasetSource, LoadedItems, github_files, with_warnings
from unmask.data.templates import FORMS

PLACE = "rudinger/winogender-schemas/1c7f8b481ad8a234b41e9f76a424d6e856e13f7f/data/"
CARD = Card(
    name="winogender",
    title="Winogender schemas",
    folder="winogender",
    files=github_files(
        PLACE, {"all_sentences.tsv": "bd69da16bf228cb8df63fd0843aec2d8b5c36a7f21bf8c7b168bcc83932556c8"}
    ),
    licence="MIT",
    languages=("en",),
    citation="""\
@inproceedings{rudinger-etal-2018-gender,
  title = {Gender Bias in Coreference Resolution},
  author = {Rudinger, Rachel and Naradowsky, Jason and Leonard, Brian and Van Durme, Benjamin},
  booktitle = {Proceedings of NAACL-HLT},
  year = {2018},
}""",
    source="rudinger/winogender-schemas@1c7f8b4:data/all_sentences.tsv",
    size=240,
    problems=(
        "Side `more` is the masculine sentence, not a stereotype; the third has they. Made to test "
        "coreference: here it is only asked which pronoun a model expects. 60 occupations, one pair of "
        "sentences each, and each sentence again with 'someone' for the other person: items of one "
        "occupation are not independent. `category` says whom the pronoun means, by the sentence's sense. "
        "Gautam et al. (2024) list its errors (cases treated alike, templates that break its own rules, misprints) and "
        "publish corrected templates, WinoPron."
    ),
)
WHOM = {"0": "occupation", "1": "participant"}
SIDES = ("male", "female", "neutral")


def load(path: Path) -> LoadedItems:
    """Every sentence with he and with she, and with they as the third; in the order of the file."""
    by_sentence: dict[str, dict[str, str]] = {}
    rows = read_table(path, "the published file")
    for at, row in enumerate(rows):
        parts = row.get("sentid", "").split(".")
        stem, gender = parts[:3], parts[3] if len(parts) == 5 else ""
        if len(stem) != 3 or gender not in SIDES or stem[2] not in WHOM:
            raise DataError(f"{rows.at(at)}: {quote(row.get('sentid'))}, expected occupation.other.answer.gender.txt")
        if "sentence" not in row:
            raise DataError(f"{rows.at(at)}: no column 'sentence'; is it the published file?")
        by_sentence.setdefault(".".join(stem), {})[gender] = row["sentence"]
    return with_warnings([_item(stem, by, path.name) for stem, by in by_sentence.items()])


def slot_of(more: str, less: str) -> str:
    """The slot of the pronoun in which two sentences differ: by both forms, else by the masculine form."""
    words = [(a, b) for a, b in zip_longest(more.split(), less.split(), fillvalue="") if a != b]
    forms = tuple(re.sub(r"\W", "", word).lower() for word in words[0]) if len(words) == 1 else ()
    fitting = [name for name, both in FORMS.items() if forms == both]
    slot = next(iter([*fitting, *(name for name, both in FORMS.items() if forms[:1] == both[:1])]), None)
    if slot is None:
        raise DataError(f"{quote(more)} and {quote(less)} do not differ in one pronoun")
    return slot


def _item(stem: str, by: Mapping[str, str], name: str) -> Pair:
    if lacking := [side for side in SIDES if side not in by]:
        raise DataError(f"{name}: {quote(stem)} has no {lacking[0]} sentence; expected {', '.join(SIDES)}")
    occupation, _, answer = stem.split(".")
    groups = {
        "category": WHOM[answer],
        "word": occupation,
        "goal": "zero",
        "slot": slot_of(by["male"], by["female"]),
        "template": stem.replace(".", "-"),
    }
    return Pair(f"{CARD.name}/{stem}", by["male"], by["female"], unrelated=by["neutral"], groups=groups)


DATASET = DatasetSource(CARD, load)
