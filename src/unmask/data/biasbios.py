"""BiasBios: biographies, the occupation they are of, and a gender (De-Arteaga et al., 2019).

The text cannot be shipped or fetched from one place that lasts, so it is read from the user's files: the
hub's mirror as Parquet or JSONL (`hard_text`, `profession`, `gender`), a folder of CSV files of the same
columns, or the original pickle, which can run code and is therefore only read where that was allowed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unmask.core.errors import DataError
from unmask.data.examples import Example, Source, column, find_local, rows_of, user_source
from unmask.data.formats import SUFFIXES

FOLDERS = ("biasbios", "bias_in_bios", "biasbios_sample")
PROFESSIONS = (
    *("accountant", "architect", "attorney", "chiropractor", "comedian", "composer", "dentist", "dietitian"),
    *(
        "dj",
        "filmmaker",
        "interior_designer",
        "journalist",
        "model",
        "nurse",
        "painter",
        "paralegal",
        "pastor",
    ),
    *("personal_trainer", "photographer", "physician", "poet", "professor", "psychologist", "rapper"),
    *("software_engineer", "surgeon", "teacher", "yoga_teacher"),
)
_GENDERS = {"f": "female", "female": "female", "1": "female", "m": "male", "male": "male", "0": "male"}
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'“])")


def files(named: Path | None, data_dir: Path | None) -> tuple[Source, ...]:
    """The file or folder named, else a folder of the usual name below a data directory."""
    place = named or next((at for name in FOLDERS if (at := find_local(name, data_dir=data_dir))), None)
    if place is None:
        raise DataError(
            f"no biographies: looked for a folder {' or '.join(FOLDERS)} below --data-dir, "
            "$UNMASK_DATA_DIR and "
            "the cache; name a file (hard_text, profession, gender) with --train"
        )
    if not place.is_dir():
        return (user_source(place),)
    found = sorted(path for path in place.rglob("*") if path.suffix.lower() in (*SUFFIXES, ".pkl"))
    kept = [path for path in found if path.suffix.lower() != ".json"]  # lists of names lie beside the data
    if not kept:
        raise DataError(f"{place} holds no biographies: expected {', '.join(SUFFIXES)}")
    return tuple(user_source(path) for path in kept)


def load(sources: Sequence[Source], *, allow_pickle: bool = False) -> tuple[Example, ...]:
    """Biographies without their first sentence, equal ones once, in the order of the files."""
    made = [example for source in sources for example in _examples(source, allow_pickle)]
    return tuple({one.text: one for one in made if one.text.strip()}.values())


def part_of(text: str) -> str:
    """Which part a biography belongs to, by its hash alone: 80% train, 10% dev, 10% test."""
    tenth = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % 10
    return "train" if tenth < 8 else "dev" if tenth == 8 else "test"


def without_first_sentence(text: str) -> str:
    """What follows the first sentence, which names the occupation; nothing where there is only one."""
    return (
        _SENTENCE.split(text.strip(), maxsplit=1)[-1]
        if len(_SENTENCE.split(text.strip(), maxsplit=1)) > 1
        else ""
    )


def scrubber(words: Iterable[str]) -> Callable[[str], str]:
    """A function that puts `_` in the place of every one of these words, whatever their case."""
    listed = "|".join(sorted(map(re.escape, {word.lower() for word in words}), key=len, reverse=True))
    pattern = re.compile(rf"\b(?:{listed})\b", re.IGNORECASE)
    return lambda text: pattern.sub("_", text)


def _examples(source: Source, allow_pickle: bool) -> list[Example]:
    if source.path.suffix.lower() == ".pkl":
        return [_original(row) for row in _unpickled(source, allow_pickle)]
    rows = rows_of(source)
    job = column(rows, ("profession", "title", "occupation"), source)
    gender = column(rows, ("gender",), source)
    text = column(rows, ("hard_text", "text", "bio", "raw"), source)
    found = []
    for at, row in enumerate(rows):
        where = f"{source.name}, row {at} (from 0)"
        body = str(row[text]) if text == "hard_text" else without_first_sentence(str(row[text]))
        found.append(Example(body, None, _job(row[job], where), {"gender": _gender(row[gender], where)}))
    return found


def _job(value: object, where: str) -> str:
    """A name, or its number in the alphabetical list, as on the hub."""
    text = str(value).strip()
    if text.isdigit():
        if int(text) >= len(PROFESSIONS):
            raise DataError(
                f"{where}: profession {text}, expected a number below {len(PROFESSIONS)} or a name"
            )
        return PROFESSIONS[int(text)]
    return text.lower().replace(" ", "_")


def _gender(value: object, where: str) -> str:
    found = _GENDERS.get(str(value).strip().lower())
    if found is None:
        raise DataError(f"{where}: gender {value!r}, expected F or M, female or male, 1 or 0")
    return found


def _original(row: Mapping[str, Any]) -> Example:
    """A record of the original pickle: the biography begins where its first sentence ends."""
    text = str(row["raw"])[int(row["start_pos"]) :].strip()
    return Example(text, None, _job(row["title"], "pickle"), {"gender": _gender(row["gender"], "pickle")})


def _unpickled(source: Source, allow_pickle: bool) -> list[Mapping[str, Any]]:
    if not allow_pickle:
        raise DataError(
            f"{source.name} is a pickle, which can run code of whoever made it: give --allow-pickle if "
            "you trust "
            "it, or a Parquet, JSONL or CSV file"
        )
    import pickle

    with source.path.open("rb") as stream:
        found = pickle.load(stream)
    if (
        not isinstance(found, list)
        or not found
        or not {"raw", "start_pos", "title", "gender"} <= set(found[0])
    ):
        raise DataError(f"{source.name}: expected a list of records with raw, start_pos, title and gender")
    return found
