"""Parse what comes from outside into typed values, once: JSON text, and schemas of dataclasses or models.

Whatever does not fit is refused in one line: where it is, what was found, what was expected.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from unmask.core.errors import DataError, UnmaskError, one_line, quote

T = TypeVar("T")
MAX_JSON = 512 * 2**20  # bytes of a JSON file


class Rows(list[Any]):
    """Records of a file in order, and the line of each, counted from 1; no lines if its format has none."""

    def __init__(self, records: Iterable[Any], where: str, lines: Sequence[int] = ()) -> None:
        super().__init__(records)
        self.where, self.lines = where, lines

    def at(self, row: int) -> str:
        """Where a record is, for a message: `pairs.csv, line 5`, or `pairs.json, row 3 (from 0)`."""
        return f"{self.where}, line {self.lines[row]}" if self.lines else f"{self.where}, row {row} (from 0)"


def read_json(path: Path, error: type[UnmaskError] = DataError, *, finite: bool = True) -> Any:
    """The content of a JSON file; a file that cannot be read or is not JSON is refused."""
    return parse_json(read_text(path, error, most=MAX_JSON), str(path), error, finite=finite)


def read_text(path: Path, error: type[UnmaskError] = DataError, *, most: int | None = None) -> str:
    """The text of a UTF-8 file without its byte-order mark; `most` is the largest size in bytes."""
    try:
        if most is not None and (size := path.stat().st_size) > most:
            raise error(f"{path} has {size:,} bytes, expected at most {most:,}")
        return path.read_text(encoding="utf-8-sig")
    except OSError as failure:
        raise error(f"{path} cannot be read ({failure.strerror or failure}): check the file") from failure
    except UnicodeDecodeError as failure:
        raise error(f"{path} is not UTF-8 (byte {failure.start}): save it again as UTF-8") from failure


def parse_json(text: str | bytes, where: str, error: type[UnmaskError] = DataError, *, finite: bool = True) -> Any:
    """JSON text as an object; if `finite` no NaN, no unpaired surrogates, no nesting too deep for Python."""

    def constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    try:
        content = json.loads(text, parse_constant=constant if finite else None)
        if has_surrogates(content):
            raise ValueError("a string has an unpaired surrogate (\\ud800 to \\udfff)")
    except RecursionError as failure:
        raise error(f"{where} is nested too deeply: write it again") from failure
    except ValueError as failure:
        reason = str(failure)
        if isinstance(failure, json.JSONDecodeError):
            line = f"line {failure.lineno}, " if "\n" in failure.doc else ""
            reason = f"{failure.msg}, {line}column {failure.colno}"
        raise error(f"{where} is not JSON ({reason}): write it again") from failure
    return content


def has_surrogates(content: Any) -> bool:
    """Whether a string in a value of JSON's types cannot be encoded as UTF-8."""
    if isinstance(content, str):
        return not content.isascii() and any("\ud800" <= char <= "\udfff" for char in content)
    if isinstance(content, dict):
        return any(has_surrogates(key) or has_surrogates(value) for key, value in content.items())
    return isinstance(content, list | tuple) and any(map(has_surrogates, content))


def validate(kind: type[T], value: Any, where: str, error: type[UnmaskError] = DataError) -> T:
    """The value as `kind` (a dataclass, TypedDict, model or any annotation that pydantic knows), or `error`."""
    from pydantic import ValidationError

    try:
        return cast(T, _adapter(cast(Any, kind)).validate_python(value))
    except (ValidationError, RecursionError) as failure:
        if isinstance(failure, RecursionError):
            raise error(f"{where} is nested too deeply: write it again") from failure
        first = failure.errors(include_url=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
        reason = one_line(first["msg"])
        reason = reason[:1].lower() + reason[1:]
        if first["type"] == "missing":
            raise error(f"{where} has no {place}: {reason}") from None
        raise error(f"{where}: {place or 'the content'} is {quote(first['input'])}: {reason}") from None


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
