"""Your own templates: a YAML file with words, templates and slots, or a table with a column `template`.

`docs/templates.md` describes the format. Every error names the file and the invalid row.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from unmask.core.errors import DataError
from unmask.core.types import Dataset
from unmask.data.formats import SUFFIXES, decode, records
from unmask.data.items import LoadedItems, user_dataset, with_warnings
from unmask.data.templates import FORMS, GOALS, Slots, TemplateLine, expand_templates

YAML = (".yaml", ".yml")
COLUMNS = ("template", "word", "category", "goal", "article", "first", "second", "third")
PAIR_COLUMNS = {"more", "less", "sent_more", "sent_less"}
PARTS = ("slots", "words", "templates")


def is_template_file(path: Path) -> bool:
    """Whether it is a file of templates: YAML, or a table with a column `template` and no pairs."""
    if path.suffix.lower() in YAML:
        return True
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        return False
    try:
        rows = records(path.read_bytes(), path.suffix, path.name)
    except (DataError, OSError):
        return False  # loading it as pairs will report the error
    columns = {str(key).strip().lower() for row in rows if isinstance(row, Mapping) for key in row}
    return "template" in columns and not columns & PAIR_COLUMNS


def load(path: Path, *, name: str) -> Dataset:
    """Load a file of templates."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); expected a file of templates") from None
    if path.suffix.lower() in YAML:
        loaded = from_yaml(data, path.name, name)
    else:
        rows = records(data, path.suffix, path.name)
        lines = [_line(row, f"{path.name}, row {number} (from 0)") for number, row in enumerate(rows)]
        loaded = _items(lines, name, path.name, FORMS)
    digest = hashlib.sha256(data).hexdigest()
    return user_dataset(loaded, name, f"Templates of {path.name}", path.name, digest)


def from_yaml(data: bytes, where: str, name: str) -> LoadedItems:
    """Load the items of a YAML file."""
    content = _parse_yaml(data, where)
    slots = {**FORMS, **_slots(content.get("slots") or {}, where)}
    lines = [
        *_lines(content.get("words") or [], "word", f"{where}, words"),
        *_lines(content.get("templates") or [], "template", f"{where}, templates"),
    ]
    return _items(lines, name, where, slots)


def _items(lines: Iterable[TemplateLine], name: str, where: str, slots: Slots) -> LoadedItems:
    items = [*expand_templates(list(lines), name, slots)]
    if not items:
        raise DataError(f"{where}: no templates; expected at least one with a slot")
    (most, times), *_ = Counter(item.id for item in items).most_common(1)
    if times > 1:
        raise DataError(f"{where}: a word is listed twice in one category (item {most}); keep one of them")
    return with_warnings(items)


def _parse_yaml(data: bytes, where: str) -> dict[str, Any]:
    import yaml

    try:
        content = yaml.safe_load(decode(data, where))
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"{where}: not valid YAML ({reason}); quote templates that begin with a brace"
        ) from None
    if not isinstance(content, dict):
        raise DataError(f"{where}: found {_kind(content)}, expected {', '.join(PARTS)} with their entries")
    strange = [str(key) for key in content if key not in PARTS]
    if strange:
        raise DataError(f"{where}: unknown entry {strange[0]!r}, expected {', '.join(PARTS)}")
    return content


def _slots(given: Any, where: str) -> Slots:
    if not isinstance(given, dict):
        raise DataError(f"{where}, slots: found {_kind(given)}, expected names with their words")
    return {str(name).lower(): _words(words, f"{where}, slot {name!r}") for name, words in given.items()}


def _words(given: Any, at: str) -> tuple[str, ...]:
    """Two or three different words."""
    words = tuple(str(word).strip() for word in given) if isinstance(given, list | tuple) else ()
    if len(words) not in (2, 3) or not all(words) or len(set(words)) < len(words):
        raise DataError(f"{at}: found {given!r}, expected two or three different words, the masculine first")
    return words


def _lines(given: Any, main: str, where: str) -> Iterator[TemplateLine]:
    if not isinstance(given, list):
        raise DataError(f"{where}: found {_kind(given)}, expected a list")
    for number, row in enumerate(given):
        at = f"{where}[{number}] (from 0)"
        line = _line({main: row} if isinstance(row, str) else row, at)
        if not getattr(line, main):
            raise DataError(f"{at}: no {main}; expected text, or an entry with {main!r}")
        yield line


def _line(row: Any, at: str) -> TemplateLine:
    """Parse and validate one record."""
    if not isinstance(row, Mapping):
        raise DataError(f"{at}: found {_kind(row)}, expected an entry with a template or a word")
    cells = {str(key).strip().lower(): _text(value) for key, value in row.items()}
    strange = [key for key in cells if key not in COLUMNS]
    if strange:
        raise DataError(f"{at}: unknown column {strange[0]!r}, expected some of {', '.join(COLUMNS)}")
    goal = cells.get("goal") or "zero"
    if goal not in GOALS:
        raise DataError(f"{at}: goal {goal!r}, expected {', '.join(GOALS)}")
    if not (cells.get("template") or cells.get("word")):
        raise DataError(f"{at}: neither a template nor a word; fill one in or remove the row")
    own = tuple(cells[key] for key in ("first", "second", "third") if cells.get(key))
    return TemplateLine(
        at=at,
        template=cells.get("template", ""),
        word=cells.get("word", ""),
        category=cells.get("category", ""),
        goal=goal,
        article=cells.get("article", ""),
        own=_words(own, f"{at}, first and second") if own else (),
    )


def _text(value: Any) -> str:
    return "" if value is None or value != value else str(value).strip()  # noqa: PLR0124 - NaN is an empty cell


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
