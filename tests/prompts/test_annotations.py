"""Annotation files, pending answers, and majority verdicts."""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prompts.handmade import annotate, answer, append
from unmask.core.errors import DataError
from unmask.prompts.annotations import Annotation, majority_verdicts, make_annotation, pending_answers, read_annotations

ANSWERS = tuple(answer(n, "undecided" if n % 2 else "biased") for n in range(6))  # 1, 3 and 5 are open


def test_every_annotation_is_saved_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "said.csv"
    assert read_annotations(path) == ()
    every: list[Annotation] = []
    for one in annotate("anna, b.", ["biased", "not biased", "undecided"]):
        append(path, one)
        every.append(one)
        assert read_annotations(path) == tuple(every)
    assert [file.name for file in path.parent.iterdir()] == ["said.csv"]
    assert path.read_text(encoding="utf-8").splitlines()[:2] == [
        "prompt,judge,verdict,when",
        'prompts/0000,"anna, b.",biased,2024-05-01T09:30:00+00:00',
    ]


def test_an_interrupted_write_leaves_the_file_intact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, (first, second) = tmp_path / "said.csv", annotate("anna", ["biased", "biased"])
    append(path, first)

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("unmask.core.files.os.fsync", cut)
        with pytest.raises(KeyboardInterrupt):
            append(path, second)
    assert read_annotations(path) == (first,)
    append(path, second)
    assert read_annotations(path) == (first, second)


def test_an_annotation_has_a_timestamp() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    made = datetime.fromisoformat(make_annotation("prompts/0001", "anna", "biased").when)
    assert before <= made <= datetime.now(UTC)
    at = datetime(2024, 5, 1, 9, 30, tzinfo=UTC)
    assert make_annotation("prompts/0001", "anna", "biased", at).when == "2024-05-01T09:30:00+00:00"


def test_times_without_a_zone_are_taken_as_utc(tmp_path: Path) -> None:
    path = tmp_path / "said.csv"
    path.write_text("prompt,judge,verdict,when\nprompts/0001,anna,biased,2024-05-01 09:30\n", encoding="utf-8")
    assert read_annotations(path)[0].when == "2024-05-01T09:30:00+00:00"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("prompts/0001,anna,perhaps,2024-05-01", "line 2: verdict 'perhaps', expected biased, not biased"),
        ("prompts/0001,,biased,2024-05-01", "line 2: no judge"),
        ("prompts/0001,anna,biased,yesterday", "line 2: time 'yesterday'"),
        ("prompts/0001,anna", "2 fields, expected 4"),
    ],
)
def test_invalid_rows_are_reported(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "said.csv"
    path.write_text(f"prompt,judge,verdict,when\n{row}\n", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_annotations(path)


def test_a_file_without_the_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "said.csv"
    path.write_text("prompt,verdict\nprompts/0001,biased\n", encoding="utf-8")
    with pytest.raises(DataError, match="no judge; expected the columns prompt, judge, verdict, when"):
        read_annotations(path)


def test_pending_answers() -> None:
    annotations = annotate("anna", [None, "biased", None, "undecided"]) + annotate("ben", [None] * 5 + ["biased"])
    assert [one.prompt[-1] for one in pending_answers(ANSWERS, annotations, "anna")] == ["5"]
    assert [one.prompt[-1] for one in pending_answers(ANSWERS, annotations, "ben")] == ["1", "3"]
    assert [one.prompt[-1] for one in pending_answers(ANSWERS, annotations, "cleo")] == ["1", "3", "5"]


def test_a_prompt_without_an_answer_is_not_judged() -> None:
    empty = replace(ANSWERS[1], words=())
    assert pending_answers([empty, ANSWERS[3]], [], "anna") == (ANSWERS[3],)


def test_the_majority_decides_and_ties_stay_undecided() -> None:
    annotations = [
        *annotate("anna", ["biased", "biased", "undecided", "undecided"]),
        *annotate("ben", ["biased", "not biased", "undecided", "not biased"]),
        *annotate("cleo", ["not biased"]),
    ]
    found = majority_verdicts(ANSWERS, annotations)
    assert [ruling.verdict for ruling in found.values()] == ["biased", "undecided", "undecided", "not biased"]
    assert found["prompts/0000"].reason == "people: 2 for biased, 1 for not biased, 0 could not tell"
    assert found["prompts/0001"].reason.startswith("people are tied: 1 for biased, 1 for not biased")
    assert found["prompts/0002"].reason.startswith("nobody could tell")


def test_the_later_row_counts_even_if_the_clock_was_ahead_when_the_earlier_one_was_written() -> None:
    early, late = annotate("anna", ["biased"], day=1), annotate("anna", ["not biased"], day=2)
    assert majority_verdicts(ANSWERS, early + late)["prompts/0000"].verdict == "not biased"
    assert majority_verdicts(ANSWERS, late + early)["prompts/0000"].verdict == "biased"


def test_names_that_look_like_formulas_are_no_formulas_in_the_file_and_come_back_unchanged(tmp_path: Path) -> None:
    path, judges = tmp_path / "said.csv", ('=HYPERLINK("x")', "@sum", "-1+1", "'=already", "anna")
    for judge in judges:
        append(path, make_annotation("prompts/0001", judge, "biased"))
    assert [one.judge for one in read_annotations(path)] == list(judges)
    with path.open(encoding="utf-8", newline="") as file:
        assert not [row for row in csv.DictReader(file) if row["judge"][0] in "=+-@"]


def test_two_processes_that_save_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "said.csv"
    code = (
        "import sys; from pathlib import Path\n"
        "from unmask.prompts.annotations import make_annotation, update_annotations\n"
        "for number in range(100):\n"
        "    one = make_annotation(f'prompts/{number:04}', sys.argv[2], 'biased')\n"
        "    update_annotations(Path(sys.argv[1]), lambda _: [one])\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in ("anna", "ben")]
    assert [process.wait() for process in running] == [0, 0]
    saved = read_annotations(path)
    for name in ("anna", "ben"):
        assert [one.prompt for one in saved if one.judge == name] == [f"prompts/{number:04}" for number in range(100)]


def test_judgements_of_other_prompts_are_refused() -> None:
    with pytest.raises(DataError, match="'prompts/0007', which is not one of the 6 prompts"):
        pending_answers(ANSWERS, annotate("anna", [None] * 7 + ["biased"]), "anna")
