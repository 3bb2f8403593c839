"""Paraphrase steps: the score difference of every original and paraphrase, by measure and scale."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from unmask.audit.plan import load_datasets
from unmask.audit.session import Session
from unmask.core.options import Options
from unmask.core.types import Dataset
from unmask.diagnose import DiagnosisSettings
from unmask.diagnose.paraphrase import ParaphraseResult, observe
from unmask.diagnose.paraphrase.families import Family, family_set
from unmask.diagnose.spec import DiagnosisObservation
from unmask.models import Engine, Store
from unmask.studies.sizes import forward_tokens
from unmask.studies.spec import Runtime, Step, StepContext, StepKind, WorkEstimate
from unmask.studies.steps.audits import open_cached
from unmask.studies.steps.diagnoses import READINGS

WORDINGS = "wordings.json"


def score_wordings(context: StepContext) -> None:
    """Score every wording by `measures`."""
    parameters, runtime = context.parameters, context.runtime
    data = load_pairs(context.step.data[0], parameters["limit"], runtime)
    lm = open_cached(context.model, parameters["dtype"], runtime.device, offline=runtime.offline)
    store = Store(context.folder / READINGS)
    try:
        settings = DiagnosisSettings(tuple(parameters["measures"]), parameters["seed"])
        result = observe(Session(Engine(lm, store)), data, settings)
    finally:
        store.close()
    families = {
        measure: {scale: [_as_json(family) for family in group] for scale, group in scales.items()}
        for measure, scales in result.measures.items()
    }
    record = {"families": families, "notes": list(result.notes), "texts": _texts(data)}
    (context.folder / WORDINGS).write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
    for path in context.folder.glob(f"{READINGS}*"):
        path.unlink()


def load_pairs(name: str, limit: int | None, runtime: Runtime) -> Dataset:
    """Load the pairs, or the first `limit` of them."""
    options = Options(limit=limit, data_dir=runtime.data_dir, offline=runtime.offline)
    return load_datasets(name, options)[0]


def load_wordings(folder: Path) -> tuple[ParaphraseResult, dict[str, list[list[str]]]]:
    """The observed differences, and the sentence pairs of every original and its paraphrases."""
    record = json.loads((folder / WORDINGS).read_text(encoding="utf-8"))
    measures = {
        measure: {
            scale: tuple(
                Family(family["original"], family["category"], np.array(family["differences"]))
                for family in group
            )
            for scale, group in scales.items()
        }
        for measure, scales in record["families"].items()
    }
    return ParaphraseResult(measures, tuple(record["notes"])), record["texts"]


def load_observation(folder: Path, model: str, data: Dataset) -> DiagnosisObservation:
    """A step's output as the observation that the diagnosis concludes from."""
    return DiagnosisObservation({"id": model}, data, load_wordings(folder)[0])


def _as_json(family: Family) -> dict[str, Any]:
    differences = family.differences.tolist()
    return {"original": family.original, "category": family.category, "differences": differences}


def _texts(data: Dataset) -> dict[str, list[list[str]]]:
    return {
        original: [[pair.more, pair.less] for pair in pairs]
        for original, pairs in family_set(data).pairs.items()
    }


def work_estimate(step: Step) -> WorkEstimate:
    """One audit by a measure that masks one token at a time."""
    return WorkEstimate(forward_tokens(step.data[0], step.parameters["limit"], ("cps",)))


WORDED = StepKind(score_wordings, version=1, estimate_work=work_estimate, resumable=True)
