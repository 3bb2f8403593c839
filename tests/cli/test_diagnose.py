"""`unmask diagnose`: what it prints, writes and refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import zoo
from unmask import data
from unmask.cli import main
from unmask.data.items import sample_dataset


def code(*words: str | Path) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    return int(left.value.code or 0)


def test_it_prints_tables_and_writes_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    asked = ["diagnose", "direction", zoo.folder("bert-uncased"), "--measure", "aul", "all-masked", "--limit", "40"]
    assert code(*asked, "--out", out, "--quiet") == 0
    said = capsys.readouterr()
    assert "direction: Does a score depend on whether the stereotype" in said.out
    assert "all-masked" in said.out
    assert "new sentences run" in said.out
    assert sorted(path.name for path in out.iterdir()) == ["direction.svg", "report.html", "result.json"]


def test_json_is_what_the_folder_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["diagnose", "direction,length", zoo.folder("gpt2"), "--limit", "12", "--json", "--no-report"]
    assert code(*asked, "--out", tmp_path / "out", "--quiet") == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole == json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in whole["findings"]] == ["direction", "length"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["direktion"], "no diagnosis named 'direktion'. Did you mean direction"),
        (["human", "--data", "nine-axes"], "human cannot read nine-axes"),
        (["direction", "--draws", "3"], "No such option: --draws"),
        (["meaning", "--measure", "aul"], "No such option: --measure"),
        (["accuracy", "builtin-causal"], "accuracy needs masked models; builtin-causal is causal"),
    ],
)
def test_bad_input_is_one_line(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code("diagnose", *words) == 2
    said = capsys.readouterr()
    assert line in said.err
    assert said.err.count("\n") == 1


@pytest.mark.thorough
def test_paraphrases_are_written_for_review(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "proposals.csv"
    assert code("diagnose", "generate", path, "--limit", "3", "--quiet") == 0
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    sample = sample_dataset(data.load("nine-axes"), 3, seed=0)
    assert [row["original"] for row in rows if row["paraphrase"] == "0"] == [item.id for item in sample.items]
    assert "mark those to keep" in capsys.readouterr().out
    kept = ["diagnose", "paraphrase", zoo.folder("bert-uncased"), "--data", path, "--no-report", "--quiet"]
    assert code(*kept, "--out", tmp_path / "out") == 0
    assert "generated paraphrases were used without review" in capsys.readouterr().out
