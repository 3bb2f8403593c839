"""Mitigated checkpoints: one that does not open, has no record or changed nothing would be compared in vain."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import zoo
from mitigate.tiny import CORPUS, SETTINGS
from unmask.core.errors import DataError, ModelError, ResultError
from unmask.findings.envelope import read_meta
from unmask.mitigate import MitigationOptions, find
from unmask.mitigate.checkpoint import SCHEMA1, finished_details, make_checkpoint, request_of
from unmask.mitigate.spec import Method, Outcome
from unmask.models import Engine, open_lm


def engine(name: str = "bert-uncased") -> Engine:
    return Engine(open_lm(zoo.folder(name)))


@pytest.mark.thorough
def test_a_checkpoint_opens_and_has_a_record(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = make_checkpoint(find("cda"), engine(), CORPUS, out, settings=SETTINGS)
    meta = read_meta(out)
    record = meta["details"]
    assert record == done.details
    assert (meta["kind"], meta["options"]["method"], meta["options"]["seed"]) == ("mitigation", "cda", 1)
    assert (record["behaviour"], record["steps"], len(record["losses"])) == ("corrected", 3, 3)
    assert meta["data"] == [{"name": "tiny.txt", "sha256": "0" * 64}]
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == []
    before, after = open_lm(zoo.folder("bert-uncased")), open_lm(out)
    assert after.facts.fingerprint != before.facts.fingerprint == meta["model"]["fingerprint"]
    weights = dict(before.network.model.state_dict())
    moved = sum(int((one != weights[name]).sum()) for name, one in after.network.model.state_dict().items())
    assert record["changed"]["weights"] == moved > 0


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_checkpoint(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_checkpoint(find("cds"), engine(), CORPUS, tmp_path / name, settings=SETTINGS)
    make_checkpoint(find("cds"), engine(), CORPUS, tmp_path / "c", settings=replace(SETTINGS, seed=2))
    first, second, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in "abc")
    assert first == second != other
    assert (tmp_path / "a" / "result.json").read_bytes() == (tmp_path / "b" / "result.json").read_bytes()


@pytest.mark.thorough
def test_a_finished_run_is_recognised(tmp_path: Path) -> None:
    asked, out, method = engine(), tmp_path / "out", find("cda")
    request = request_of(method, asked.lm, CORPUS, SETTINGS, MitigationOptions())
    assert finished_details(out, request) is None
    made = make_checkpoint(method, asked, CORPUS, out, settings=SETTINGS)
    assert finished_details(out, request) == made.details
    other = request_of(method, asked.lm, CORPUS, replace(SETTINGS, seed=9), MitigationOptions())
    assert finished_details(out, other) is None


def test_a_checkpoint_of_an_earlier_version_is_recognised(tmp_path: Path) -> None:
    """Otherwise a finished checkpoint with `mitigation.json` would be refused instead of measured again."""
    lm, pairs = engine().lm, tmp_path / "words.csv"
    settings = {**asdict(SETTINGS), "rate": SETTINGS.lr, "limit": None, "bf16": False}
    del settings["lr"]
    choices = {**asdict(MitigationOptions()), "pairs": "words.csv"}
    del choices["train_pairs"], choices["data_dir"], choices["items"]  # there were no such options
    old = {
        "schema": 1,
        "method": "cda",
        "title": "Counterfactual data augmentation",
        "behaviour": "corrected",
        "citation": "webster-etal-2020-measuring",
        "model": {name: getattr(lm.facts, name) for name in ("id", "revision", "fingerprint", "architecture")},
        "data": {
            "files": [dict(file) for file in CORPUS.files],
            "documents": len(CORPUS.documents),
            "held_out": len(CORPUS.held_out),
        },
        "choices": choices,
        "settings": settings,
        "did": {"documents": 6},
        "steps": 3,
        "losses": [[1, 4.5]],
        "device": "cpu",
        "processes": 1,
        "changed": {"weights": 7},
        "judged": {"answers": [], "tables": [], "plots": [], "notes": []},
    }
    (tmp_path / SCHEMA1).write_text(json.dumps(old))
    request = request_of(find("cda"), lm, CORPUS, SETTINGS, MitigationOptions(pairs=pairs))
    details = finished_details(tmp_path, request)
    assert details is not None
    assert (details["outcome"], details["steps"], details["changed"]) == ({"documents": 6}, 3, {"weights": 7})
    assert finished_details(tmp_path, {**request, "method": "cds"}) is None


def test_a_method_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    idle = Method("idle", "", "", lambda context, _: Outcome(context.model), "")
    with pytest.raises(ModelError, match="no weight changed"):
        make_checkpoint(idle, engine(), CORPUS, tmp_path / "out")


def test_misuse_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="at works on masked models"):
        make_checkpoint(find("at"), engine("gpt2"), CORPUS, tmp_path / "out")
    with pytest.raises(DataError, match="does not support the axis race"):
        make_checkpoint(find("dropout"), engine(), CORPUS, tmp_path / "out", choices=MitigationOptions(axis="race"))
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(ResultError, match="holds other files"):
        make_checkpoint(find("cda"), engine(), CORPUS, tmp_path)
