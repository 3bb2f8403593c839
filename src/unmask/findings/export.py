"""Export charts as SVG, PNG and PDF files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import vl_convert

from unmask.findings.figure import ROOM, Figure

SCALE = 2  # PNG pixels per point, for print and high-density screens
INK = "#1c2024"


def write(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Write each figure as `ID.svg`, `ID.png` and `ID.pdf`, dark on white."""
    folder.mkdir(parents=True, exist_ok=True)
    return [path for figure in figures for path in _files(figure, folder)]


def _files(figure: Figure, folder: Path) -> Sequence[Path]:
    spec = _on_paper(figure.spec) | {"padding": ROOM}
    spec["config"] = {**spec["config"], "background": "white"}
    contents: dict[str, bytes] = {
        "svg": vl_convert.vegalite_to_svg(spec).encode(),
        "png": vl_convert.vegalite_to_png(spec, scale=SCALE),
        "pdf": vl_convert.vegalite_to_pdf(spec),
    }
    for kind, content in contents.items():
        (folder / f"{figure.id}.{kind}").write_bytes(content)
    return [folder / f"{figure.id}.{kind}" for kind in contents]


def _on_paper(value: Any) -> Any:
    """Replace `currentColor` by a fixed colour: outside a page there is no text colour to inherit."""
    if isinstance(value, dict):
        return {key: _on_paper(member) for key, member in value.items() if key != "values"} | (
            {"values": value["values"]} if "values" in value else {}
        )
    if isinstance(value, list):
        return [_on_paper(member) for member in value]
    return INK if value == "currentColor" else value
