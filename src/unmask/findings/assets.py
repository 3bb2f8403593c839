"""Templates and static files of the pages, and data embedded in them.

Text of a dataset is escaped so that it cannot become markup or script.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from unmask.core.errors import escape_controls
from unmask.core.files import plain

_ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


@functools.cache
def template(name: str) -> jinja2.Template:
    """A Jinja template with autoescaping that raises on undefined variables."""
    loader, strict = jinja2.FunctionLoader(asset), jinja2.StrictUndefined
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=strict, trim_blocks=True, lstrip_blocks=True, finalize=_as_text
    )
    environment.filters["fact"] = format_fact
    environment.filters["minute"] = format_minute
    return environment.get_template(name)


def _as_text(value: Any) -> Any:
    """What a template puts into a page: text of the data is made legible, markup stays."""
    if not isinstance(value, str) or value.isprintable() or isinstance(value, Markup):
        return value
    return legible(value)


def legible(text: str) -> str:
    r"""The text with control characters and others that must not enter a page or figure written as `\x1b`."""
    return escape_controls(text, keep="\t\n\r")


def format_fact(value: object) -> str:
    """A value of result.json as text: lists without brackets, a dash for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(format_fact, value)) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    return "–" if value is None or value == "" else str(value)


def format_minute(time: datetime | None) -> str:
    """A time in UTC to the minute; a dash for None."""
    return "–" if time is None else f"{time:%Y-%m-%d %H:%M} UTC"


def asset(name: str) -> str:
    """The content of a file in `templates/`."""
    return (resources.files("unmask.findings") / "templates" / name).read_text(encoding="utf-8")


def as_script(value: object) -> Markup:
    """JSON for a script element; characters that could end the element are escaped."""
    return Markup(json.dumps(plain(value), allow_nan=False).translate(_ESCAPES))


def as_link(value: object) -> str:
    """JSON as a data URL."""
    return as_file(json.dumps(plain(value), allow_nan=False, indent=1, ensure_ascii=False), "application/json")


def as_file(text: str, kind: str) -> str:
    """Text as a data URL; `kind` is its media type."""
    return f"data:{kind};base64," + base64.b64encode(text.encode(errors="backslashreplace")).decode()


def policy(scripts: Iterable[str]) -> str:
    """A content security policy: only these scripts run, nothing is loaded from the network."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"
