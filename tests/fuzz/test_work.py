"""What interrupted runs leave behind: resumed to the same numbers, computed again, or refused in one line."""

from __future__ import annotations

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest
from tests.fuzz.harness import BUDGET, Boundary, Files, fuzz

from training.test_trainer import ROWS, Line, pairs, squares
from unmask.corpus.training_effect import _read_record as read_record
from unmask.mitigate.checkpoint import MOVED, RECORD, WORK, finished_details, own_files
from unmask.tasks.bias_curve import _read as read_points
from unmask.tasks.finetune import read_trials
from unmask.training import EvalCallback, TrainSettings, train

SETTINGS = TrainSettings(epochs=2, lr=0.1, batch=2, seed=4, save_every=2)
REQUEST = {
    "method": "cda",
    "model": {"id": "m"},
    "data": {"documents": 3},
    "options": {"lr": 0.1, "word": None, "name_table": None},
}
DETAILS = {"request": REQUEST, "outcome": {}, "steps": 3}
POINT = {"step": 3, "name": "gap", "bias": {"value": 0.1, "low": 0.0, "high": 0.2, "method": "t"}, "n": 4, "score": 0.5}


class KilledError(Exception):
    """The end of a run that is resumed."""


def stop(step: int, _: object) -> None:
    raise KilledError


@cache
def left_by_training() -> list[Files]:
    """The checkpoint of a training that ended after its third step."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "work"
        with pytest.raises(KilledError):
            train(Line(), ROWS, pairs, SETTINGS, folder, loss=squares, callbacks=[EvalCallback(3, stop)])
        return [{path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}]


@cache
def trained_weight() -> float:
    """The weight at the end of the whole training."""
    model, folder = Line(), tempfile.mkdtemp()
    train(model, ROWS, pairs, SETTINGS, folder, loss=squares)
    shutil.rmtree(folder, ignore_errors=True)
    return float(model.a.item())


def resume(folder: Path) -> None:
    """The training ends with the same weight, whatever its checkpoint is worth."""
    model = Line()
    train(model, ROWS, pairs, SETTINGS, folder, loss=squares)
    assert model.a.item() == trained_weight()


def mitigations() -> list[Files]:
    """Checkpoints that are finished, yet to be measured, and half moved."""
    return [
        {f"{WORK}/{RECORD}": json.dumps({"details": DETAILS}).encode(), f"{WORK}/{MOVED}": b'["model.safetensors"]'}
    ]


def read_mitigation(folder: Path) -> None:
    assert WORK in own_files(folder)
    found = finished_details(folder, REQUEST)
    assert found is None or found["request"]["method"] == "cda"


BOUNDARIES = [
    Boundary("checkpoint of a training", left_by_training, resume),
    Boundary("unfinished mitigation", mitigations, read_mitigation, share=8),
    Boundary(
        "trials of a search",
        lambda: [
            {"t.json": json.dumps([{"batch": 8, "rate": 1e-3, "epochs": 1.0, "score": 0.5, "steps": 3}]).encode()}
        ],
        lambda folder: [trial.name.encode() for trial in read_trials(folder / "t.json")],
        share=8,
    ),
    Boundary(
        "points of a curve",
        lambda: [{"p.jsonl": json.dumps(POINT).encode() + b"\n"}],
        lambda folder: str(read_points(folder / "p.jsonl")).encode(),
        share=8,
    ),
    Boundary(
        "record of a training",
        lambda: [{"r.json": b'{"asked": {}, "texts": 3, "steps": 2, "losses": [[1, 4.5]]}'}],
        lambda folder: str(read_record(folder / "r.json")).encode(),
        share=8,
    ),
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET // 2 if boundary.share == 1 else BUDGET)
