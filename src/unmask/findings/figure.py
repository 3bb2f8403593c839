"""Figures of a page: Vega-Lite specification, SVG for readers without JavaScript, and the Vega script."""

from __future__ import annotations

import functools
import os
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import vl_convert

from unmask.core.paths import cache_dir
from unmask.findings.charts import Chart


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


ROOM = {"left": 30, "right": 30, "top": 8, "bottom": 8}  # the reader's font may be wider


@functools.cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; bundling takes seconds, so it is cached per version."""
    cached = cache_dir() / f"vega-{version('vl-convert-python')}.js"
    if cached.is_file():
        return cached.read_text(encoding="utf-8")
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    script = script.replace("\r\n", "\n").replace("\r", "\n")  # as browsers do before they check the hash
    with suppress(OSError):  # without a writable cache it is only slower
        cached.parent.mkdir(parents=True, exist_ok=True)
        part = cached.with_suffix(f".{os.getpid()}")
        part.write_text(script, encoding="utf-8", newline="\n")
        part.replace(cached)
    return script


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
