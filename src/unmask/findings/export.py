"""Every chart as files: SVG for pages, PDF for papers, PNG for slides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import vl_convert

from unmask.findings.figure import ROOM, Figure

SCALE = 2  # pixels of a PNG per point: sharp on paper and on dense screens
INK = "#1c2024"


def write(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Each figure as `ID.svg`, `ID.png` and `ID.pdf`, dark ink on white."""
    folder.mkdir(parents=True, exist_ok=True)
    return [path for figure in figures for path in _files(figure, folder)]


def _files(figure: Figure, folder: Path) -> Sequence[Path]:
    spec = _on_paper(figure.spec) | {"padding": ROOM}
    spec["config"] = {**spec["config"], "background": "white"}
    made: dict[str, bytes] = {
        "svg": vl_convert.vegalite_to_svg(spec).encode(),
        "png": vl_convert.vegalite_to_png(spec, scale=SCALE),
        "pdf": vl_convert.vegalite_to_pdf(spec),
    }
    for kind, content in made.items():
        (folder / f"{figure.id}.{kind}").write_bytes(content)
    return [folder / f"{figure.id}.{kind}" for kind in made]


def _on_paper(value: Any) -> Any:
    """The specification with its ink named: outside a page there is no text whose colour it could take."""
    if isinstance(value, dict):
        return {key: _on_paper(member) for key, member in value.items() if key != "values"} | (
            {"values": value["values"]} if "values" in value else {}
        )
    if isinstance(value, list):
        return [_on_paper(member) for member in value]
    return INK if value == "currentColor" else value
