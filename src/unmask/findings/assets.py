"""Templates and static files of the pages."""

from __future__ import annotations

import functools
from importlib import resources

import jinja2


@functools.cache
def template(name: str) -> jinja2.Template:
    """A Jinja template with autoescaping that raises on undefined variables."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["fact"] = format_fact
    return environment.get_template(name)


def format_fact(value: object) -> str:
    """A value of result.json as text: lists without brackets, a dash for None."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(format_fact, value)) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    return "–" if value is None or value == "" else str(value)


def asset(name: str) -> str:
    """The content of a file in `templates/`."""
    return (resources.files("unmask.findings") / "templates" / name).read_text(encoding="utf-8")
