"""BiasBios: biographies with occupation and gender (De-Arteaga et al., 2019).

The text cannot be shipped and has no permanent URL, so it is read from the user's files: the hub's mirror as
Parquet or JSONL (`hard_text`, `profession`, `gender`), a folder of CSV files with the same columns, or the
original pickle, which can run code and is therefore read only with `allow_pickle`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unmask.core.errors import DataError, quote
from unmask.data.examples import Example, Source, column, find_local, rows_of, text_column, user_source
from unmask.data.formats import SUFFIXES

FOLDERS = ("biasbios", "bias_in_bios", "biasbios_sample")
PROFESSIONS = (
    *("accountant", "architect", "attorney", "chiropractor", "comedian", "composer", "dentist", "dietitian"),
    *("dj", "filmmaker", "interior_designer", "journalist", "model", "nurse", "painter", "paralegal"),
    *("pastor", "personal_trainer", "photographer", "physician", "poet", "professor", "psychologist"),
    *("rapper", "software_engineer", "surgeon", "teacher", "yoga_teacher"),
)
_GENDERS = {"f": "female", "female": "female", "1": "female", "m": "male", "male": "male", "0": "male"}
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'“])")


def files(named: Path | None, data_dir: Path | None) -> tuple[Source, ...]:
    """The files at `named`, else in a folder of the usual name below a data directory."""
    location = named or next((at for name in FOLDERS if (at := find_local(name, data_dir=data_dir))), None)
    if location is None:
        raise DataError(
            f"no biographies: looked for a folder {' or '.join(FOLDERS)} below data_dir, $UNMASK_DATA_DIR "
            "and the cache; give a training file (hard_text, profession, gender)"
        )
    if not location.is_dir():
        return (user_source(location),)
    paths = sorted(path for path in location.rglob("*") if path.suffix.lower() in (*SUFFIXES, ".pkl"))
    data_paths = [path for path in paths if path.suffix.lower() != ".json"]  # lists of names, not data
    if not data_paths:
        raise DataError(f"{location} has no biographies: expected {', '.join(SUFFIXES)}")
    return tuple(user_source(path) for path in data_paths)


def load(sources: Sequence[Source], *, allow_pickle: bool = False) -> tuple[Example, ...]:
    """Biographies without their first sentence and without duplicates, in the order of the files."""
    examples = [example for source in sources for example in _examples(source, allow_pickle)]
    return tuple({example.text: example for example in examples if example.text.strip()}.values())


def part_of(text: str) -> str:
    """The split of a biography by the hash of its text: 80% train, 10% dev, 10% test."""
    tenth = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % 10
    return "train" if tenth < 8 else "dev" if tenth == 8 else "test"


def without_first_sentence(text: str) -> str:
    """The text after the first sentence, which names the occupation; empty if there is only one."""
    return "".join(_SENTENCE.split(text.strip(), maxsplit=1)[1:])


def scrubber(words: Iterable[str]) -> Callable[[str], str]:
    """A function that replaces these words with `_`, ignoring case."""
    listed = "|".join(sorted(map(re.escape, {word.lower() for word in words}), key=len, reverse=True))
    pattern = re.compile(rf"\b(?:{listed})\b", re.IGNORECASE)
    return lambda text: pattern.sub("_", text)


def _examples(source: Source, allow_pickle: bool) -> list[Example]:
    if source.path.suffix.lower() == ".pkl":
        return [
            Example(
                row["raw"][row["start_pos"] :].strip(),  # after the first sentence
                None,
                _job(row["title"], "pickle"),
                {"gender": _gender(row["gender"], "pickle")},
            )
            for row in _read_pickle(source, allow_pickle)
        ]
    rows = rows_of(source)
    job = column(rows, ("profession", "title", "occupation"))
    gender = column(rows, ("gender",))
    text = text_column(rows, ("hard_text", "text", "bio", "raw"))
    examples = []
    for at, row in enumerate(rows):
        where = rows.at(at)
        body = row[text] if text == "hard_text" else without_first_sentence(row[text])
        examples.append(Example(body, None, _job(row[job], where), {"gender": _gender(row[gender], where)}))
    return examples


def _job(value: object, where: str) -> str:
    """The profession by name, or by its index in the alphabetical list as on the hub."""
    text = str(value).strip()
    if text.isdecimal():
        if len(text) > 4 or int(text) >= len(PROFESSIONS):
            raise DataError(f"{where}: profession {quote(text)}, expected a number below {len(PROFESSIONS)} or a name")
        return PROFESSIONS[int(text)]
    return text.lower().replace(" ", "_")


def _gender(value: object, where: str) -> str:
    if (gender := _GENDERS.get(str(value).strip().lower())) is None:
        raise DataError(f"{where}: gender {quote(value)}, expected F or M, female or male, 1 or 0")
    return gender


def _read_pickle(source: Source, allow_pickle: bool) -> list[Mapping[str, Any]]:
    if not allow_pickle:
        raise DataError(
            f"{source.name} is a pickle, which can run arbitrary code: set allow_pickle (--allow-pickle) if you "
            "trust it, or give a Parquet, JSONL or CSV file"
        )
    import pickle

    try:
        with source.path.open("rb") as stream:
            rows = pickle.load(stream)
    except Exception as error:  # a pickle can raise anything
        raise DataError(f"{source.name} is not a readable pickle ({type(error).__name__}: {error})") from error
    kinds = {"raw": str, "start_pos": int, "title": str, "gender": str}
    if not isinstance(rows, list) or not rows:
        raise DataError(f"{source.name}: expected a list of records with {', '.join(kinds)}")
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or not all(isinstance(row.get(name), kind) for name, kind in kinds.items()):
            raise DataError(f"{source.name}, record {number} (from 0): expected {', '.join(kinds)}, found {quote(row)}")
    return rows
