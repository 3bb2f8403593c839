"""`unmask.mitigate` in Python: the same run as the command, with files, objects and groups of options."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import unmask
import zoo
from mitigate.tiny import CORPUS, TRAINED
from unmask import data
from unmask.core.errors import DataError, ResultError, UnknownName
from unmask.core.types import Dataset
from unmask.data.texts import TrainingCorpus
from unmask.findings.envelope import Result
from unmask.mitigate import METHODS, Method, MitigationContext, Outcome, TrainingOptions, evaluation


def some_of(name: str) -> Dataset:
    """Every fifteenth item of built-in data."""
    whole = data.load(name)
    return replace(whole, items=whole.items[::15])


def shift(context: MitigationContext, _: TrainingCorpus) -> Outcome:
    """Add noise to all weights."""
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in context.model.parameters():
            weight.add_(0.02 * torch.randn_like(weight))
    return Outcome(context.model, {"noise": 0.02})


SHIFT = Method("shift", "Noise", "noise is added to all weights", shift, "none", options=TrainingOptions)


@pytest.mark.slow
def test_a_method_of_ones_own_is_measured_before_and_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "data", SimpleNamespace(load=some_of))
    reports: list[tuple[str, float]] = []
    result = unmask.mitigate(
        SHIFT,
        str(zoo.folder("bert-uncased")),
        corpus=CORPUS,
        out=tmp_path / "out",
        **TRAINED,
        store=False,
        progress=lambda label, share, total, note="": reports.append((label, share)),
    )
    details = result.meta["details"]
    assert (result.kind, result.meta["title"]) == ("mitigation", "Mitigation by shift")
    assert (details["outcome"], details["request"]["options"]["seed"]) == ({"noise": 0.02}, 1)
    after = {one.key: one.value for one in result.estimates}
    before = {(one["measure"], one["data"], one["group"], one["statistic"]): one["value"] for one in details["before"]}
    assert after.keys() == before.keys()
    assert after != before
    bias = result.findings[0].finding.tables[0]
    assert [row[4] for row in bias.rows[:2]] == pytest.approx(
        [before["ppd", "pronoun-templates", "all", name] for name in ("appd", "balanced-appd")]
    )
    assert {("before: ppd, pronoun-templates", 1.0), ("after: ppd, pronoun-templates", 1.0)} <= {*reports}
    assert unmask.load(tmp_path / "out").meta == result.meta


@pytest.mark.slow
def test_a_checkpoint_that_was_not_measured_is_no_result_and_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "data", SimpleNamespace(load=some_of))
    made: list[Path] = []

    def count(context: MitigationContext, corpus: TrainingCorpus) -> Outcome:
        made.append(context.folder)
        return shift(context, corpus)

    def mitigate() -> Result:
        return unmask.mitigate(method, zoo.folder("bert-uncased"), corpus=CORPUS, out=out, **TRAINED)

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    method, out = replace(SHIFT, name="counted", apply=count), tmp_path / "out"
    with monkeypatch.context() as broken:
        broken.setattr("unmask.mitigate.run.compare_evaluations", interrupt)
        with pytest.raises(KeyboardInterrupt):
            mitigate()
    with pytest.raises(ResultError):
        unmask.load(out)
    result = mitigate()
    assert len(made) == 1
    assert unmask.load(out).meta == result.meta
    assert not (out / "unfinished").exists()


def test_built_in_methods_are_found_by_being_there() -> None:
    assert [*METHODS] == sorted(METHODS)
    assert {"at", "cda", "cds", "dropout", "inlp", "oscar", "projection"} <= {*METHODS}


def test_misuse_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no mitigation named 'cdaa'"):
        unmask.mitigate("cdaa")
    with pytest.raises(UnknownName, match="no option named 'epoch'"):
        unmask.mitigate("cda", epoch=3)
    with pytest.raises(DataError, match="no training text"):
        unmask.mitigate("cda")
    with pytest.raises(DataError, match="dtype is bf16"):
        unmask.mitigate("inlp", dtype="bf16", out=tmp_path / "out")


@pytest.mark.slow
def test_an_evaluation_on_fewer_items_is_called_a_subset_and_needs_no_new_checkpoint(tmp_path: Path) -> None:
    made: list[Path] = []

    def count(context: MitigationContext, corpus: TrainingCorpus) -> Outcome:
        made.append(context.folder)
        return shift(context, corpus)

    results = [
        unmask.mitigate(
            replace(SHIFT, apply=count),
            str(zoo.folder("bert-uncased")),
            corpus=CORPUS,
            out=tmp_path / "out",
            **TRAINED,
            items=items,
            store=False,
        )
        for items in (30, 40)
    ]
    for items, result in zip((30, 40), results, strict=True):
        finding = result.findings[0].finding
        assert finding.notes[0] == f"Measured on a subset: at most {items} items of each dataset."
        assert {row[3] for row in finding.tables[0].rows if row[0] != "ppd"} == {items}
    assert len(made) == 1
    with pytest.raises(DataError, match="items is 5, expected at least 30"):
        unmask.mitigate(SHIFT, corpus=CORPUS, items=5)
