"""If one of these fails, the command line cannot measure a model behind an endpoint, or refuses it unclearly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import zoo
from endpoint_server import KEY, NAME, Server
from unmask.cli import main


def run(*words: str, how: Sequence[str] = ("--quiet",)) -> int:
    with pytest.raises(SystemExit) as left:
        main([*words, *how])
    return int(left.value.code or 0)


def test_an_audit_of_an_endpoint_writes_a_result_without_the_key(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.faults = {"key"}
    monkeypatch.setenv("UNMASK_API_KEY", KEY)
    out = tmp_path / "run"
    few = ["--data", "nine-axes", "--limit", "4", "--no-report"]
    assert run("audit", server.url, "--model", NAME, *few, "--out", str(out)) == 0
    meta = json.loads((out / "result.json").read_text(encoding="utf-8"))
    assert meta["model"]["origin"]["endpoint"] == server.url
    assert {estimate["measure"] for estimate in meta["estimates"]} == {"ll", "cll", "sld"}
    assert not [path for path in out.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_the_result_of_an_endpoint_is_read_by_other_commands(server: Server, tmp_path: Path) -> None:
    out = tmp_path / "run"
    few = ["--data", "nine-axes", "--limit", "4", "--measure", "ll", "--no-report"]
    assert run("audit", server.url, "--model", NAME, *few, "--out", str(out)) == 0
    assert run("compare", str(out), str(out), how=()) == 0
    assert run("report", str(out), "-o", str(tmp_path / "page.html"), how=()) == 0
    assert run("export", str(out), "--to", "every-eval-ever", "--out", str(tmp_path / "export"), how=()) == 0


def test_prompts_and_winobias_of_an_endpoint(server: Server, tmp_path: Path) -> None:
    asked = [server.url, "--model", NAME]
    assert run("prompts", *asked, "--limit", "2", "--out", str(tmp_path / "p")) == 0
    small = ["--data-dir", str(zoo.MINIATURE), "--limit", "4"]
    results = []
    for name, model in (("remote", asked), ("local", [str(zoo.folder("gpt2"))])):
        assert run("task", "winobias", *model, *small, "--out", str(tmp_path / name)) == 0
        results.append(json.loads((tmp_path / name / "result.json").read_text(encoding="utf-8"))["estimates"])
    for remote, local in zip(*results, strict=True):
        assert (remote["statistic"], remote["value"]) == (local["statistic"], pytest.approx(local["value"]))


REFUSED = {
    "a fault": (["audit", "URL", "--model", NAME], "ignores `echo`"),
    "http": (["audit", "http://host.example/v1", "--model", "x"], "is not encrypted"),
    "offline": (["audit", "https://host.example/v1", "--model", "x", "--offline"], "offline is set"),
    "model without endpoint": (["audit", "--model", "x"], "names a model of an endpoint"),
    "masked measure": (["audit", "URL", "--model", NAME, "--measure", "cps"], "a causal model cannot answer cps"),
    "diagnose": (["diagnose", "length", "URL"], "is an endpoint, which gives log-probabilities of texts only"),
    "mitigate": (["mitigate", "projection", "URL"], "is an endpoint, which gives log-probabilities of texts only"),
    "vectors": (["vectors", "URL", "--questions", "weat-6-sentences"], "is an endpoint, which gives"),
    "fine-tuning": (["task", "biasbios", "URL"], "is an endpoint, which gives"),
    "corpus": (["corpus", "bias", "TEXT", "--model", "URL"], "is an endpoint, which gives"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_one_line_and_exit_code_2(
    server: Server, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("".join(f"He said so on day {day}.\n" for day in range(60)), encoding="utf-8")
    server.faults = {"echo"} if name == "a fault" else set()
    words, reason = REFUSED[name]
    given = {"URL": server.url, "TEXT": "text.txt"}
    assert run(*(given.get(word, word) for word in words)) == 2
    said = capsys.readouterr().err
    assert reason in said.replace("\n", " ")
    assert "Traceback" not in said
