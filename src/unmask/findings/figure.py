"""Figures: Vega-Lite specification, SVG for readers without JavaScript, the Vega script, files for papers."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vl_convert

from unmask.core.files import cache_dir, write_text
from unmask.findings.charts import Chart

ROOM = {"left": 30, "right": 30, "top": 8, "bottom": 8}  # the reader's font may be wider
SCALE = 2  # PNG pixels per point, for print and high-density screens
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
    """Convert a chart to its specification and SVG."""
    spec = chart.properties(description=alt_text).to_dict(validate=False) | {"config": _theme()}
    spec.pop("$schema", None)
    return Figure(id, title, alt_text, spec, vl_convert.vegalite_to_svg(spec | {"padding": ROOM}))


@functools.cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; bundling takes seconds, so it is cached per version."""
    cached = cache_dir() / f"vega-{version('vl-convert-python')}.js"
    if cached.is_file():
        return cached.read_text(encoding="utf-8")
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    script = script.replace("\r\n", "\n").replace("\r", "\n")  # as browsers do before they check the hash
    with suppress(OSError):  # without a writable cache it is only slower
        write_text(cached, script)
    return script


def export(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Write each figure as `ID.svg`, `ID.png` and `ID.pdf`, dark on white."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for each in figures:
        spec = _on_paper(each.spec) | {"padding": ROOM}
        spec["config"] = {**spec["config"], "background": "white"}
        contents: dict[str, bytes] = {
            "svg": vl_convert.vegalite_to_svg(spec).encode(),
            "png": vl_convert.vegalite_to_png(spec, scale=SCALE),
            "pdf": vl_convert.vegalite_to_pdf(spec),
        }
        for kind, content in contents.items():
            paths.append(folder / f"{each.id}.{kind}")
            paths[-1].write_bytes(content)
    return paths


def _on_paper(value: Any) -> Any:
    """Replace `currentColor` by a fixed colour: outside a page there is no text colour to inherit."""
    if isinstance(value, dict):
        return {key: part if key == "values" else _on_paper(part) for key, part in value.items()}
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
