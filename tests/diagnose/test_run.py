"""Diagnoses run: models opened once, data chosen, readings shared with audits, everything written down."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import unmask
import zoo
from unmask import data as datasets
from unmask.audit.session import Session
from unmask.core.errors import DataError, ModelError, StatsError, UnknownName
from unmask.core.types import Dataset
from unmask.diagnose import DIAGNOSES, Diagnosis, DiagnosisObservation, UnitOptions, find
from unmask.findings import Conclusion, Finding, Plot, Table, Value
from unmask.findings.charts import intervals
from unmask.findings.html import page
from unmask.findings.model import format_cell

from .plainly import run

LIMIT = unmask.Options(limit=6)


def observe(subject: Session, data: Dataset, settings: UnitOptions) -> dict[str, float]:
    """The differences of the first measure."""
    measures = subject.pair_measures(data, settings.measures)[:1]
    (rows,) = subject.scores(data, measures).values()
    return {one.item.id: one.row.difference for one in rows}


def conclude(seen: Sequence[DiagnosisObservation], settings: UnitOptions) -> Conclusion:
    """One row, one defined and one undefined estimate a model and dataset."""
    rows = [(one.model["id"], one.data.card.name, Value(1.5, 1.0, 2.0), float("nan"), 0.2) for one in seen]
    drawn = intervals([{"label": "a", "value": 1.0, "low": 0.5, "high": 2.0}], axis="value", null=1.0)
    table = Table("Toy <table>", ("model", "data", "value", "empty", "p"), tuple(rows), "A note.")
    finding = Finding(("an answer",), (table,), (Plot("toy", "A toy", "A dot.", drawn),), ("a note",))
    values = (Value(1.5, 1.0, 2.0, "made up"), Value(float("nan")))
    return Conclusion(finding, tuple(one.estimate("toy/cps", "size", value, n=6) for one in seen for value in values))


TOY = Diagnosis("toy", "Toy", "Is it a toy?", observe, conclude, "gbef-2023")
PICKY = Diagnosis(
    "picky",
    "Picky",
    "What does it eat?",
    observe,
    conclude,
    "gbef-2023",
    unfit_reason=lambda data: "" if data.card.name == "triple-gender" else "it is not triple-gender",
    data=("triple-gender",),
    kinds=("masked",),
)


def bert() -> str:
    """A tiny masked model."""
    return str(zoo.folder("bert-uncased"))


def test_every_diagnosis_is_found_by_its_name_or_is_one() -> None:
    assert all(find(name).name == name for name in DIAGNOSES)
    assert find(TOY) is TOY
    with pytest.raises(UnknownName, match=r"no diagnosis named 'directoin'. Did you mean direction\?"):
        find("directoin")


def test_every_model_and_dataset_is_seen_once() -> None:
    models = [bert(), str(zoo.folder("roberta"))]
    (found,) = run([TOY], models, data=["nine-axes", "triple-gender"], options=LIMIT)
    (table,) = found.finding.tables
    assert [row[:2] for row in table.rows] == [
        (model, data) for model in ("bert-uncased", "roberta") for data in ("nine-axes", "triple-gender")
    ]


def test_models_whose_folders_end_alike_are_told_apart(tmp_path: Path) -> None:
    other = zoo.build("bert-cased", tmp_path / "bert-uncased")
    (found,) = run([TOY], [bert(), other], data="nine-axes", options=LIMIT)
    assert [row[0] for row in found.finding.tables[0].rows] == ["bert-uncased", "bert-uncased (2)"]


def test_no_path_of_a_model_enters_the_result(tmp_path: Path) -> None:
    models = [zoo.build("bert-cased", tmp_path / part / "mine") for part in ("one", "other")]
    result = unmask.diagnose([TOY, PICKY], [*models, zoo.folder("gpt2")], data="nine-axes", options=LIMIT)
    assert str(tmp_path) not in json.dumps(result.meta)
    assert str(zoo.folder("gpt2")) not in json.dumps(result.meta)
    assert [model["id"] for model in result.models] == ["mine", "mine (2)", "gpt2"]
    assert list(result.meta["details"]["toy"]["sentences_run"]) == ["mine", "mine (2)", "gpt2"]


def test_estimates_name_their_model_only_where_there_are_several() -> None:
    (one,) = unmask.diagnose(TOY, bert(), data="nine-axes", options=LIMIT).estimates
    assert (one.model, one.measure, one.data, one.value, one.n) == ("", "toy/cps", "nine-axes", 1.5, 6)
    both = unmask.diagnose(TOY, [bert(), zoo.folder("roberta")], data="nine-axes", options=LIMIT).estimates
    assert [each.model for each in both] == ["bert-uncased", "roberta"]


def test_options_are_those_of_the_diagnoses_and_no_others() -> None:
    """An option that no diagnosis asked for uses would be ignored in silence."""
    with pytest.raises(UnknownName, match="no option named 'draws'"):
        unmask.diagnose(["direction", "length"], bert(), data="nine-axes", draws=3)
    result = unmask.diagnose(["direction", "meaning"], bert(), data="nine-axes", draws=2, measures="aul", options=LIMIT)
    assert {row["measure"] for row in result.meta["findings"][0]["tables"][0]["rows"]} == {"aul"}
    (draws,) = {row["draws"] for row in result.meta["findings"][1]["tables"][0]["rows"]} - {None}
    assert draws == 2


def test_after_an_audit_only_what_is_new_is_asked() -> None:
    unmask.audit(bert(), data="nine-axes", options=LIMIT)
    again = unmask.diagnose(TOY, bert(), data="nine-axes", options=LIMIT)
    assert again.meta["details"]["toy"]["sentences_run"] == {"bert-uncased": 0}
    more = unmask.diagnose(TOY, bert(), data="nine-axes", limit=7)
    assert more.meta["details"]["toy"]["sentences_run"]["bert-uncased"] > 0


def test_scores_are_those_of_an_audit() -> None:
    result = unmask.audit(bert(), data="nine-axes", measures="sss", options=LIMIT)
    audited = {row["item"]: row["difference"] for row in result.items.to_pylist()}
    kept: list[DiagnosisObservation] = []

    def keep(seen: Sequence[DiagnosisObservation], settings: UnitOptions) -> Conclusion:
        kept.extend(seen)
        return Conclusion(Finding((), ()))

    run([Diagnosis("keep", "", "", observe, keep, "")], [bert()], data="nine-axes", options=LIMIT)
    assert kept[0].result == audited


def test_one_diagnosis_refuses_data_it_cannot_read() -> None:
    with pytest.raises(DataError, match="picky cannot read nine-axes: it is not triple-gender; without `data`"):
        run([PICKY], [bert()], data="nine-axes", options=LIMIT)


def test_of_several_each_takes_what_it_can_read_and_says_so() -> None:
    toy, picky = run([TOY, PICKY], [bert()], data="nine-axes", options=LIMIT)
    assert [row[1] for section in (toy, picky) for row in section.finding.tables[0].rows] == [
        "nine-axes",
        "triple-gender",
    ]
    assert "picky cannot read nine-axes: it is not triple-gender" in picky.finding.notes


def test_of_several_one_whose_data_is_not_there_is_left_out() -> None:
    options = unmask.Options(limit=6, offline=True)
    toy, human = run([TOY, find("human")], [bert()], data="nine-axes", options=options)
    assert toy.finding.tables
    assert not human.finding.tables
    assert any("crows-pairs" in note for note in human.finding.notes)
    with pytest.raises(DataError, match="crows-pairs"):
        run([find("human")], [bert()], options=options)


def test_of_several_one_that_fails_does_not_end_the_others() -> None:
    def refuse(subject: Session, data: Dataset, settings: UnitOptions) -> None:
        raise DataError("no counts; give a file")

    broken = replace(TOY, name="broken", observe=refuse)
    with pytest.raises(DataError, match="no counts"):
        run([broken], [bert()], options=LIMIT)
    toy, other = run([TOY, broken], [bert()], options=LIMIT)
    assert toy.finding.tables
    assert other.finding.notes == ("nine-axes: no counts; give a file",)


def test_of_several_one_without_a_conclusion_does_not_end_the_others() -> None:
    def refuse(seen: Sequence[DiagnosisObservation], settings: UnitOptions) -> Conclusion:
        raise StatsError("nothing was scored")

    broken = replace(TOY, name="broken", conclude=refuse)
    with pytest.raises(StatsError, match="nothing was scored"):
        run([broken], [bert()], options=LIMIT)
    toy, other = run([TOY, broken], [bert()], options=LIMIT)
    assert toy.finding.tables
    assert other.finding.notes == ("nothing was scored",)


def test_a_model_of_the_wrong_kind_is_refused_or_said() -> None:
    causal = str(zoo.folder("gpt2"))
    with pytest.raises(ModelError, match=r"picky needs masked models; .* is causal"):
        run([PICKY], [causal], options=LIMIT)
    _, picky = run([TOY, PICKY], [causal], options=LIMIT)
    assert any("is causal" in note for note in picky.finding.notes)
    assert not picky.finding.tables


def test_what_was_found_is_written_in_full(tmp_path: Path) -> None:
    unmask.diagnose(TOY, bert(), data="nine-axes", out=tmp_path / "out", options=LIMIT)
    whole = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    (finding,) = whole["findings"]
    (row,) = finding["tables"][0]["rows"]
    assert row["value"] == {"value": 1.5, "low": 1.0, "high": 2.0, "method": ""}
    assert row["empty"] is None
    assert whole["data"][0]["sha256"] == datasets.load("nine-axes").sha256
    assert whole["model"]["id"] == "bert-uncased"
    assert unmask.load(tmp_path / "out").kind == "diagnosis"


@pytest.mark.thorough
def test_the_page_holds_answers_tables_and_a_drawing() -> None:
    text = page(unmask.diagnose(TOY, bert(), data="nine-axes", options=LIMIT))
    assert "Toy &lt;table&gt;" in text
    assert "an answer" in text
    assert "1.50 (1.00 to 2.00)" in text
    assert "<svg" in text
    assert not re.search(r"""(?:src|href)=["']https?:""", text)


def test_a_foreign_folder_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(unmask.UnmaskError, match="holds other files"):
        run([TOY], [bert()], out=tmp_path, options=LIMIT)


@pytest.mark.parametrize(
    ("cell", "column", "text"),
    [
        (None, "x", "–"),
        (1234, "n", "1,234"),
        (0.0001, "p", "< 0.001"),
        (0.0001, "value", "0.00"),
        (Value(1.0, float("nan"), float("nan")), "x", "1.00"),
        (-0.5, "x", "−0.50"),
        ("word", "x", "word"),
    ],
)
def test_cells_are_shown_for_reading(cell: object, column: str, text: str) -> None:
    assert format_cell(cell, column, 2) == text  # type: ignore[arg-type]


def test_an_opened_model_is_diagnosed_and_its_readings_are_kept_in_a_file(tmp_path: Path) -> None:
    """Python users who opened a model already, and studies, could not diagnose it."""
    lm = unmask.open_model(zoo.folder("bert-uncased"))
    options = replace(LIMIT, store_file=tmp_path / "readings.sqlite")
    result = unmask.diagnose("direction", lm, data="nine-axes", measures=("aul",), options=options)
    again = unmask.diagnose("direction", lm, data="nine-axes", measures=("aul",), options=options)
    assert result.models[0]["id"] == "bert-uncased"
    run_before, run_again = (each.meta["details"]["direction"]["sentences_run"] for each in (result, again))
    assert run_before["bert-uncased"] > 0
    assert run_again["bert-uncased"] == 0
