"""Run a mitigation: corpus in, checkpoint out, with a record of everything that determined it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from unmask.core.errors import DataError, ModelError, ResultError
from unmask.data.texts import TrainingCorpus
from unmask.mitigate.spec import Method, MitigationContext, MitigationOptions, Outcome
from unmask.models import Engine, Lm
from unmask.models.eraser import Eraser, attached_eraser, save_eraser
from unmask.training import ProgressCallback, TrainSettings
from unmask.training.checkpoints import save_model
from unmask.training.distributed import on_main_process, world_size

RECORD = "mitigation.json"
WORK = "unfinished"  # work folder inside the checkpoint folder, removed at the end
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class MitigationResult:
    """The folder of the checkpoint, its record, and the outcome of the method."""

    folder: Path
    record: Mapping[str, Any]
    outcome: Outcome


def mitigate(  # noqa: PLR0913 - everything that determines a mitigation
    method: Method,
    engine: Engine,
    corpus: TrainingCorpus,
    out: str | Path,
    *,
    settings: TrainSettings | None = None,
    options: MitigationOptions | None = None,
    progress: ProgressCallback | None = None,
) -> MitigationResult:
    """Mitigate a model and write the checkpoint to `out`; an interrupted run is resumed.

    The model of `engine` is changed in place: evaluate it before calling this.
    """
    settings, options, folder = settings or method.settings, options or MitigationOptions(), Path(out)
    check_request(method, engine.lm, options, folder)
    before = _copy_weights(engine.lm.network.model)
    facts = asdict(engine.lm.facts)
    outcome = method.apply(MitigationContext(engine, folder / WORK, settings, options, progress), corpus)
    changed = _weight_changes(before, _copy_weights(outcome.model), attached_eraser(outcome.model))
    record = {
        **_request(method, facts, corpus, settings, options),
        **_outcome_facts(outcome, facts["device"]),
        "changed": changed,
    }
    on_main_process(lambda: _save(outcome.model, engine.lm, folder, record))
    return MitigationResult(folder, record, outcome)


def check_request(method: Method, lm: Lm, options: MitigationOptions, folder: Path) -> None:
    """Check everything that would fail later, before anything is computed."""
    if lm.kind not in method.kinds:
        raise ModelError(
            f"{method.name} works on {' and '.join(method.kinds)} models, {lm.facts.id} is {lm.kind}: "
            "for causal models use cda, cds or dropout"
        )
    if options.axis not in method.axes:
        raise DataError(f"{method.name} does not support the axis {options.axis}: use {method.axes[0]}")
    if folder.is_dir() and any(path.name != WORK for path in folder.iterdir()):
        raise ResultError(f"{folder} holds other files: give a new or empty folder for the checkpoint")


def load_finished_record(
    folder: Path,
    method: Method,
    lm: Lm,
    corpus: TrainingCorpus,
    settings: TrainSettings,
    options: MitigationOptions,
) -> dict[str, Any] | None:
    """The record of an earlier, identical run, without its evaluation; None if there is none."""
    path = folder / RECORD
    if not path.is_file():
        return None
    record = json.loads(path.read_text(encoding="utf-8"))
    request = _request(method, asdict(lm.facts), corpus, settings, options)
    if any(record.get(name) != value for name, value in json.loads(json.dumps(request)).items()):
        return None
    return {name: value for name, value in record.items() if name != "judged"}


def _copy_weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in model.state_dict().items()}


def _weight_changes(
    before: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor], eraser: Eraser | None
) -> dict[str, Any]:
    """How many weights changed and how far; ModelError if none did and there is no eraser."""
    changed_weights = {name: int((tensor != after[name]).sum()) for name, tensor in before.items()}
    if not any(changed_weights.values()) and eraser is None:
        raise ModelError("no weight changed, so there is no mitigated model: give more text")
    size = sum(tensor.numel() for tensor in before.values())
    distance = sum(
        float((tensor.double() - after[name].double()).pow(2).sum()) for name, tensor in before.items()
    )
    length = sum(float(tensor.double().pow(2).sum()) for tensor in before.values())
    return {
        "weights": sum(changed_weights.values()),
        "of": size,
        "tensors": sum(bool(count) for count in changed_weights.values()),
        "relative_distance": (distance / length) ** 0.5,
        "eraser": eraser.description if eraser is not None else None,
    }


def _request(
    method: Method,
    model: Mapping[str, Any],
    corpus: TrainingCorpus,
    settings: TrainSettings,
    options: MitigationOptions,
) -> dict[str, Any]:
    """Everything that determines the result."""
    return {
        "schema": SCHEMA,
        "method": method.name,
        "title": method.title,
        "behaviour": "as published" if method.published else "corrected",
        "citation": method.citation,
        "model": {name: model[name] for name in ("id", "revision", "fingerprint", "architecture")},
        "data": {
            "files": [dict(file) for file in corpus.files],
            "documents": len(corpus.documents),
            "held_out": len(corpus.held_out),
        },
        "choices": {**asdict(options), "pairs": options.pairs.name if options.pairs else None},
        "settings": asdict(settings),
    }


def _outcome_facts(outcome: Outcome, device: str) -> dict[str, Any]:
    """Facts about the outcome."""
    training = outcome.trained
    return {
        "did": dict(outcome.facts),
        "steps": training.steps if training else 0,
        "losses": [list(entry) for entry in training.losses] if training else [],
        "device": device,
        "processes": world_size(),
    }


def _save(model: Any, lm: Lm, folder: Path, record: Mapping[str, Any]) -> None:
    """Save a Hugging Face checkpoint; the record is written last."""
    folder.mkdir(parents=True, exist_ok=True)
    save_model(model, lm.tokenizer, folder)
    eraser = attached_eraser(model)
    if eraser is not None:
        save_eraser(eraser, folder)
    shutil.rmtree(folder / WORK, ignore_errors=True)
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    (folder / RECORD).write_text(text, encoding="utf-8")
