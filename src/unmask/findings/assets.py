"""The templates and files a page is put together from."""

from __future__ import annotations

import functools
from importlib import resources

import jinja2


@functools.cache
def template(name: str) -> jinja2.Template:
    """A template that escapes what it is given and refuses what it does not know."""
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
    """A fact of a result for reading: no brackets, no `None`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(format_fact, value)) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    return "–" if value is None or value == "" else str(value)


def asset(name: str) -> str:
    """A file of the folder `templates`."""
    return (resources.files("unmask.findings") / "templates" / name).read_text(encoding="utf-8")
