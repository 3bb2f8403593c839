"""`unmask mitigate`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import unmask
import zoo
from unmask import data
from unmask.cli import main
from unmask.core.types import Dataset
from unmask.mitigate import evaluation
from unmask.models import open_lm

TEXT = (
    "The nurse said that she was late for the train this morning.",
    "He told the engineer that his car was parked behind the house.",
    "The weather was bad all week and the game was called off.",
    "The doctor asked her to come back when the office was open.",
)


def code(*words: str | Path) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in words])
    return int(left.value.code or 0)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(f"{one} It was day {day}." for day in range(12) for one in TEXT))
    return path


@pytest.mark.slow
def test_it_writes_a_checkpoint_and_shows_before_and_after(
    tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    asked = ["mitigate", "cds", zoo.folder("bert-uncased"), "--corpus", text, "--out", out, "--epochs", "1"]
    assert code(*asked, "--quiet", "--held", text) == 0
    said = capsys.readouterr().out
    for words in ("Bias, before and after", "Words that have a gender", "What it cost on held-out text", "pregnant"):
        assert words in said
    result = unmask.load(out)
    assert result.meta["data"][0]["name"] == "text.txt"
    assert result.findings[0].finding.tables[0].title == "Bias, before and after"
    assert {"asld", "appd", "bias-score", "perplexity"} <= {one.statistic for one in result.estimates}
    assert all(change.change == 0 for change in unmask.compare(result, result))
    assert unmask.gate(result, result).answer == "pass"
    assert {"config.json", "model.safetensors", "tokenizer.json", "report.html", "mitigation-words.svg"} <= {
        path.name for path in out.iterdir()
    }
    assert open_lm(out).facts.kind == "masked"
    stamp = (out / "model.safetensors").stat().st_mtime_ns
    assert code(*asked, "--quiet", "--held", text, "--json", "--no-report") == 0  # only measured again
    assert json.loads(capsys.readouterr().out) == result.meta
    assert (out / "model.safetensors").stat().st_mtime_ns == stamp
    assert code(*asked, "--quiet", "--held", text, "--seed", "3") == 2
    assert "holds other files" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cdaa"], "no mitigation named 'cdaa'"),
        (["cda"], "no training text"),
        (["cda", "--corpus", "none.txt"], "no file 'none.txt'"),
        (["cda", "--remind", "7"], "remind is 7"),
        (["cda", "--epochs", "0"], "epochs is 0, expected a number above 0"),
        (["cda", "--unit", "page"], "unit is 'page', expected line, block or file"),
        (["at", "--level", "word"], "level is 'word'"),
        (["projection", "--out", __file__], "is a file or below one: give a new or empty folder"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = zoo.folder("bert-uncased")
    capsys.readouterr()  # what making it says
    assert code("mitigate", words[0], folder, *words[1:], "--quiet") == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_method_for_masked_models_says_so(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert code("mitigate", "at", zoo.folder("gpt2"), "--corpus", text, "--out", out, "--quiet") == 2
    said = capsys.readouterr().err
    assert "at works on masked models" in said
    assert "for causal models use one of cda, cda-kaneko, cds, dropout, dropout-bias-bench, inlp" in said


def test_invalid_curve_sizes(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["mitigate", "cds", zoo.folder("bert-uncased"), "--corpus", text, "--out", tmp_path / "out", "--quiet"]
    assert code(*asked, "--curve", "a few") == 2
    assert "give comma-separated numbers of sentences" in capsys.readouterr().err
    assert code(*asked, "--curve", "5000") == 2
    assert "a sample of 5,000 sentences was asked for, but the corpus has 96" in capsys.readouterr().err


def test_mitigations_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert code("list", "mitigations") == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("cda", "cds", "dropout", "at-code", "inlp"))


def some_of(name: str) -> Dataset:
    """Every fifteenth item of built-in data."""
    whole = data.load(name)
    return replace(whole, items=whole.items[::15])


@pytest.mark.slow
def test_an_eraser_needs_no_text_and_says_what_a_probe_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "data", SimpleNamespace(load=some_of))
    out = tmp_path / "out"
    assert code("mitigate", "inlp", zoo.folder("bert-uncased"), "--out", out, "--quiet", "--no-report") == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Can gender still be read from the states?" in said
    meta = unmask.load(out).meta
    assert meta["details"]["outcome"]["contexts"].startswith("0 sentences of the corpus")
    assert meta["data"][0]["name"] == "reminders.jsonl"
    assert open_lm(out).facts.warnings
