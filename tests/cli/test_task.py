"""`unmask task`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import unmask
import zoo
from tasks.tiny_models import biographies, untrained_model
from unmask.cli import main


def code(*words: str | Path) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    return int(left.value.code or 0)


def classifier(folder: Path, labels: tuple[str, ...]) -> Path:
    named = {"id2label": dict(enumerate(labels)), "label2id": {name: at for at, name in enumerate(labels)}}
    model = AutoModelForSequenceClassification.from_pretrained(untrained_model(), num_labels=len(labels), **named)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(untrained_model()).save_pretrained(folder)
    return folder


@pytest.mark.thorough
def test_winobias_in_one_command(tmp_path: Path, miniature: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    asked = ["task", "winobias", zoo.folder("bert-uncased"), "--data-dir", miniature, "--limit", "10"]
    assert code(*asked, "--out", out, "--quiet") == 0
    said = capsys.readouterr().out
    assert "Whom does the pronoun refer to?" in said
    assert "10 items are too few for a verdict" in said
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "result.json", "winobias.svg"]
    assert unmask.load(out).headlines()[0].statistic == "pro − anti accuracy, points"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "labels", "line"),
    [
        ("sentiment", ("negative", "positive"), "probability of positive"),
        ("toxicity", ("fine", "toxic"), "By identity term"),
    ],
)
def test_classifiers_in_one_command(
    name: str, labels: tuple[str, ...], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = classifier(tmp_path / "model", labels)
    assert code("task", name, model, "--out", tmp_path / "out", "--quiet") == 0
    said = capsys.readouterr().out
    assert line in said
    assert "model" in said


@pytest.mark.thorough
def test_json_is_what_the_folder_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = biographies(tmp_path / "bios.jsonl", planted=True, n=80)
    asked = [
        "task",
        "biasbios",
        untrained_model(),
        "--train",
        train,
        "--grid",
        "batch=16 rate=1e-3 epochs=1",
        "--length",
        "16",
    ]
    assert code(*asked, "--out", tmp_path / "out", "--json", "--no-report", "--quiet") == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole == json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    assert whole["details"]["fine_tuned"][0]["trials"][0]["batch"] == 16
    assert whole["details"]["files"][0]["name"] == "bios.jsonl"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["winobiass"], "no task named 'winobiass'. Did you mean winobias"),
        (["stsbias", "--grid", "lr=1"], "grid 'lr=1': expected batch=, rate= or epochs="),
        (["biasbios"], "no biographies: looked for a folder"),
        (["biasbios", "--train", "no.csv"], "no file no.csv"),
        (["winobias", "--every", "5"], "No such option: --every"),
        (["stsbias", "--rows", "0"], "rows is 0, expected at least 1"),
        (["sentiment"], "has no weights for"),
    ],
)
def test_bad_input_is_one_line(words: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert code("task", *words, "--out", tmp_path / "out", "--quiet", "--offline") == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1


def test_tasks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert code("list", "tasks") == 0
    said = capsys.readouterr().out
    assert "stsbias" in said
    assert "[classifier, words: en]" in said
