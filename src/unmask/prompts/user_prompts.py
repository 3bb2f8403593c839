"""Read user-defined prompts: a table or JSON lines with a text containing `{slot}`, and lists of words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unmask.core.errors import DataError
from unmask.data.formats import records
from unmask.data.pairs import slug
from unmask.data.prompts import Prompt
from unmask.models.fill import split_at_slot

FORMS = ("completion", "question")
COLUMNS = ("text", "category", "form", "biased", "fair", "why")


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Read the prompts of a file; in a table, the words of a list are separated by semicolons."""
    try:
        rows = records(path.read_bytes(), path.suffix, path.name)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); expected a file of prompts") from None
    if not rows:
        raise DataError(f"{path.name}: no prompts; expected rows with the columns {', '.join(COLUMNS)}")
    name = slug(path.stem)
    return tuple(
        _prompt(row, f"{name}/{number:04}", f"{path.name}, row {number} (from 0)") for number, row in enumerate(rows)
    )


def _prompt(row: Any, name: str, at: str) -> Prompt:
    if not isinstance(row, Mapping) or not str(row.get("text") or "").strip():
        raise DataError(f"{at}: no text; expected the columns {', '.join(COLUMNS)}, text and category filled in")
    unknown = [str(key) for key in row if key not in COLUMNS]
    if unknown:
        raise DataError(f"{at}: unknown column {unknown[0]!r}, expected some of {', '.join(COLUMNS)}")
    form = str(row.get("form") or FORMS[0])
    if form not in FORMS:
        raise DataError(f"{at}: form {form!r}, expected {' or '.join(FORMS)}")
    if not row.get("category"):
        raise DataError(f"{at}: no category; give the bias type of the prompt")
    try:
        split_at_slot(str(row["text"]))
    except DataError as error:
        raise DataError(f"{at}: {error}") from None
    biased, fair = (_words(row.get(key), f"{at}, {key}") for key in ("biased", "fair"))
    return Prompt(name, str(row["category"]), form, str(row["text"]), biased, fair, str(row.get("why") or ""))


def _words(given: Any, at: str) -> tuple[str, ...]:
    parts = given.split(";") if isinstance(given, str) else given or []
    if not isinstance(parts, list | tuple) or not all(isinstance(word, str) for word in parts):
        raise DataError(f"{at}: found {given!r}, expected words, separated by semicolons in a table")
    return tuple(word.strip().lower() for word in parts if word.strip())
