"""Embed data and code in a page, escaped so that text of a dataset cannot become markup or script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable

from markupsafe import Markup

from unmask.core.files import plain

_ESCAPES = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


def as_script(value: object) -> Markup:
    """JSON for a script element; characters that could end the element are escaped."""
    return Markup(json.dumps(plain(value), allow_nan=False).translate(_ESCAPES))


def as_link(value: object) -> str:
    """JSON as a data URL."""
    return as_file(
        json.dumps(plain(value), allow_nan=False, indent=1, ensure_ascii=False), "application/json"
    )


def as_file(text: str, kind: str) -> str:
    """Text as a data URL; `kind` is its media type."""
    return f"data:{kind};base64," + base64.b64encode(text.encode()).decode()


def policy(scripts: Iterable[str]) -> str:
    """A content security policy: only these scripts run, nothing is loaded from the network."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"
