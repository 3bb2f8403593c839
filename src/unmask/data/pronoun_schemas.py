"""WinoBias and Winogender as pairs of sentences: two people and a pronoun that refers to one of them.

Zhao et al. (2018); Rudinger et al. (2018). Here it is only asked which pronoun a model expects; `data/riddles.py` has
the antecedents.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

from unmask.core.errors import DataError, quote
from unmask.core.types import Pair
from unmask.data.formats import decode, read_bytes, read_table
from unmask.data.items import DatasetSource, LoadedItems, read_card, with_warnings
from unmask.data.templates import FORMS

_BRACKETS = re.compile(r"\[([^\]]*)\]")
_MASCULINE, _FEMININE = {"he", "him", "his", "himself"}, {"she", "her", "hers", "herself"}


def load_winobias(path: Path) -> LoadedItems:
    """Pair the lines of pro- and anti-stereotypical files; all eight files are in one folder."""
    items, odd = [], []
    for name in (file.name for file in read_card("winobias").files if file.name.startswith("pro_")):
        kind, split = name.rsplit("_", maxsplit=1)[-1].split(".txt.")
        both = [_lines(path.parent / file) for file in (name, name.replace("pro_", "anti_"))]
        if len(both[0]) != len(both[1]):
            sizes = f"{len(both[0])} lines and its counterpart {len(both[1])}"
            raise DataError(f"{name} has {sizes}; expected the same number")
        for number, (pro, anti) in enumerate(zip(*both, strict=True), start=1):
            item = _winobias_item(pro, anti, kind, f"{kind}-{split}-{number:03}")
            items += [item] if item else []
            odd += [] if item else [f"{name} line {number}"]
    left_out = f"{len(odd)} lines without one occupation and one pronoun were left out ({''.join(odd[:1])} …)"
    return with_warnings(items, [left_out] if odd else [])


def _lines(path: Path) -> list[str]:
    text = decode(read_bytes(path, "the eight files of winobias"), path.name)
    return [re.sub(r"^\d+ ", "", line.strip()) for line in text.splitlines() if line.strip()]


def _winobias_item(pro: str, anti: str, kind: str, name: str) -> Pair | None:
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
    return Pair(f"winobias/{name}", more, less, groups=groups)


WHOM = {"0": "occupation", "1": "participant"}
SIDES = ("male", "female", "neutral")


def load_winogender(path: Path) -> LoadedItems:
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
    return with_warnings([_winogender_item(stem, by, path.name) for stem, by in by_sentence.items()])


def slot_of(more: str, less: str) -> str:
    """The slot of the pronoun in which two sentences differ: by both forms, else by the masculine form."""
    words = [(a, b) for a, b in zip_longest(more.split(), less.split(), fillvalue="") if a != b]
    forms = tuple(re.sub(r"\W", "", word).lower() for word in words[0]) if len(words) == 1 else ()
    fitting = [name for name, both in FORMS.items() if forms == both]
    slot = next(iter([*fitting, *(name for name, both in FORMS.items() if forms[:1] == both[:1])]), None)
    if slot is None:
        raise DataError(f"{quote(more)} and {quote(less)} do not differ in one pronoun")
    return slot


def _winogender_item(stem: str, by: Mapping[str, str], name: str) -> Pair:
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
    return Pair(f"winogender/{stem}", by["male"], by["female"], unrelated=by["neutral"], groups=groups)


DATASETS = (
    DatasetSource(read_card("winobias"), load_winobias),
    DatasetSource(read_card("winogender"), load_winogender),
)
