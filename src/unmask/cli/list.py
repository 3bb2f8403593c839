"""`unmask list`: available measures, data, models and methods, with one-line descriptions."""

from __future__ import annotations

from typing import Annotated

import typer

from unmask.core.errors import UnknownName
from unmask.findings.terminal import console


def listing(
    what: Annotated[
        str, typer.Argument(help="measures, vectors, data, models, diagnoses, mitigations, tasks or studies.")
    ],
) -> None:
    """List measures, measures on vectors, data, models, diagnoses, mitigations, tasks, studies."""
    kinds = {
        "mitigations": _mitigations,
        "measures": _measures,
        "vectors": _vectors,
        "data": _data,
        "models": _models,
        "diagnoses": _diagnoses,
        "tasks": _tasks,
        "studies": _studies,
    }
    if what not in kinds:
        raise UnknownName("list", what, kinds)
    rows = kinds[what]()
    width = max(len(name) for name, _ in rows)
    screen = console()
    for name, meaning in rows:
        screen.print(f"{name:<{width}}  {meaning}", soft_wrap=True)


def _measures() -> list[tuple[str, str]]:
    from unmask.measures import MEASURES

    return [
        (measure.name, f"[{'/'.join(measure.kinds)}] {measure.title}: {measure.reads}")
        for measure in MEASURES.values()
    ]


def _data() -> list[tuple[str, str]]:
    from unmask import data

    kinds = {**dict.fromkeys(data.names(), "pairs"), **dict.fromkeys(data.tables(), "table")}
    cards = [(data.card(name), kind) for name, kind in kinds.items()]
    return [
        (
            card.name,
            f"[{kind}] {card.title}; {card.size:,} items, {', '.join(card.languages)}, {card.licence}",
        )
        for card, kind in cards
    ]


def _models() -> list[tuple[str, str]]:
    from unmask.models.builtin import builtin_models

    return [
        *((name, model.about) for name, model in builtin_models().items()),
        ("NAME[@REVISION]", "any masked or causal language model on the Hugging Face hub"),
        ("FOLDER", "a model saved on this machine"),
    ]


def _diagnoses() -> list[tuple[str, str]]:
    from unmask.diagnose import DIAGNOSES

    return [(diagnosis.name, diagnosis.question) for diagnosis in DIAGNOSES.values()]


def _vectors() -> list[tuple[str, str]]:
    from unmask.vectors.run import VECTOR_MEASURES

    kinds = {True: "models", False: "files and models"}
    return [
        (measure.name, f"[{kinds[measure.models_only]}] {measure.title}: {measure.reads}")
        for measure in VECTOR_MEASURES.values()
    ]


def _tasks() -> list[tuple[str, str]]:
    from unmask.tasks import TASKS

    needs = {"lm": "language model", "classifier": "classifier", "training": "fine-tunes"}
    return [(task.name, f"[{needs[task.needs]}] {task.question}") for task in TASKS.values()]


def _mitigations() -> list[tuple[str, str]]:
    from unmask.mitigate import methods

    return [(method.name, f"[{'/'.join(method.kinds)}] {method.about}") for method in methods().values()]


def _studies() -> list[tuple[str, str]]:
    from unmask.studies import STUDIES

    return [(study.name, study.question) for study in STUDIES.values()]
