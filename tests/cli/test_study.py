"""The `unmask study` command."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import NoReturn

import pytest

import zoo
from unmask.cli import main
from unmask.core.errors import DataError
from unmask.core.progress import Progress
from unmask.core.request import latest_request
from unmask.studies import STUDIES
from unmask.studies.run import StudyPlan


def invoke(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    code = stop.value.code
    out = capsys.readouterr()
    return (0 if code is None else int(code)), out.out, out.err


def test_dry_run_prints_steps_and_does_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("study", "paraphrase", "--dry-run", "--offline", "--models", "builtin,builtin-dose+1")
    code, out, _ = invoke(capsys, *words, "--out", str(tmp_path / "out"))
    assert code == 0
    assert "wordings of paraphrases under builtin-dose+1" in out
    assert "2 of 2 steps to do" in out
    assert "GPU hours" in out
    assert not (tmp_path / "out").exists()


def test_settings_reach_the_steps(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = tmp_path / "news.txt"
    text.write_text("She is a nurse.\n")
    words = ("study", "debiasing", "--dry-run", "--offline", "--models", "builtin", "--no-search")
    more = ("--tasks", "STS-bias", "--corpus", str(text), "--set", "use.steps=7")
    code, out, _ = invoke(capsys, *words, *more)
    assert code == 0
    assert "search hyper-parameters" not in out
    assert "NLI-bias" not in out
    assert "news.txt is used instead of news-commentary-v15.en." in out
    (note,) = [line for line in out.splitlines() if "differ from the study's defaults" in line]
    assert {part.strip() for part in note.partition("defaults:")[2].rstrip(".").split(";")} == {
        *('tasks ["STS-bias"]', "search false", 'corpus "news.txt"', 'use {"steps": 7}')
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("study", "nothing"), "no study named 'nothing'"),
        (("study", "aul", "folder"), "unexpected extra argument"),
        (("study", "status"), "Missing argument 'folder'"),
        (("study", "aul", "--engine", "slurm", "--offline"), "engine is 'slurm', expected local or ray"),
        (("study", "aul", "--ray-address", "x", "--offline"), "engine is 'local': expected engine 'ray'"),
        (("study", "aul", "--limit", "0"), "limit is 0, expected at least 1"),
        (("study", "gbef", "--set", "train.epochs"), "settings has 'train.epochs', expected NAME=VALUE"),
        (("study", "aul", "--set", "drows=3", "--offline"), "no option named 'drows'"),
        (("study", "gbef", "--set", "train.epoch=3", "--offline"), "no option named 'train.epoch'"),
        (
            ("study", "aul", "--set", "draws=NaN", "--offline"),
            "draws: the content is 'NaN': input should be a valid int",
        ),
        (("study", "aul", "--draws", "9999", "--offline"), "draws is 9999, expected at most 1,000"),
        (("study", "aul", "--set", "draws=true", "--offline"), "draws is True, expected another type"),
        (("study", "aul", "--set", "draws=1", "--set", "draws.x=2", "--offline"), "'draws' was set to 1 before"),
        (("study", "debiasing", "--tasks", "x", "--offline"), "tasks has 'x', expected some of"),
        (("study", "debiasing", "--set", "corpus=5", "--offline"), "corpus: the content is 5: input should be a valid"),
        (("study", "debiasing", "--set", "train=5", "--offline"), "train: the content is 5"),
        (("study", "debiasing", "--set", "train.epochs=-1", "--offline"), "epochs is -1, expected a number above 0"),
        (("study", "paraphrase", "--band", "-1", "--offline"), "band is -1.0, expected at least 0"),
        (("study", "gbef", "--set", "sizes=[]", "--offline"), "sizes is empty, expected some"),
        (("study", "gbef", "--sizes", "many", "--offline"), "sizes: [0] is 'many': input should be a valid integer"),
        (("study", "aul", "--threads", "0"), "threads is 0, expected at least 1"),
    ],
)
def test_bad_input_prints_one_line(
    words: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--out", str(tmp_path / "out")) if words[1] == "aul" and len(words) > 2 and words[2] != "folder" else ()
    code, _, err = invoke(capsys, *words, *more)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_the_help_of_a_study_has_its_own_settings(capsys: pytest.CaptureFixture[str]) -> None:
    """And no help page more than 25 options."""
    pages = {name: invoke(capsys, "study", name, "--help")[1] for name in STUDIES}
    options = {name: set(re.findall(r"^  (--[a-z-]+)", page, re.MULTILINE)) for name, page in pages.items()}
    assert all(len(names) <= 25 for names in options.values())
    shared = set.intersection(*options.values())
    assert options["aul"] - shared == {"--draws", "--counts"}
    assert options["prompts"] - shared == {"--prompts", "--top", "--judgements"}
    assert {"--seeds", "--documents"} == (options["gbef"] & options["debiasing"]) - shared


def test_studies_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = invoke(capsys, "list", "studies")
    names = [line.split()[0] for line in out.splitlines()]
    assert names == ["aul", "debiasing", "gbef", "paraphrase", "prompts"]


def test_a_study_is_repeated_from_its_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own settings and those within a group are part of the request."""
    plans: list[StudyPlan] = []

    def run_plan(plan: StudyPlan, root: Path, *, progress: Progress) -> NoReturn:
        plans.append(plan)
        raise DataError("planned")

    monkeypatch.setattr("unmask.studies.run.run_plan", run_plan)
    words = ("study", "gbef", "--offline", "--models", "builtin", "--reduced", "--sizes", "40", "--draws", "1")
    more = ("--set", "train.epochs=2", "--threads", "1", "--out", str(tmp_path / "out"))
    assert invoke(capsys, *words, *more)[0] == 2
    request = latest_request()
    assert request is not None
    assert request.options["settings"] == ["train.epochs=2"]
    again = request.command_line().split()[1:]
    assert invoke(capsys, *again, "--out", str(tmp_path / "again"))[0] == 2
    first, second = plans
    assert (first.options.sizes, first.options.draws, first.options.train.epochs) == ((40,), 1, 2.0)
    assert (first.options, first.keys) == (second.options, second.keys)


@pytest.mark.slow
def test_study_and_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    model, missing = str(zoo.folder("bert-uncased")), str(tmp_path / "gone")
    words = ("study", "paraphrase", "--models", f"{model},{missing}", "--limit", "20", "--offline", "--threads", "1")
    code, printed, err = invoke(capsys, *words, "--out", str(out))
    assert code == 1  # one model is not there: message, and the rest goes on
    assert "FAILED: no folder" in err
    assert "Figure 2: originals in agreement" in printed
    assert "Not done" in (out / "report.html").read_text(encoding="utf-8")
    code, printed, _ = invoke(capsys, "study", "status", str(out))
    assert code == 0
    assert "paraphrase: 1 done, 1 failed; not running" in printed


LINE = "unmask: steps: 1 of 2 (50%)"


@pytest.mark.parametrize("words", [(), ("--quiet",)])
def test_a_step_that_takes_long_is_reported_in_a_log(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps take minutes to hours: a log that stays empty looks like a job that hangs."""
    lines: list[str] = []

    def run_plan(plan: StudyPlan, root: Path, *, progress: Progress) -> NoReturn:
        progress("steps", 1 / len(plan.steps), len(plan.steps), "the first is done")
        until = time.monotonic() + (0.5 if words else 60)  # a quiet command has no line to wait for
        while LINE not in "".join(lines) and time.monotonic() < until:
            time.sleep(0.01)
            lines.append(capsys.readouterr().err)
        raise DataError("enough")

    monkeypatch.setattr("unmask.core.progress.INTERVAL", 0.05)
    monkeypatch.setattr("unmask.studies.run.run_plan", run_plan)
    asked = ("study", "paraphrase", "--offline", "--models", "builtin,builtin-dose+1", "--out", str(tmp_path / "out"))
    code, _, err = invoke(capsys, *asked, *words)
    assert code == 2
    err = "".join(lines) + err
    assert ("[1/2] the first is done" in err) is not bool(words)
    assert (LINE in err) is not bool(words)
