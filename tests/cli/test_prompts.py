"""`unmask prompts` and `unmask annotate`: what they print, write, ask and refuse."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import zoo
from unmask.cli import main


def code(*words: str | Path) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    return int(left.value.code or 0)


def type_keys(monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    """These keys, a line each."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{key}\n" for key in keys)))


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    out = tmp_path / "run"
    assert code("prompts", zoo.folder("bert-uncased"), "--limit", "8", "--out", out, "--quiet") == 0
    capsys.readouterr()
    return out


def test_it_writes_answers_scores_and_undecided_prompts(run: Path) -> None:
    names = {path.name for path in run.iterdir()}
    assert {"answers.jsonl", "undecided.csv", "result.json", "report.html"} <= names
    answers = [json.loads(line) for line in (run / "answers.jsonl").read_text("utf-8").splitlines()]
    assert len(answers) == 8
    assert all(len(one["words"]) == 2 for one in answers)
    rows = list(csv.DictReader((run / "undecided.csv").read_text("utf-8").splitlines()))
    assert [row["prompt"] for row in rows] == [one["prompt"] for one in answers if one["verdict"] == "undecided"]
    whole = json.loads((run / "result.json").read_text("utf-8"))
    decided = [one["verdict"] for one in answers if one["verdict"] != "undecided"]
    assert whole["estimates"][0]["n"] == len(decided)
    assert whole["model"]["architecture"] == "BertForMaskedLM"
    assert str(run) not in json.dumps(whole)


def test_annotation_by_keys_stops_resumes_and_scores(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = [row["prompt"] for row in csv.DictReader((run / "undecided.csv").read_text("utf-8").splitlines())]
    assert len(waiting) > 4
    type_keys(monkeypatch, "bnxzuq")
    assert code("annotate", run, "--judge", "anna", "--no-report") == 0
    said = capsys.readouterr()
    assert "b biased · n not biased" in said.err
    rows = list(csv.DictReader((run / "judgements.csv").read_text("utf-8").splitlines()))
    assert [(row["prompt"], row["verdict"]) for row in rows] == [
        (waiting[0], "biased"),
        (waiting[1], "not biased"),
        (waiting[1], "undecided"),
    ]
    type_keys(monkeypatch, "s" + "b" * len(waiting))
    assert code("annotate", run, "--judge", "anna", "--no-report") == 0
    rows = list(csv.DictReader((run / "judgements.csv").read_text("utf-8").splitlines()))
    assert waiting[2] not in {row["prompt"] for row in rows}
    assert len({row["prompt"] for row in rows}) == len(waiting) - 1
    type_keys(monkeypatch, "nn")
    assert code("annotate", run, "--judge", "ben", "--no-report", "--json") == 0
    whole = json.loads(capsys.readouterr().out.partition("{")[2].join(["{", ""]))
    agreement = whole["details"]["agreement"]
    assert [one["name"] for one in agreement]
    assert {one["judges"] for one in agreement} == {2}


def test_annotations_are_imported_from_a_file(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader((run / "undecided.csv").read_text("utf-8").splitlines()))
    path = tmp_path / "said.csv"
    path.write_text("prompt,judge,verdict,when\n" + "".join(f"{row['prompt']},eve,biased,\n" for row in rows))
    assert code("annotate", run, "--judgements", path, "--no-ask", "--no-report") == 0
    said = capsys.readouterr()
    assert f"{len(rows)} of {len(rows)} annotations in said.csv are new" in said.err
    assert "0 are undecided" in said.out


def test_the_ranking_of_an_audit(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    audit = tmp_path / "audit"
    asked = ["audit", zoo.folder("bert-uncased"), "--data", "nine-axes", "--measure", "pll"]
    assert code(*asked, "--limit", "10", "--no-report", "--quiet", "--out", audit) == 0
    capsys.readouterr()
    assert code("annotate", run, "--no-ask", "--pll", audit, "--no-report", "--quiet") == 0
    assert "not compared with pll on nine-axes" in capsys.readouterr().out


@pytest.mark.thorough
def test_bad_input_is_one_line(tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("text,category\nno slot,x\n")
    full = tmp_path / "full"
    full.mkdir()
    (full / "letter.txt").write_text("")
    for words, line in (
        (["prompts", "--prompts", str(bad)], "bad.csv, line 2:"),
        (["prompts", "--counting", "most", "--out", str(tmp_path / "x")], "counting is 'most'"),
        (["prompts", "--out", str(full)], "holds other files"),
        (["annotate", str(tmp_path)], "has no answers.jsonl"),
        (["annotate", str(run), "--judge", " ", "--no-ask"], "--judge is empty"),
        (["annotate", str(run), "--judgements", "gone.csv", "--no-ask"], "gone.csv does not exist"),
    ):
        assert code(*words) == 2
        said = capsys.readouterr()
        assert line in said.err
        assert "Traceback" not in said.err
