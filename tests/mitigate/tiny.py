"""Tiny models and a tiny corpus for the tests of mitigation."""

from __future__ import annotations

from pathlib import Path

import zoo
from unmask.data.texts import TrainingCorpus
from unmask.mitigate import MethodOptions, MitigationContext, TrainingOptions, find
from unmask.models import Engine, open_lm

DOCUMENTS = (
    ("He is a doctor.", "The nurse saw him at work."),
    ("She is a teacher.", "Her brother likes the garden."),
    ("The weather was bad all week.",),
    ("The king gave the queen a horse.",),
    ("The engineer wrote a long letter.", "A plumber fixed the door."),
    ("James met Linda.", "He told her that his car was new."),
)
HELD = (
    ("The teacher went home because the school was closed today.",),
    ("They had lunch in the garden and talked about the weather.",),
    ("Nobody knew why the door of the house was open.",),
)
CORPUS = TrainingCorpus(DOCUMENTS, HELD, ({"name": "tiny.txt", "sha256": "0" * 64},))
TRAINED = {"epochs": 1, "lr": 1e-3, "batch": 4, "seed": 1}


def make_options(method: str = "cda", **options: object) -> MethodOptions:
    """The options of a method for a short training."""
    group = find(method).options
    settings = TRAINED if issubclass(group, TrainingOptions) else {"seed": 1}
    return group(**{**settings, **options})  # type: ignore[arg-type]


def make_context(
    folder: Path, name: str = "bert-uncased", method: str = "cda", **options: object
) -> MitigationContext[MethodOptions]:
    """A zoo model to be mitigated."""
    return MitigationContext(Engine(open_lm(zoo.folder(name))), folder / "work", make_options(method, **options))
