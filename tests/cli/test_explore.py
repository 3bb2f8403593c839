"""The `unmask explore` command."""

from __future__ import annotations

import importlib.util
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from explorer import samples
from unmask.cli import main
from unmask.cli.explore import require_extra
from unmask.core.errors import ModelError


@pytest.mark.thorough
def test_it_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    folders = [str(samples.run(tmp_path / "one", "tiny")), str(samples.answers(tmp_path / "answers").path)]
    words = ["explore", *folders, "--no-live", "--no-browser", "--port", "0"]
    command = [sys.executable, "-c", "from unmask.cli import main; main()", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "1 run, answers to annotate\n"
        url = re.fullmatch(r"open (http://127\.0\.0\.1:\d+/)\?token=([\w-]{20,})\n", running.stdout.readline())
        assert url is not None
        running.stdout.readline()
        client = httpx.Client(transport=httpx.HTTPTransport(retries=5), trust_env=False, timeout=60)
        with client:
            assert client.get(f"{url[1]}api/pairs").json()["n"] == len(samples.PAIRS)
            state = client.get(f"{url[1]}api/judge?judge=anna", headers={"x-unmask-token": url[2]}).json()
        assert len(state["waiting"]) == 4
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert running.stderr.read() == "unmask: interrupted; kept: all annotations; the explorer is closed\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [(["nowhere"], "no result.json in nowhere"), (["--port", "99999"], "port 99999: give a number")],
)
def test_bad_input_prints_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("warnings.showwarning", None)
    with pytest.raises(SystemExit) as left:
        main(["explore", *words, "--no-live", "--no-browser"])
    assert left.value.code == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    require_extra()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "uvicorn" else object())
    with pytest.raises(ModelError, match=r"pip install 'unmask\[explore\]'"):
        require_extra()
