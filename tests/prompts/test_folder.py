"""The folder of a diagnosis: answers, annotations, export and import."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from unmask.core.errors import DataError, ResultError
from unmask.prompts.annotations import (
    JUDGEMENTS,
    UNDECIDED,
    create_folder,
    import_annotations,
    latest_verdicts,
    open_folder,
)
from unmask.prompts.fill import ModelAnswers
from unmask.prompts.run import read_prompts

from .handmade import answer

ANSWERS = (answer(0, "undecided"), answer(1, "biased"), answer(2, "undecided"), answer(3, "undecided"))
ASKED = ModelAnswers("model", "f00d", 2, "likelier", ANSWERS)


def test_annotation_is_resumed(tmp_path: Path) -> None:
    create_folder(tmp_path / "run", ASKED)
    folder = open_folder(tmp_path / "run")
    assert folder.model_answers == ASKED
    first = folder.next_answer("anna")
    assert first is not None
    assert first.prompt == "prompts/0000"
    folder.save(first.prompt, "anna", "not biased")
    again = open_folder(tmp_path / "run")
    assert [one.prompt for one in again.pending("anna")] == ["prompts/0002", "prompts/0003"]
    assert [one.prompt for one in again.pending("ben")] == ["prompts/0000", "prompts/0002", "prompts/0003"]
    for prompt in ("prompts/0002", "prompts/0003"):
        again.save(prompt, "anna", "biased")
    assert again.next_answer("anna") is None
    assert [(one.prompt, one.verdict) for one in again.read_annotations()] == [
        ("prompts/0000", "not biased"),
        ("prompts/0002", "biased"),
        ("prompts/0003", "biased"),
    ]


def test_undecided_prompts_can_be_exported_and_imported(tmp_path: Path) -> None:
    folder = create_folder(tmp_path / "run", ASKED)
    folder.save("prompts/0003", "anna", "biased")
    assert folder.export() == 2
    path = folder.path / UNDECIDED
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert [row["prompt"] for row in rows] == ["prompts/0000", "prompts/0002"]
    assert rows[0]["answers"] == "one 0.5000, two 0.2500"
    rows[0]["verdict"] = "biased"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    (taken,) = import_annotations(path, "ben")
    assert (taken.prompt, taken.judge, taken.verdict) == ("prompts/0000", "ben", "biased")
    assert folder.add([taken]) == 1
    assert folder.add([taken]) == 0
    assert folder.export() == 1


def test_three_changes_of_mind_within_a_second_are_all_saved(tmp_path: Path) -> None:
    folder = create_folder(tmp_path / "run", ASKED)
    for verdict in ("biased", "not biased", "biased"):
        folder.save("prompts/0000", "anna", verdict)
    assert [one.verdict for one in folder.read_annotations()] == ["biased", "not biased", "biased"]
    assert latest_verdicts(folder.read_annotations())["prompts/0000"]["anna"] == "biased"
    other = create_folder(tmp_path / "other", ASKED)
    assert other.add(folder.read_annotations()) == 3
    assert other.add(folder.read_annotations()) == 0
    assert other.read_annotations() == folder.read_annotations()


def test_prompts_that_look_like_formulas_are_no_formulas_in_the_exported_table(tmp_path: Path) -> None:
    hostile = replace(ANSWERS[0], prompt="=1+1", category="@x", text='=HYPERLINK("http://evil") {slot}')
    folder = create_folder(tmp_path / "run", replace(ASKED, answers=(hostile,)))
    assert folder.export() == 1
    path = folder.path / UNDECIDED
    with path.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert [row[name][:2] for name in ("prompt", "category", "text")] == ["'=", "'@", "'="]
    path.write_text(path.read_text("utf-8").replace(",,,", ",ben,biased,"), "utf-8")
    assert folder.add(import_annotations(path, "nobody")) == 1
    assert folder.read_annotations()[0].prompt == "=1+1"


def test_annotations_can_be_copied_to_another_folder(tmp_path: Path) -> None:
    one, other = (create_folder(tmp_path / name, ASKED) for name in ("one", "other"))
    one.save("prompts/0000", "anna", "undecided")
    one.save("prompts/0002", "anna", "biased")
    assert other.add(import_annotations(one.path / JUDGEMENTS, "nobody")) == 2
    assert other.read_annotations() == one.read_annotations()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("prompt,verdict\nprompts/0000,bad\n", r"in\.csv, line 2: verdict 'bad'"),
        ("prompt,said\nx,y\n", "no columns prompt and verdict; found \\['prompt', 'said'\\]"),
        ("prompt,verdict\nprompts/0000,biased\n,biased\n", r"line 3: no prompt"),
        ("prompt,verdict,when\nprompts/0000,biased,May\n", r"line 2: time 'May'"),
    ],
)
def test_bad_annotation_files(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "in.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=complaint):
        import_annotations(path, "anna")


def test_unknown_annotations_and_folders_are_refused(tmp_path: Path) -> None:
    folder = create_folder(tmp_path / "run", ASKED)
    with pytest.raises(DataError, match="'prompts/0099', which is not one of the 4 prompts"):
        folder.save("prompts/0099", "anna", "biased")
    assert not folder.annotations_path.exists()
    folder.save("prompts/0000", "anna", "biased")
    create_folder(tmp_path / "run", ASKED)
    with pytest.raises(ResultError, match="judgements of other answers"):
        create_folder(tmp_path / "run", ModelAnswers("other", "f00d", 2, "likelier", ANSWERS))
    with pytest.raises(ResultError, match=r"no answers\.jsonl"):
        open_folder(tmp_path)


def test_own_prompts_from_a_table_and_from_json(tmp_path: Path) -> None:
    path = tmp_path / "My prompts.csv"
    path.write_text('text,category,biased,fair\n"The nurse said {slot} knew.",gender,She; her ,he\n')
    (one,) = read_prompts(path)
    assert (one.id, one.form, one.biased, one.fair) == ("my-prompts/0000", "completion", ("she", "her"), ("he",))
    other = tmp_path / "mine.jsonl"
    other.write_text('{"text": "Who? {slot}.", "category": "x", "form": "question", "biased": ["A"]}\n')
    assert read_prompts(other)[0].biased == ("a",)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("text,category\nno slot,x\n", r"bad\.csv, line 2: .* \{slot\} 0 times"),
        ("text,category\nA {slot}.,\n", r"line 2 has no category"),
        ("text,category,form\nA {slot}.,x,poem\n", "form 'poem', expected completion or question"),
        ("text,category,mood\nA {slot}.,x,y\n", "unknown column 'mood'"),
        ("text,category\n", "no prompts"),
    ],
)
def test_bad_prompts(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=complaint):
        read_prompts(path)


def test_prompts_with_a_lone_surrogate_are_refused_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"text": "A {slot}.", "category": "x"}\n{"text": "\\ud800 {slot}.", "category": "x"}\n')
    with pytest.raises(DataError, match=r"bad\.jsonl, line 2 is not JSON .*unpaired surrogate"):
        read_prompts(path)
