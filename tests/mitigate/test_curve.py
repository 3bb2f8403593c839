"""Bias by the amount of training text: a wrong sample size or category would bend the curve."""

from __future__ import annotations

from pathlib import Path

import pytest

import zoo
from mitigate.tiny import CORPUS, make_options
from unmask.core.errors import DataError, ResultError
from unmask.core.options import Opening, Options
from unmask.findings.envelope import Result
from unmask.findings.folder import ResultFolder, result_folder
from unmask.mitigate import MethodOptions, find
from unmask.mitigate.curve import asld, measure_curve, sample_corpus
from unmask.mitigate.spec import MitigationJob
from unmask.models import Engine, open_lm


def job_of(method: str, choices: MethodOptions, folder: ResultFolder) -> MitigationJob[MethodOptions]:
    """A mitigation of a zoo model."""
    opening = Opening()
    return MitigationJob(
        find(method), lambda: open_lm(zoo.folder("bert-uncased"), opening), CORPUS, folder, choices, opening, Options()
    )


def test_samples_have_the_requested_number_of_sentences() -> None:
    some = sample_corpus(CORPUS, 4, 0, 0)
    assert len(some.sentences) == 4
    assert set(some.sentences) <= set(CORPUS.sentences)
    assert sample_corpus(CORPUS, 4, 0, 0) == some
    assert any(sample_corpus(CORPUS, 4, draw, 0) != some for draw in range(1, 5))


def test_a_curve_has_asld_of_every_category() -> None:
    found = asld(Engine(open_lm(zoo.folder("bert-uncased"))))
    assert list(found) == ["all", "occupation", "benevolent-sexism", "hostile-sexism"]
    assert found["all"] == pytest.approx((sum(found.values()) - found["all"]) / 3)  # equally many pairs of each


@pytest.mark.thorough
def test_a_curve_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unmask.mitigate import curve as module

    asked: list[int] = []

    def fake(engine: Engine) -> dict[str, float]:
        asked.append(1)
        total = sum(one.detach().double().abs().sum() for one in engine.lm.network.model.parameters())
        return {"all": float(total % 7), "occupation": float(total % 5), "hostile-sexism": float(total % 3)}

    monkeypatch.setattr(module, "asld", fake)
    options = make_options("dropout")

    def run(sizes: list[int]) -> Result:
        with result_folder(tmp_path, "mitigation") as folder:
            return measure_curve(job_of("dropout", options, folder), sizes, 2)

    first = run([3])
    assert len(asked) == 3
    whole = run([3, 6])
    assert len(asked) == 5
    draws = whole.meta["details"]["draws"]
    assert draws["3"] == first.meta["details"]["draws"]["3"]
    table = whole.findings[0].finding.tables[0]
    assert [one[:2] for one in table.rows] == [(0, 1), (3, 2), (6, 2)]
    assert len({draw["all"] for draw in draws["6"].values()}) == 2
    parts = whole.findings[0].finding.tables[1]
    assert [row[:3] for row in parts.rows] == [
        (size, name, 2 if size else 1) for size in (0, 3, 6) for name in ("occupation", "hostile-sexism")
    ]
    kept = [draw["occupation"] for draw in draws["6"].values()]
    assert parts.rows[4][3].value == pytest.approx(sum(kept) / 2)
    assert (whole.kind, whole.estimates[0].group) == ("mitigation", "sentences=6")  # the headline
    assert whole.estimates[0].value == pytest.approx(sum(draw["all"] for draw in draws["6"].values()) / 2)
    options = make_options("dropout", remind=1)
    with pytest.raises(ResultError, match="another model, corpus or settings"):
        run([3])


def test_a_curve_size_larger_than_the_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a sample of 50 sentences was asked for, but the corpus has 10"):
        measure_curve(job_of("cds", make_options("cds"), ResultFolder(tmp_path)), [50], 1)
