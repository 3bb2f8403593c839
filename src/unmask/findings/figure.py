"""From a chart to the page: its specification, its drawing for readers without JavaScript, and the script."""

from __future__ import annotations

import functools
import os
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import altair as alt
import vl_convert

from unmask.core.paths import cache_dir

Chart = alt.LayerChart | alt.FacetChart | alt.ConcatChart


@dataclass(frozen=True, slots=True)
class Figure:
    """One chart, ready for the page."""

    id: str
    title: str
    alt: str
    spec: dict[str, Any]
    svg: str


def figure(id: str, title: str, chart: Chart, alt_text: str) -> Figure:
    """A chart as specification and as drawing."""
    spec = chart.properties(description=alt_text).to_dict(validate=False) | {"config": _theme()}
    spec.pop("$schema", None)
    return Figure(id, title, alt_text, spec, vl_convert.vegalite_to_svg(spec | {"padding": ROOM}))


ROOM = {"left": 30, "right": 30, "top": 8, "bottom": 8}  # a reader's font may be wider than ours


@functools.cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; bundling takes seconds, so it is done once a version."""
    kept = cache_dir() / f"vega-{version('vl-convert-python')}.js"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    script = script.replace("\r\n", "\n").replace("\r", "\n")  # browsers do, before they check its hash
    with suppress(OSError):  # a cache that cannot be written to costs time, nothing else
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_text(script, encoding="utf-8", newline="\n")
        part.replace(kept)
    return script


def _theme() -> dict[str, Any]:
    """Ink in the colour of the page's text, so that the charts follow a dark page."""
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
