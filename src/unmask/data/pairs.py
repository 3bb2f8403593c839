"""Your own pairs: a file with columns `more` and `less`, or records from Python.

`more` is the stereotyping sentence, `less` the other. Optional columns are `id`, `category`, `direction`
(`stereo` or `antistereo`), `unrelated`, `context` and `target`; every other column becomes a group. Files
with one sentence per row in Finspector's format are read as well.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from unmask.core.errors import DataError
from unmask.core.types import Dataset, Pair
from unmask.data import finspector
from unmask.data.formats import records as records_of
from unmask.data.items import LoadedItems, user_dataset, with_warnings

if TYPE_CHECKING:
    import pandas as pd

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
_FIELD = {spelling: field for field, others in ALIASES.items() for spelling in (field, *others)}
_NOT_GROUPS = ("more", "less", "id", "unrelated", "context")
_FIRST = ("category", "direction", "target")

Records = Iterable[Mapping[str, object] | Sequence[str]]


def slug(text: str) -> str:
    """A dataset name from a file stem or title: lower case, words joined by hyphens."""
    return re.sub(r"[\W_]+", "-", text.lower()).strip("-") or "pairs"


def load(path: Path, *, name: str | None = None) -> Dataset:
    """Load the pairs of a CSV, TSV, JSON, JSONL or Parquet file."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {what}; expected a file of pairs (CSV, TSV, JSON, JSONL or Parquet)")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); check its permissions") from None
    name = name or slug(path.stem)
    loaded = items(records_of(data, path.suffix, path.name), name, path.name)
    return user_dataset(loaded, name, f"Pairs of {path.name}", path.name, hashlib.sha256(data).hexdigest())


def from_records(records: Records | pd.DataFrame, *, name: str = "pairs") -> Dataset:
    """A dataset from a list of mappings, a list of `(more, less)` or a pandas DataFrame."""
    name, rows = slug(name), cast(Any, records)
    if hasattr(records, "iloc"):  # missing cells of a data frame become None
        rows = rows.astype(object).where(rows.notna(), None).to_dict("records")
    loaded = items(rows, name, name)
    content = [[item.id, item.sides(), item.context, dict(item.groups)] for item in loaded.items]
    digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
    return user_dataset(loaded, name, f"Pairs of {name}", name, digest)


def items(records: Iterable[Any], name: str, where: str) -> LoadedItems:
    """Items from records, with ids `<name>/<id or row>`; DataError names the first invalid row."""
    by_id: dict[str, Pair] = {}
    rows: dict[str, int] = {}
    unnamed = False
    given = list(records)
    given = finspector.pair_rows(given, where) if finspector.is_finspector(given) else given
    for row, record in enumerate(given):
        at = f"{where}, row {row} (from 0)"
        fields = _fields(record, at)
        unnamed |= fields.pop("", None) is not None
        item = _item(fields, f"{name}/{_text(fields.get('id')) or f'{row:04}'}", at)
        if item.id in by_id:
            raise DataError(f"{at}: id {item.id!r} was already given to row {rows[item.id]}; ids must differ")
        by_id[item.id], rows[item.id] = item, row
    if not by_id:
        raise DataError(f"{where}: no rows; expected at least one pair with `more` and `less`")
    return with_warnings([*by_id.values()], ["a column without a name was left out"] if unnamed else ())


def _fields(record: Any, at: str) -> dict[str, Any]:
    """A record by canonical column names."""
    if isinstance(record, (list, tuple)) and len(record) == 2:
        record = dict(zip(("more", "less"), record, strict=True))
    if not isinstance(record, Mapping):
        raise DataError(f"{at}: found {type(record).__name__}, expected an object with `more` and `less`")
    fields: dict[str, Any] = {}
    columns = {str(column).strip().lower() for column in record}
    for column, value in record.items():
        name = str(column).strip()
        field = _FIELD.get(name.lower(), name)
        if name.lower() == "stereotype" and "more" in columns:
            field = name  # next to a column `more` it names the stereotype
        if field in fields:
            raise DataError(f"{at}: two columns for {field!r}; keep one of {_spellings(field)}")
        fields[field] = value
    return fields


def _item(fields: Mapping[str, Any], name: str, at: str) -> Pair:
    """Build one pair and validate it."""
    groups = {field: _text(fields.get(field)) for field in (*_FIRST, *fields) if field not in _NOT_GROUPS}
    direction = groups["direction"]
    if direction is not None and direction not in DIRECTIONS:
        raise DataError(f"{at}: direction {direction!r}, expected 'stereo' or 'antistereo' (or nothing)")
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
        columns = ", ".join(sorted(fields)) or "none"
        raise DataError(f"{at}: no column {_spellings(field)}; found: {columns}; rename or add it")
    value = fields[field]
    if _text(value) is None:
        raise DataError(f"{at}: empty sentence in column {field!r}; fill it in or remove the row")
    if not isinstance(value, str):
        raise DataError(f"{at}: column {field!r} holds {type(value).__name__} {value!r}, expected text")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise DataError(f"{at}: column {field!r} has a lone surrogate (half a character); save the file again")
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
