"""Mitigated checkpoints: one that does not open, has no record or changed nothing would be compared in vain."""

from __future__ import annotations

from pathlib import Path

import pytest

import zoo
from mitigate.tiny import CORPUS, make_options
from unmask.core.errors import ModelError, ResultError
from unmask.findings.envelope import read_meta
from unmask.mitigate import find
from unmask.mitigate.checkpoint import finished_details, make_checkpoint, request_of
from unmask.mitigate.spec import Method, Outcome
from unmask.models import Engine, open_lm


def engine(name: str = "bert-uncased") -> Engine:
    return Engine(open_lm(zoo.folder(name)))


@pytest.mark.thorough
def test_a_checkpoint_opens_and_has_a_record(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = make_checkpoint(find("cda"), engine(), CORPUS, out, make_options())
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
        make_checkpoint(find("cds"), engine(), CORPUS, tmp_path / name, make_options("cds"))
    make_checkpoint(find("cds"), engine(), CORPUS, tmp_path / "c", make_options("cds", seed=2))
    first, second, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in "abc")
    assert first == second != other
    assert (tmp_path / "a" / "result.json").read_bytes() == (tmp_path / "b" / "result.json").read_bytes()


@pytest.mark.thorough
def test_a_finished_run_is_recognised(tmp_path: Path) -> None:
    asked, out, method = engine(), tmp_path / "out", find("cda")
    request = request_of(method, asked.lm, CORPUS, make_options())
    assert finished_details(out, request) is None
    made = make_checkpoint(method, asked, CORPUS, out, make_options())
    assert finished_details(out, request) == made.details
    other = request_of(method, asked.lm, CORPUS, make_options(seed=9))
    assert finished_details(out, other) is None


def test_a_method_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    idle = Method("idle", "", "", lambda context, _: Outcome(context.model), "")
    with pytest.raises(ModelError, match="no weight changed"):
        make_checkpoint(idle, engine(), CORPUS, tmp_path / "out")


def test_misuse_is_refused_before_anything_is_computed(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="at works on masked models"):
        make_checkpoint(find("at"), engine("gpt2"), CORPUS, tmp_path / "out")
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(ResultError, match="holds other files"):
        make_checkpoint(find("cda"), engine(), CORPUS, tmp_path)
