"""A mitigation run: text in, checkpoint out, and a record of all that decided it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from unmask.core.errors import DataError, ModelError, ResultError
from unmask.mitigate.spec import Method, MitigationContext, MitigationOptions, Outcome, TrainingCorpus
from unmask.models import Engine, Lm
from unmask.models.eraser import Eraser, attached_eraser, save_eraser
from unmask.training import ProgressCallback, TrainSettings
from unmask.training.distributed import on_main_process, world_size

RECORD = "mitigation.json"
WORK = "unfinished"  # inside the checkpoint's folder, while it is being made
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class MitigationResult:
    """A checkpoint that was made, and its record."""

    folder: Path
    record: Mapping[str, Any]
    outcome: Outcome


def mitigate(  # noqa: PLR0913 - what a mitigation is made of
    method: Method,
    engine: Engine,
    corpus: TrainingCorpus,
    out: str | Path,
    *,
    settings: TrainSettings | None = None,
    options: MitigationOptions | None = None,
    progress: ProgressCallback | None = None,
) -> MitigationResult:
    """Change a model by a method and write it to `out`; what was killed goes on where it was.

    The model that `engine` holds is changed in place: ask it what is to be known of it before.
    """
    settings, options, folder = settings or method.settings, options or MitigationOptions(), Path(out)
    check_request(method, engine.lm, options, folder)
    before = _weights(engine.lm.network.model)
    facts = asdict(engine.lm.facts)
    outcome = method.apply(MitigationContext(engine, folder / WORK, settings, options, progress), corpus)
    changed = _changed(before, _weights(outcome.model), attached_eraser(outcome.model))
    record = {
        **_asked(method, facts, corpus, settings, options),
        **_did(outcome, facts["device"]),
        "changed": changed,
    }
    on_main_process(lambda: _save(outcome.model, engine.lm, folder, record))
    return MitigationResult(folder, record, outcome)


def check_request(method: Method, lm: Lm, options: MitigationOptions, folder: Path) -> None:
    """What would fail later fails now, before anything is computed."""
    if lm.kind not in method.kinds:
        raise ModelError(
            f"{method.name} works on {' and '.join(method.kinds)} models, {lm.facts.id} is {lm.kind}: "
            "for causal models there are cda, cds and dropout"
        )
    if options.axis not in method.axes:
        raise DataError(f"{method.name} exchanges no words of {options.axis}: give --axis {method.axes[0]}")
    if folder.is_dir() and any(one.name != WORK for one in folder.iterdir()):
        raise ResultError(f"{folder} holds other files: give a new or empty folder for the checkpoint")


def load_finished_record(
    folder: Path,
    method: Method,
    lm: Lm,
    corpus: TrainingCorpus,
    settings: TrainSettings,
    options: MitigationOptions,
) -> dict[str, Any] | None:
    """The record of the same mitigation, if it was made before: then only the judging may be lacking."""
    path = folder / RECORD
    if not path.is_file():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    asked = _asked(method, asdict(lm.facts), corpus, settings, options)
    if any(kept.get(name) != value for name, value in json.loads(json.dumps(asked)).items()):
        return None
    return {name: value for name, value in kept.items() if name != "judged"}


def _weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: one.detach().to("cpu", copy=True) for name, one in model.state_dict().items()}


def _changed(
    before: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor], eraser: Eraser | None
) -> dict[str, Any]:
    """How much of the model is other than it was; ModelError if nothing is."""
    moved = {name: int((one != after[name]).sum()) for name, one in before.items()}
    if not any(moved.values()) and eraser is None:
        raise ModelError(
            "no weight changed: nothing was learnt, so there is no mitigated model; give more text"
        )
    size = sum(one.numel() for one in before.values())
    distance = sum(float((one.double() - after[name].double()).pow(2).sum()) for name, one in before.items())
    length = sum(float(one.double().pow(2).sum()) for one in before.values())
    return {
        "weights": sum(moved.values()),
        "of": size,
        "tensors": sum(bool(one) for one in moved.values()),
        "relative_distance": (distance / length) ** 0.5,
        "eraser": eraser.description if eraser is not None else None,
    }


def _asked(
    method: Method,
    model: Mapping[str, Any],
    corpus: TrainingCorpus,
    settings: TrainSettings,
    options: MitigationOptions,
) -> dict[str, Any]:
    """What decides the result."""
    return {
        "schema": SCHEMA,
        "method": method.name,
        "title": method.title,
        "behaviour": "as published" if method.published else "corrected",
        "citation": method.citation,
        "model": {name: model[name] for name in ("id", "revision", "fingerprint", "architecture")},
        "data": {
            "files": [dict(one) for one in corpus.files],
            "documents": len(corpus.documents),
            "held_out": len(corpus.held_out),
        },
        "choices": {**asdict(options), "pairs": options.pairs.name if options.pairs else None},
        "settings": asdict(settings),
    }


def _did(outcome: Outcome, device: str) -> dict[str, Any]:
    """What came of it."""
    took = outcome.trained
    return {
        "did": dict(outcome.facts),
        "steps": took.steps if took else 0,
        "losses": [list(one) for one in took.losses] if took else [],
        "device": device,
        "processes": world_size(),
    }


def _save(model: Any, lm: Lm, folder: Path, record: Mapping[str, Any]) -> None:
    """An ordinary checkpoint; its record is written last."""
    from unmask.training.trainer import quiet_trainer

    folder.mkdir(parents=True, exist_ok=True)
    with quiet_trainer():
        model.save_pretrained(folder)
        lm.tokenizer.save_pretrained(folder)
    eraser = attached_eraser(model)
    if eraser is not None:
        save_eraser(eraser, folder)
    shutil.rmtree(folder / WORK, ignore_errors=True)
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    (folder / RECORD).write_text(text, encoding="utf-8")
