"""Your own pairs: a file with columns `more` and `less`, or records from Python.

`more` is the stereotyping sentence, `less` the other. Optional columns are `id`, `category`, `direction`
(`stereo` or `antistereo`), `unrelated`, `context` and `target`; every other column becomes a group.

Paraphrase files with one sentence per row, in the format of Finspector (Kwon & Mihindukulasooriya, 2023), are
read as well: `bias_type`, `sent_index` (which original), `para_index` (0: the original itself), `more_or_less`
(`sent_more`: the stereotyping sentence) and `sent`; `stereo_type` may give the direction. Two rows make a
pair. The authors' score columns (`bert`, `roberta`, …) are ignored.

Published pairs in Japanese and Russian are read by a mapping of their columns: crows-pairs-ja, crows-pairs-ru, pairs of
CrowS-Pairs about gender, translated by hand (Kaneko et al., 2022); rubia, pairs written in Russian by volunteers
(Grigoreva et al., 2024). Their checksums are not known here: you bring the files, and numbers on them are unverified.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from unmask.core.boundary import Rows, has_surrogates
from unmask.core.errors import MAX_FOUND, DataError, quote, shorten
from unmask.core.files import file_name, unescape
from unmask.core.types import Dataset, Pair
from unmask.data.formats import Column, map_columns, read_bytes, read_records
from unmask.data.formats import records as records_of
from unmask.data.items import DatasetSource, LoadedItems, own_items, read_card, user_dataset

if TYPE_CHECKING:
    import pandas as pd


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
ALIASES = {
    "more": ("sent_more", "stereotype"),
    "less": ("sent_less", "antistereotype", "anti-stereotype"),
    "id": (),
    "category": ("bias_type",),
    "direction": ("stereo_antistereo",),
    "unrelated": (),
    "context": (),
    "target": (),
}
DIRECTIONS = ("stereo", "antistereo")
LISTED = 5  # mistakes of a file that a message lists
ORIGINAL, NUMBER = "original", "paraphrase"  # the groups of a set of paraphrases
ITSELF = "0"  # the number of the original among its paraphrases
PROPOSED = {ORIGINAL, NUMBER, "plausibility", "keep"}  # columns of paraphrases proposed for review
# columns of Finspector's files
SENTENCE = ("sent", "sentence")
SIDE = ("more_or_less", "more/less", "side")
DIRECTION = ("stereo_type", "stereo_antistereo", "direction", "stereo/anti")
CATEGORY = ("bias_type", "category")
_SIDES = {"sent_more": "more", "more": "more", "sent_less": "less", "less": "less"}
_DIRECTIONS = {"stereo": "stereo", "antistereo": "antistereo", "anti": "antistereo"}
_FIELD = {spelling: field for field, others in ALIASES.items() for spelling in (field, *others)}
_NOT_GROUPS = ("more", "less", "id", "unrelated", "context")
_FIRST = ("category", "direction", "target")

Records = Iterable[Mapping[str, object] | Sequence[str]]


def slug(text: str) -> str:
    """A dataset name from a file stem or title: lower case, words joined by hyphens."""
    return re.sub(r"[\W_]+", "-", text.lower()).strip("-") or "pairs"


def load(path: Path, *, name: str | None = None, columns: Mapping[str, Column] | None = None) -> Dataset:
    """Load the pairs of a CSV, TSV, XLSX, JSON, JSONL or Parquet file; `columns` says which column is which field."""
    data, file = read_bytes(path, "a file of pairs (CSV, TSV, XLSX, JSON, JSONL or Parquet)"), file_name(path)
    name = name or slug(path.stem)
    loaded = items(map_columns(records_of(data, path.suffix, file), columns), name)
    return user_dataset(loaded, name, f"Pairs of {file}", file, hashlib.sha256(data).hexdigest())


def from_records(records: Records | pd.DataFrame, *, name: str = "pairs") -> Dataset:
    """A dataset from a list of mappings, a list of `(more, less)` or a pandas DataFrame."""
    name, rows = slug(name), cast(Any, records)
    if hasattr(records, "iloc"):  # missing cells of a data frame become None
        rows = rows.astype(object).where(rows.notna(), None).to_dict("records")
    given = Rows(rows, name)
    for row, record in enumerate(given):
        if has_surrogates(dict(record) if isinstance(record, Mapping) else record):
            raise DataError(f"{given.at(row)}: half a character (a surrogate), expected text: {quote(record)}")
    loaded = items(given, name)
    content = [[item.id, item.sides(), item.context, dict(item.groups)] for item in loaded.items]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return user_dataset(loaded, name, f"Pairs of {name}", name, digest)


def items(given: Rows, name: str) -> LoadedItems:
    """Items from records, with ids `<name>/<id or row>`; DataError names the invalid rows."""
    by_id: dict[str, Pair] = {}
    rows: dict[str, int] = {}
    unnamed, mistakes = False, []
    names = {str(column).strip().lower() for column in given[0]} if given and isinstance(given[0], Mapping) else set()
    if {"sent_index", "para_index"} <= names and names & set(SIDE):
        given = _pair_rows(given)
    for row, record in enumerate(given):
        at = given.at(row)
        try:
            fields = _fields(record, at)
            if names >= PROPOSED:  # our own file, with formulas escaped
                fields = {field: unescape(cell) if isinstance(cell, str) else cell for field, cell in fields.items()}
            unnamed |= fields.pop("", None) is not None
            item = _item(fields, f"{name}/{_text(fields.get('id')) or f'{row:04}'}", at)
            if item.id in by_id:
                earlier = given.at(rows[item.id])
                raise DataError(f"{at}: id {quote(item.id)} was already given ({earlier}); ids must differ")
        except DataError as mistake:
            mistakes.append(str(mistake))
            continue
        by_id[item.id], rows[item.id] = item, row
    if mistakes:
        raise DataError(_all_mistakes(mistakes))
    if not by_id:
        raise DataError(f"{given.where}: no rows; expected at least one pair with `more` and `less`")
    return own_items([*by_id.values()], ["a column without a name was left out"] if unnamed else ())


def _all_mistakes(mistakes: Sequence[str]) -> str:
    """One mistake as it is; of several, how many there are and the first ones."""
    if len(mistakes) == 1:
        return mistakes[0]
    more = f" | and {len(mistakes) - LISTED:,} more" if len(mistakes) > LISTED else ""
    return f"{len(mistakes):,} mistakes: {' | '.join(mistakes[:LISTED])}{more}"


def _fields(record: Any, at: str) -> dict[str, Any]:
    """A record by canonical column names."""
    if isinstance(record, (list, tuple)) and len(record) == 2:
        record = dict(zip(("more", "less"), record, strict=True))
    if not isinstance(record, Mapping):
        raise DataError(f"{at}: found {quote(record)}, expected an object with `more` and `less`")
    fields: dict[str, Any] = {}
    columns = {str(column).strip().lower() for column in record}
    for column, value in record.items():
        name = str(column).strip()
        field = _FIELD.get(name.lower(), name)
        if name.lower() == "stereotype" and "more" in columns:
            field = name  # next to a column `more` it names the stereotype
        if field in fields:
            raise DataError(f"{at}: two columns for {quote(field)}; keep one of {_spellings(field)}")
        fields[field] = value
    return fields


def _item(fields: Mapping[str, Any], name: str, at: str) -> Pair:
    """Build one pair and validate it."""
    groups = {field: _text(fields.get(field)) for field in (*_FIRST, *fields) if field not in _NOT_GROUPS}
    direction = groups["direction"]
    if direction is not None and direction not in DIRECTIONS:
        raise DataError(f"{at}: direction {quote(direction)}, expected 'stereo' or 'antistereo' (or nothing)")
    return Pair(
        name,
        _sentence(fields, "more", at),
        _sentence(fields, "less", at),
        unrelated=_sentence(fields, "unrelated", at) if _text(fields.get("unrelated")) else None,
        context=_sentence(fields, "context", at) if _text(fields.get("context")) else None,
        groups={group: value for group, value in groups.items() if value is not None},
    )


def _sentence(fields: Mapping[str, Any], field: str, at: str) -> str:
    """A sentence exactly as written; it must not be empty."""
    if field not in fields:
        columns = shorten(", ".join(sorted(fields)), MAX_FOUND) or "none"
        raise DataError(f"{at}: no column {_spellings(field)}; found: {columns}; rename or add it")
    value = fields[field]
    if _text(value) is None:
        raise DataError(f"{at}: empty sentence in column {field!r}; fill it in or remove the row")
    if not isinstance(value, str):
        raise DataError(f"{at}: column {field!r} holds {type(value).__name__} {quote(value)}, expected text")
    return value


def _text(value: Any) -> str | None:
    """A cell as the value of a group; None if it is empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value).strip() or None


def _spellings(field: str) -> str:
    """A column's name and its aliases, for messages."""
    return " or ".join(repr(spelling) for spelling in (field, *ALIASES.get(field, ())))


def _pair_rows(records: Rows) -> Rows:
    """Join two rows of Finspector's into a pair, ordered by the first, with `original` and `paraphrase`."""
    pairs: dict[tuple[str, str, str], dict[str, str]] = {}
    lines: list[int] = []
    for row, record in enumerate(records):
        at = records.at(row)
        if not isinstance(record, Mapping):
            raise DataError(f"{at}: found {quote(record)}, expected an object like those before")
        fields = {str(column).strip().lower(): _index_text(value) for column, value in record.items()}
        category, direction = (_cell(fields, names).strip() for names in (CATEGORY, DIRECTION))
        needed = (("sent_index",), ("para_index",), SIDE)
        original, number, side = (_cell(fields, names, at).strip() for names in needed)
        if side.lower() not in _SIDES:
            raise DataError(f"{at}: {quote(side)} for the side, expected 'sent_more' or 'sent_less'")
        name, side = f"{category}/{original}" if category else original, _SIDES[side.lower()]
        groups = {"category": category, ORIGINAL: name, NUMBER: number}
        lines += records.lines[row : row + 1] if (category, original, number) not in pairs else []
        pair = pairs.setdefault((category, original, number), groups)
        if side in pair:
            which = f"sentence {quote(original)}, paraphrase {quote(number)}"
            raise DataError(f"{at}: a second {side} sentence of {which}; expected one of each side")
        pair[side] = _cell(fields, SENTENCE, at)  # exactly as written
        pair["direction"] = pair.get("direction") or _DIRECTIONS.get(direction.lower(), "")
    for (_, original, number), pair in pairs.items():
        if lacking := {"more", "less"} - pair.keys():
            raise DataError(
                f"{records.where}: sentence {quote(original)}, paraphrase {quote(number)} has no row with "
                f"sent_{lacking.pop()}; expected sent_more and sent_less for every original and paraphrase"
            )
    return Rows(pairs.values(), records.where, lines)


def _index_text(value: object) -> str:
    """A cell as text; an index that a data frame converted to float becomes an integer again."""
    if value is None or value != value:  # noqa: PLR0124 - only NaN differs from itself
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _cell(fields: Mapping[str, str], names: Sequence[str], at: str = "") -> str:
    """The first cell of these columns that is not empty; with `at` it is required."""
    cell = next((fields[name] for name in names if fields.get(name, "").strip()), "")
    if at and not cell:
        raise DataError(f"{at}: nothing in column {' or '.join(map(repr, names))}; fill it in")
    return cell


def load_mapped(path: Path, name: str, columns: Mapping[str, Column]) -> LoadedItems:
    """The pairs of a file, by its columns."""
    return items(map_columns(read_records(path, "the published file"), columns), name)


DATASETS = tuple(
    DatasetSource(read_card(name), partial(load_mapped, name=name, columns=columns))
    for name, columns in (("crows-pairs-ja", TRANSLATED), ("crows-pairs-ru", TRANSLATED), ("rubia", TROPES))
)
