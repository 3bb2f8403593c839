"""`unmask list`: what there is, with one-line meanings."""

from __future__ import annotations

from typing import Annotated

import typer

from unmask.cli.words import console
from unmask.errors import UnknownName


def listing(what: Annotated[str, typer.Argument(help="measures, data, models or diagnoses.")]) -> None:
    """List measures, data, models or diagnoses, one line each."""
    kinds = {"measures": _measures, "data": _data, "models": _models, "diagnoses": _diagnoses}
    if what not in kinds:
        raise UnknownName("list", what, kinds)
    rows = kinds[what]()
    width = max(len(name) for name, _ in rows)
    screen = console()
    for name, meaning in rows:
        screen.print(f"{name:<{width}}  {meaning}", soft_wrap=True)


def _measures() -> list[tuple[str, str]]:
    from unmask.measures import MEASURES

    return [(one.name, f"[{'/'.join(one.kinds)}] {one.title}: {one.reads}") for one in MEASURES.values()]


def _data() -> list[tuple[str, str]]:
    from unmask import data

    kinds = {**dict.fromkeys(data.names(), "pairs"), **dict.fromkeys(data.tables(), "table")}
    cards = [(data.card(name), kind) for name, kind in kinds.items()]
    return [
        (one.name, f"[{kind}] {one.title}; {one.size:,} items, {', '.join(one.languages)}, {one.licence}")
        for one, kind in cards
    ]


def _models() -> list[tuple[str, str]]:
    from unmask.models.shipped import shipped

    return [
        *((name, one.about) for name, one in shipped().items()),
        ("NAME[@REVISION]", "any masked or causal model of the Hugging Face hub"),
        ("FOLDER", "a model saved on this machine"),
    ]


def _diagnoses() -> list[tuple[str, str]]:
    from unmask.diagnose import DIAGNOSES

    return [(one.name, one.question) for one in DIAGNOSES.values()]
