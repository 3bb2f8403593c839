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
        str,
        typer.Argument(
            help="measures, vectors, data, models, diagnoses, mitigations, tasks, studies or options.",
            show_default="the names of these lists",
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print names and descriptions as JSON.")] = False,
) -> None:
    """List measures, measures on vectors, data, models, diagnoses, mitigations, tasks, studies, options."""
    if not what:
        lists = {name: about for name, (about, _, _) in _KINDS.items()}
        if as_json:
            terminal.print_json(lists)
            return
        terminal.write_out("".join(f"unmask list {name:<11}  {about}\n" for name, about in lists.items()))
        return
    if what not in _KINDS:
        raise UnknownName("list", what, _KINDS)
    _, place, describe = _KINDS[what]
    things = resolve_name(place)
    things = things() if callable(things) else things
    if as_json:
        terminal.print_json({name: describe(thing) for name, thing in things.items()})
        return
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
    """Kind, title, size, languages and licence of a dataset, and whether it is on this machine."""
    from unmask.data.files import availability

    card = source.card
    items = f"{card.size:,} items, " if card.size else ""
    facts = f"{items}{', '.join(card.languages)}, {card.licence}"
    return f"[{source.kind}] {card.title}; {facts} ({availability(card)})"


def _of_words(languages: tuple[str, ...]) -> str:
    """The languages of the words that something uses; none: it holds for any."""
    return f", words: {', '.join(languages)}" if languages else ""


_NEEDS = {"lm": "language model", "classifier": "classifier", "training": "fine-tunes"}
_KINDS: dict[str, tuple[str, str, Callable[[Any], str]]] = {  # about, and where the things are; imported when listed
    "measures": (
        "scores of a model on pairs, triples and templates",
        "unmask.measures:MEASURES",
        lambda thing: f"[{'/'.join(thing.kinds)}] {thing.title}: {thing.reads}",
    ),
    "vectors": (
        "measures on word vectors and hidden states",
        "unmask.vectors:VECTOR_MEASURES",
        lambda thing: f"[{'models' if thing.models_only else 'files and models'}] {thing.title}: {thing.reads}",
    ),
    "data": ("datasets, and which of them are on this machine", "unmask.data:SOURCES", _describe_data),
    "models": ("built-in models, and how others are named", "unmask.cli.list:known_models", str),
    "diagnoses": ("what a score depends on besides bias", "unmask.diagnose:DIAGNOSES", lambda thing: thing.question),
    "mitigations": (
        "methods to lower bias",
        "unmask.mitigate:METHODS",
        lambda thing: f"[{'/'.join(thing.kinds)}{_of_words(thing.languages)}] {thing.about}",
    ),
    "tasks": (
        "bias in applications",
        "unmask.tasks:TASKS",
        lambda thing: f"[{_NEEDS[thing.needs]}{_of_words(thing.languages)}] {thing.question}",
    ),
    "studies": ("papers that can be repeated", "unmask.studies:STUDIES", lambda thing: thing.question),
    "options": ("options that many commands take", "unmask.cli.options:common_options", str),
}
