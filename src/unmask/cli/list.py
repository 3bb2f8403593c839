"""`unmask list`: available measures, data, models and methods, with one-line descriptions."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Annotated, Any

import typer

from unmask.core.errors import UnknownName
from unmask.core.registry import Registry
from unmask.findings import terminal


def listing(
    what: Annotated[
        str, typer.Argument(help="measures, vectors, data, models, diagnoses, mitigations, tasks or studies.")
    ],
) -> None:
    """List measures, measures on vectors, data, models, diagnoses, mitigations, tasks, studies."""
    if what not in _KINDS:
        raise UnknownName("list", what, _KINDS)
    place, describe = _KINDS[what]
    things = resolve_name(place)
    things = things() if callable(things) else things
    width = max(map(len, things))
    for name, thing in things.items():
        origin = things.origin(name) if isinstance(things, Registry) else ""
        source = f" (from {origin})" if origin else ""
        terminal.write_out(f"{name:<{width}}  {describe(thing)}{source}\n")


def known_models() -> dict[str, str]:
    """The built-in models, and how to name others."""
    from unmask.models.builtin import builtin_models

    return {
        **{name: model.about for name, model in builtin_models().items()},
        "NAME[@REVISION]": "any masked or causal language model on the Hugging Face hub",
        "FOLDER": "a model saved on this machine",
    }


def _describe_data(source: Any) -> str:
    """Kind, title, size, languages and licence of a dataset."""
    from unmask.data.items import DatasetSource, ScoreSource, TableSource

    card, kinds = source.card, {DatasetSource: "pairs", TableSource: "table", ScoreSource: "scores"}
    kind = kinds.get(type(source), "task")
    return f"[{kind}] {card.title}; {card.size:,} items, {', '.join(card.languages)}, {card.licence}"


_NEEDS = {"lm": "language model", "classifier": "classifier", "training": "fine-tunes"}
_KINDS: dict[str, tuple[str, Callable[[Any], str]]] = {  # where the things are; imported when listed
    "measures": ("unmask.measures:MEASURES", lambda each: f"[{'/'.join(each.kinds)}] {each.title}: {each.reads}"),
    "vectors": (
        "unmask.vectors:VECTOR_MEASURES",
        lambda each: f"[{'models' if each.models_only else 'files and models'}] {each.title}: {each.reads}",
    ),
    "data": ("unmask.data:SOURCES", _describe_data),
    "models": ("unmask.cli.list:known_models", str),
    "diagnoses": ("unmask.diagnose:DIAGNOSES", lambda each: each.question),
    "mitigations": ("unmask.mitigate:METHODS", lambda each: f"[{'/'.join(each.kinds)}] {each.about}"),
    "tasks": ("unmask.tasks:TASKS", lambda each: f"[{_NEEDS[each.needs]}] {each.question}"),
    "studies": ("unmask.studies:STUDIES", lambda each: each.question),
}
