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
    return environment.get_template(name)


def asset(name: str) -> str:
    """A file beside this one."""
    return (resources.files("unmask.report") / name).read_text(encoding="utf-8")
