"""Small untrained models, and biographies with or without a gender–occupation association."""

from __future__ import annotations

import functools
import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from filelock import FileLock

import reference
import zoo
from unmask.core.options import Opening, Options, Serving
from unmask.models.eraser import Eraser, save_eraser
from unmask.tasks import Task, TaskOptions, find
from unmask.tasks.run import TaskEvaluation, TaskResult, evaluate_models

FILLER = ("every", "day", "in", "the", "city", "with", "people", "from", "school", "and", "old", "friends", "now")
TOPIC = {"nurse": "sick", "surgeon": "money"}


@functools.cache
def untrained_model(name: str = "bert-uncased") -> Path:
    """A randomly initialised model with a zoo member's configuration, saved as a checkpoint."""
    wild, tokenizer = reference.load(zoo.folder(name))
    folder = zoo.folder(name).parent / f"untrained-{name}"
    with FileLock(f"{folder}.lock"):  # other test processes want it too
        if not folder.exists():
            torch.manual_seed(0)
            made = folder.with_suffix(".part")
            zoo.save(made, type(wild)(wild.config).eval(), tokenizer)
            made.rename(folder)
    return folder


def evaluate(task: str | Task, models: Sequence[Path | str], settings: TaskOptions) -> TaskResult:
    """What `unmask.task` computes before it is written: the observations and the conclusion.

    Options that several tasks have are those of the task.
    """
    chosen = find(task)
    own = chosen.pick_options({field.name: getattr(settings, field.name) for field in fields(settings)})
    how = (Opening(device="cpu", offline=True), Serving(), Options(store=False, offline=True))
    with TemporaryDirectory() as folder:
        return evaluate_models(TaskEvaluation(chosen, own, *how), [str(model) for model in models], Path(folder))


def biographies(path: Path, *, planted: bool, n: int = 400, seed: int = 0) -> Path:
    """Nurses and surgeons. Planted: only the pronoun predicts the occupation, correctly in 4 of 5 cases.

    Otherwise a topic word predicts it, and gender is independent of the occupation.
    """
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        job = rng.choice(sorted(TOPIC))
        usual = "female" if job == "nurse" else "male"
        rare = "male" if usual == "female" else "female"
        gender = (usual if rng.random() < 0.8 else rare) if planted else rng.choice(["female", "male"])
        words = [rng.choice(FILLER) for _ in range(4)]
        words.insert(1, "work" if planted else TOPIC[job])
        text = f"{'she' if gender == 'female' else 'he'} {' '.join(words)}."
        rows.append({"hard_text": text, "profession": job, "gender": gender})
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def some_eraser(size: int = 32) -> Eraser:
    """An eraser that removes two directions after the last layer."""
    rows = torch.linalg.qr(torch.randn(size, 2, generator=torch.Generator().manual_seed(1)))[0].T
    return Eraser("projection", {"removed": rows}, -1, "a test")


def erased_copy(source: Path, folder: Path) -> Path:
    """A copy of a checkpoint with an eraser beside its weights."""
    shutil.copytree(source, folder)
    save_eraser(some_eraser(), folder)
    return folder
