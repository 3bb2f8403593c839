"""Tiny models and a tiny corpus for the tests of mitigation."""

from __future__ import annotations

from pathlib import Path

import zoo
from unmask.data.texts import TrainingCorpus
from unmask.mitigate.spec import MitigationContext, MitigationOptions
from unmask.models import Engine, open_lm
from unmask.training import TrainSettings

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
SETTINGS = TrainSettings(epochs=1, lr=1e-3, batch=4, seed=1)


def make_context(
    folder: Path, name: str = "bert-uncased", settings: TrainSettings = SETTINGS, **options: object
) -> MitigationContext:
    """A zoo model to be mitigated."""
    return MitigationContext(Engine(open_lm(zoo.folder(name))), folder / "work", settings, MitigationOptions(**options))  # type: ignore[arg-type]
