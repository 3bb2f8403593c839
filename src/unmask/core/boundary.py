"""Parse what comes from outside into typed values, once: JSON and YAML text, and schemas of dataclasses or models.

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
MAX_YAML = 2 * 2**20  # characters of YAML text
MAX_DEPTH = 30  # levels of lists and mappings in YAML


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


def parse_yaml(text: str, where: str, error: type[UnmaskError] = DataError) -> Any:
    """YAML text as an object of JSON's types; lists are `Rows`.

    Without aliases, whose expansion could fill the memory, and without dates, which become text; a key that is
    given twice is refused, and so is text that is too long or nested too deeply.
    """
    import yaml

    if len(text) > MAX_YAML:
        raise error(f"{where} has {len(text):,} characters of YAML, expected at most {MAX_YAML:,}: write a table")
    try:
        _check_yaml(text)
        loader = _yaml_loader()(text)
        loader.where = where
        return loader.get_single_data()
    except (yaml.YAMLError, UnicodeError) as failure:
        mark = getattr(failure, "problem_mark", None)
        position = getattr(failure, "position", None) or getattr(failure, "start", 0)
        line = text.count("\n", 0, position) + 1 if mark is None else mark.line + 1
        reason = getattr(failure, "problem", None) or getattr(failure, "reason", None) or failure
        raise error(
            f"{where}, line {line}: not YAML ({reason}): quote text that begins with a brace or another mark"
        ) from failure


def _check_yaml(text: str) -> None:
    """Refuse aliases and nesting that is too deep, before anything is built."""
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise yaml.MarkedYAMLError(None, None, "an alias (*name), write the value again", event.start_mark)
        if depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(None, None, f"more than {MAX_DEPTH} levels", event.start_mark)


@cache
def _yaml_loader() -> Any:
    """PyYAML's safe loader with JSON's types alone; only `true` and `false` are truth values."""
    import yaml

    class Loader(yaml.CSafeLoader):  # type: ignore[misc]
        yaml_constructors = {None: yaml.CSafeLoader.construct_undefined}  # noqa: RUF012 - as in its base class
        where = ""

    def construct_scalar(loader: Any, node: Any) -> Any:
        kind = node.tag.rpartition(":")[2]
        if kind == "bool" and node.value.lower() not in ("true", "false"):  # yes, no, on, off
            return node.value
        try:
            return getattr(yaml.CSafeLoader, f"construct_yaml_{kind}")(loader, node)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as failure:
            reason = f"{quote(node.value)} is no {kind}"
            raise yaml.MarkedYAMLError(None, None, reason, node.start_mark) from failure

    def construct_map(loader: Any, node: Any) -> Any:
        content = yaml.constructor.BaseConstructor.construct_mapping(loader, node, deep=True)
        seen = set()
        for name, _ in node.value:
            if (key := loader.construct_object(name, deep=True)) in seen:
                raise yaml.MarkedYAMLError(None, None, f"the key {quote(key)} was already given", name.start_mark)
            seen.add(key)
        return content

    def construct_seq(loader: Any, node: Any) -> Any:
        lines = [entry.start_mark.line + 1 for entry in node.value]
        return Rows(loader.construct_sequence(node, deep=True), loader.where, lines)

    for kind in ("null", "bool", "int", "float", "str"):
        Loader.add_constructor(f"tag:yaml.org,2002:{kind}", construct_scalar)
    for kind in ("merge", "value"):  # << and =
        Loader.add_constructor(f"tag:yaml.org,2002:{kind}", yaml.CSafeLoader.construct_yaml_str)
    Loader.add_constructor("tag:yaml.org,2002:map", construct_map)
    Loader.add_constructor("tag:yaml.org,2002:seq", construct_seq)
    Loader.yaml_implicit_resolvers = {  # dates stay text
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


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
