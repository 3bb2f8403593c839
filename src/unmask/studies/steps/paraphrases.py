"""Originals and their paraphrases as a step: the difference of every wording, by measure and scale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from unmask.audit.plan import Options, loaded
from unmask.audit.session import Subject
from unmask.core.types import Dataset
from unmask.diagnose import Settings
from unmask.diagnose.paraphrase import Observed, observe
from unmask.diagnose.paraphrase.families import Family, family_set
from unmask.diagnose.spec import Seen
from unmask.models import Engine, Store
from unmask.studies.sizes import asked_tokens
from unmask.studies.spec import Given, Place, Step, Task, Work
from unmask.studies.steps.audits import opened
from unmask.studies.steps.diagnoses import READINGS

WORDINGS = "wordings.json"


def run(given: Given) -> None:
    """Score every wording by the measures named."""
    parameters, place = given.parameters, given.place
    data = dataset(given.step.data[0], parameters["limit"], place)
    lm = opened(given.model, parameters["dtype"], place.device, offline=place.offline)
    store = Store(given.folder / READINGS)
    try:
        settings = Settings(tuple(parameters["measures"]), parameters["seed"])
        seen = observe(Subject(Engine(lm, store)), data, settings)
    finally:
        store.close()
    families = {
        measure: {scale: [_plain(one) for one in found] for scale, found in scales.items()}
        for measure, scales in seen.measures.items()
    }
    whole = {"families": families, "notes": list(seen.notes), "texts": _texts(data)}
    (given.folder / WORDINGS).write_text(json.dumps(whole, ensure_ascii=False), encoding="utf-8")
    for path in given.folder.glob(f"{READINGS}*"):
        path.unlink()


def dataset(name: str, limit: int | None, place: Place) -> Dataset:
    """The pairs, or the first of them."""
    options = Options(limit=limit, data_dir=place.data_dir, offline=place.offline)
    return loaded(name, options)[0]


def read(folder: Path) -> tuple[Observed, dict[str, list[list[str]]]]:
    """What was observed, and the sentences of every original and its paraphrases."""
    whole = json.loads((folder / WORDINGS).read_text(encoding="utf-8"))
    measures = {
        measure: {
            scale: tuple(
                Family(one["original"], one["category"], np.array(one["differences"])) for one in found
            )
            for scale, found in scales.items()
        }
        for measure, scales in whole["families"].items()
    }
    return Observed(measures, tuple(whole["notes"])), whole["texts"]


def seen(folder: Path, model: str, data: Dataset) -> Seen:
    """As the diagnosis concludes from it."""
    return Seen({"id": model}, data, read(folder)[0])


def _plain(one: Family) -> dict[str, Any]:
    return {"original": one.original, "category": one.category, "differences": one.differences.tolist()}


def _texts(data: Dataset) -> dict[str, list[list[str]]]:
    return {
        original: [[pair.more, pair.less] for pair in pairs]
        for original, pairs in family_set(data).pairs.items()
    }


def work(step: Step) -> Work:
    """One audit by a measure that hides one token at a time."""
    return Work(asked_tokens(step.data[0], step.parameters["limit"], ("cps",)))


WORDED = Task(run, version=1, work=work, resumes=True)
