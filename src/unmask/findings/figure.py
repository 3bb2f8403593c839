"""Figures: Vega-Lite specification, SVG for readers without JavaScript, the Vega script, files for papers."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unicodedata import combining, east_asian_width

from unmask.core.errors import OutputError
from unmask.core.files import cache_dir, make_folder, partial_file, write_text
from unmask.findings.assets import legible
from unmask.findings.charts import Chart
from unmask.findings.renderer import RENDERER

# sha256 of the script that a release of vl-convert bundles: only such a script is taken from the cache
SCRIPTS = {"1.9.0.post1": "373b1f84072b31010f15ceb787be6b415c53936411aae267c8c2b2b6ccde46e7"}
MAX_TEXT = 200  # characters of a text in a chart: the time to measure it grows with its length
MAX_LABEL = 48  # columns of a text where Vega must not cut it
DATA = ("values", "datasets")  # keys of a specification that hold rows
ROOM = {"left": 30, "right": 30, "top": 8, "bottom": 8}  # the reader's font may be wider
KINDS: dict[str, dict[str, Any]] = {"svg": {}, "png": {"scale": 2}, "pdf": {}}  # 2 pixels per point, for print
OFFLINE: dict[str, Any] = {"allowed_base_urls": []}  # a stored chart loads nothing
INK = "#1c2024"


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart, ready for the page."""

    id: str
    title: str
    alt: str
    spec: dict[str, Any]
    svg: str


def figure(id: str, title: str, chart: Chart, alt_text: str) -> Figure:
    """Convert a chart to its specification and SVG; the SVG is empty if it could not be drawn."""
    spec = drawable(chart.to_dict(validate=False) | {"config": _theme()}) | {"description": legible(alt_text)}
    spec.pop("$schema", None)
    svg = RENDERER.call("vegalite_to_svg", spec | {"padding": ROOM}, **OFFLINE) or b""
    return Figure(id, title, alt_text, spec, svg.decode())


def label_text(text: str) -> str:
    """A text of the data that a chart shows outside its rows: legible, and cut where it is long."""
    return _cut(legible(text), MAX_LABEL)


def drawable(spec: dict[str, Any]) -> dict[str, Any]:
    """A specification whose texts can be drawn: legible, not too long, different texts still different.

    Vega cuts long labels between UTF-16 code units, also within a character beyond U+FFFF, which then cannot be
    drawn. So in charts with such characters the labels are cut here and not by Vega.
    """
    beyond = any(max(text) > "\uffff" for text in _texts(spec) if text)
    shown: dict[str, str] = {}
    used: set[str] = set()

    def show(text: str, most: int) -> str:
        if text not in shown:
            short = name = _cut(legible(text), most)
            number = 1
            while name in used:
                number += 1
                name = f"{short} ({number})"
            shown[text] = name
            used.add(name)
        return shown[text]

    def convert(value: Any, most: int | None = None) -> Any:
        if isinstance(value, dict):
            limits = {"title": MAX_TEXT, **dict.fromkeys(DATA, MAX_LABEL if beyond else MAX_TEXT)}
            return {key: convert(part, most or limits.get(key)) for key, part in value.items()}
        if isinstance(value, list):
            return [convert(part, most) for part in value]
        return show(value, most) if most and isinstance(value, str) else value

    converted: dict[str, Any] = convert(spec)
    if beyond:
        config = converted["config"]
        for part in ("axis", "legend", "header"):
            config[part] |= {"labelLimit": 0, "titleLimit": 0}
    return converted


def _texts(value: Any) -> Iterable[str]:
    """Every string of a JSON value."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(part)


def _cut(text: str, most: int) -> str:
    """The text in at most `most` columns; wide characters take two, and a mark stays with its character."""
    if len(text) * 2 <= most:
        return text
    columns = 0
    for at, char in enumerate(text):
        columns += 0 if combining(char) else 2 if east_asian_width(char) in "WF" or char > "\uffff" else 1
        if columns > most:
            return text[: max(at - 1, 1)].rstrip() + "…"
    return text


@functools.cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, empty if it cannot be made.

    Bundling takes seconds, so the script of a known release is cached; a cached script of another content is not used.
    """
    release = version("vl-convert-python")
    cached, known = cache_dir() / f"vega-{release}.js", SCRIPTS.get(release)
    with suppress(OSError):
        if known and hashlib.sha256(content := cached.read_bytes()).hexdigest() == known:
            return content.decode()
    content = RENDERER.call("javascript_bundle", "window.vegaEmbed = vegaEmbed;") or b""
    content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")  # as browsers do before they check the hash
    script = content.decode()
    if hashlib.sha256(content).hexdigest() == known:
        with suppress(OutputError):  # without a writable cache it is only slower
            write_text(cached, script)
    return script


def export(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Write each figure as `ID.svg`, `ID.png` and `ID.pdf`, dark on white."""
    make_folder(folder)
    paths = []
    for each in figures:
        spec = _on_paper(each.spec) | {"padding": ROOM}
        spec["config"] = {**spec["config"], "background": "white"}
        for kind, options in KINDS.items():
            content = RENDERER.call(f"vegalite_to_{kind}", spec, **options, **OFFLINE)
            if content is None:
                raise OutputError(f"figure {each.id} cannot be drawn (vl-convert ended): give it more memory")
            paths.append(folder / f"{each.id}.{kind}")
            with partial_file(paths[-1]) as partial:
                partial.write_bytes(content)
    return paths


def _on_paper(value: Any) -> Any:
    """Replace `currentColor` by a fixed colour: outside a page there is no text colour to inherit."""
    if isinstance(value, dict):
        return {key: part if key in DATA else _on_paper(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_on_paper(member) for member in value]
    return INK if value == "currentColor" else value


def _theme() -> dict[str, Any]:
    """Use the text colour of the page, so that charts follow its dark mode."""
    ink = {"labelColor": "currentColor", "titleColor": "currentColor", "titleFontWeight": "normal"}
    lines = {"gridColor": "#88888840", "domainColor": "#88888890", "tickColor": "#88888890"}
    return {
        "background": None,
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": {**ink, **lines, "labelFontSize": 12, "labelLimit": 260},
        "axisX": {"tickCount": 7},
        "axisY": {"tickCount": 4},
        "legend": {**ink, "symbolBaseFillColor": "currentColor", "symbolStrokeWidth": 0, "labelLimit": 320}
        | {"columnPadding": 22, "titlePadding": 14}
        | {"layout": {"bottom": {"anchor": "start", "direction": "horizontal", "margin": 26}}},
        "header": {**ink, "labelFontWeight": "bold", "labelFontSize": 13},
        "title": {"color": "currentColor", "fontSize": 13},
    }
