"""The reference pages: the Python interface, by Sphinx's autodoc, and the JSON Schema of a result."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import unmask
from tools.site.catalogue import table

HEAD = """# Python

`import unmask` gives one function for every command, with the same names and defaults. Each that computes something
returns a [`Result`](#results), which `unmask.load` reads back from its folder. Options of the command are keyword
arguments: `unmask.audit("bert-base-uncased", limit=200, device="cpu")`.
"""
RESULTS = ("Result", "AuditResult")
DATA = ("names", "card", "get", "load", "from_records", "tables", "read", "facts", "scores")


def write(folder: Path) -> None:
    """Write both pages, and the schema file itself."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "python.md").write_text(_python(), encoding="utf-8")
    (folder / "schema.md").write_text(_schema(folder), encoding="utf-8")


def _python() -> str:
    """The page of the public functions and classes."""
    homes = unmask._HOMES
    functions = [name for name in unmask.__all__ if name.islower() and name != "corpus"]
    classes = [name for name in unmask.__all__ if not name.islower() and name not in RESULTS]
    parts = [HEAD]
    parts += ["## Functions\n", *(_auto("function", f"unmask.{name}", _home(homes, name)) for name in functions)]
    parts += [
        _auto("function", f"unmask.corpus.{name}", f"unmask.corpus.{unmask.corpus.HOMES[name]}.{name}")
        for name in unmask.corpus.__all__
    ]
    parts += ["## Results\n", *(_auto("class", f"unmask.{name}", f"{homes[name]}.{name}") for name in RESULTS)]
    parts += ["## Data\n", *(_auto("function", f"unmask.data.{name}", f"unmask.data.{name}") for name in DATA)]
    parts += ["## Options\n", *(_auto("class", f"unmask.{name}", f"{homes[name]}.{name}") for name in classes)]
    return "\n".join(parts)


def _home(homes: Mapping[str, str], name: str) -> str:
    return f"{homes[name]}.{'open_lm' if name == 'open_model' else name}"


def _auto(kind: str, title: str, place: str) -> str:
    members = "   :members:\n   :inherited-members: object\n" if kind == "class" else ""
    return f"### `{title}`\n\n```{{eval-rst}}\n.. auto{kind}:: {place}\n{members}```\n"


def _schema(folder: Path) -> str:
    """The page of the JSON Schema: one table for `result.json` and for every definition."""
    with as_file(files("unmask.findings") / "result.schema.json") as path:
        shutil.copyfile(path, folder / "result.schema.json")
        schema = json.loads(path.read_text(encoding="utf-8"))
    text = "# The JSON Schema of a result\n\n`result.json` of every command follows [result.schema.json]"
    text += "(result.schema.json), which ships with the package. [The result folder](../results.md) explains it.\n"
    parts = {"result.json": schema, **schema["$defs"]}
    return text + "".join(
        f"\n## {name}\n\n{each.get('description', '')}\n\n{_properties(each)}" for name, each in parts.items()
    )


def _properties(schema: Mapping[str, Any]) -> str:
    properties = schema.get("properties")
    if not properties:
        return f"{_type(schema)}\n"
    needed = set(schema.get("required", ()))
    rows = [
        (f"`{name}`", _type(each), "yes" if name in needed else "", str(each.get("description", "")))
        for name, each in properties.items()
    ]
    return table(("key", "type", "required", "meaning"), rows)


def _type(schema: Mapping[str, Any]) -> str:
    """The type of a value in words; a definition is linked."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name})"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return " or ".join(map(_type, schema[several]))
    kind = schema.get("type", "any")
    name = " or ".join(kind) if isinstance(kind, list) else str(kind)
    return f"{name} of {_type(schema['items'])}" if "items" in schema else name
