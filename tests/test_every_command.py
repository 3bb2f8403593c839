"""Every command in one process: none asks the network, and no file says where, on which machine or by whom it ran."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.interchange.conftest import sample

import zoo
from tasks.tiny_models import biographies, untrained_model
from unmask.cli import COMMANDS

FOLDER, HOST, USER = "zz-folder-91c2", "zz-host-44d1", "zz-user-7f3a"
PAIRS = "more,less,category\nHe said so.,She said so.,gender\nMy father left.,My mother left.,family\n"
TEXT = "".join(f"The nurse said that she was late on day {day}. He told her so.\n" for day in range(60))
# Runs commands one after the other; prints their exit codes, and what was asked of the network.
SCRIPT = f"""
import io, json, platform, socket, sys
asked = []
def watch(event, args):
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.sendto") or (
        event == "socket.connect" and args[0].family != socket.AF_UNIX
    ):
        asked.append(f"{{event}} {{args[-1] if event == 'socket.connect' else args[0]}}")
        raise OSError("no network in this test")
sys.addaudithook(watch)
socket.gethostname = platform.node = lambda: {HOST!r}
from unmask import data
from unmask.cli import main
from unmask.mitigate import evaluation
from dataclasses import replace
from types import SimpleNamespace
def some_of(name, data_dir=None):
    whole = data.load(name, data_dir=data_dir)
    return replace(whole, items=whole.items[::60] if len(whole.items) > 60 else whole.items)
evaluation.data = SimpleNamespace(load=some_of)  # for speed
said = {{}}
for name, words in json.load(open("commands.json")).items():
    del asked[:]
    sys.stdin = io.StringIO("b\\nq\\n")
    try:
        main(words)
    except SystemExit as left:
        said[name] = [left.code, list(asked)]
json.dump(said, open("said.json", "w"))
"""


def commands(here: Path) -> dict[str, list[str]]:
    """Every command, with absolute paths for models, data and texts."""
    model, other = (str(shutil.copytree(zoo.folder(name), here / "models" / name)) for name in ("bert-uncased", "gpt2"))
    (here / "own.csv").write_text(PAIRS, encoding="utf-8")
    (here / "text.txt").write_text(TEXT, encoding="utf-8")
    (here / "glove.txt").write_text("".join(f"{word} 0.1 0.{n}\n" for n, word in enumerate(WORDS)), encoding="utf-8")
    (here / "job.txt").write_text("nurse\n", encoding="utf-8")
    (here / "pairs.csv").write_text("m,f\nhe,she\n", encoding="utf-8")
    (here / "card.md").write_text("# A model\n", encoding="utf-8")
    scores = [(m, i, (m * 7 + i * 5 + m * i) % 11, "ab"[m % 2]) for m in range(8) for i in range(12)]
    lines = [f"m{m},i{i},{score},{group}\n" for m, i, score, group in scores]
    (here / "scores.csv").write_text("model,item,score,group\n" + "".join(lines), encoding="utf-8")
    (here / "samples.jsonl").write_text(json.dumps(sample(0, "He left.", "She left.", (-1.0, -2.0))), encoding="utf-8")
    biographies(here / "bios.jsonl", planted=True, n=80)
    text, own, out = str(here / "text.txt"), str(here / "own.csv"), str(here)
    train = ["--epochs", "1"]
    tuned = ["--grid", "batch=16 rate=1e-3 epochs=1", "--length", "16"]
    plain = ["--questions", "weat-6"]
    listed: dict[str, list[str]] = {
        "audit": ["audit", model, "--data", own, "--measure", "pll,aul", "--out", f"{out}/a"],
        "audit of a causal model": ["audit", other, "--data", own, "--out", f"{out}/b"],
        "audit of nothing named": ["audit", "--limit", "2", "--measure", "aul"],
        "compare": ["compare", f"{out}/a", f"{out}/a"],
        "gate": ["gate", f"{out}/a", "--baseline", f"{out}/a"],
        "explain": ["explain", f"{out}/a"],
        "report": ["report", f"{out}/a", f"{out}/a", "--out", f"{out}/page.html", "--figures", f"{out}/figures"],
        "card": ["report", f"{out}/a", "--card", f"{out}/card.md"],
        "latex": ["report", f"{out}/a", "--format", "latex", "--out", f"{out}/table.tex"],
        "diagnose": ["diagnose", "length,alignment", model, "--data", own, "--out", f"{out}/d"],
        "scores": ["diagnose", "reliability,invariance", "--data", f"{out}/scores.csv", "--out", f"{out}/reliability"],
        "mitigate": ["mitigate", "cds", model, "--corpus", text, "--held", text, "--out", f"{out}/m", *train],
        "audit of its checkpoint": ["audit", f"{out}/m", "--data", own, "--measure", "aul", "--out", f"{out}/e"],
        "training on pairs": [
            *("mitigate", "aul-loss", model, "--corpus", text, "--held", text, "--train-pairs", own),
            *("--out", f"{out}/l", *train),
        ],
        "prompting": ["mitigate", "prompt", model, "--prefix", "Be fair.", "--held", text, "--out", f"{out}/prompting"],
        "eraser": ["mitigate", "projection", model, "--out", f"{out}/p"],
        "task": ["task", "winobias", model, "--data-dir", str(zoo.MINIATURE), "--limit", "4", "--out", f"{out}/t"],
        "fine-tuning": [
            *("task", "biasbios", str(untrained_model()), "--train", str(here / "bios.jsonl")),
            *(*tuned, "--out", f"{out}/f"),
        ],
        "prompts": ["prompts", model, "--limit", "8", "--out", f"{out}/q"],
        "annotate": ["annotate", f"{out}/q"],
        "vectors of a file": ["vectors", str(here / "glove.txt"), *plain, "--out", f"{out}/v"],
        "vectors of a model": ["vectors", model, "--questions", "weat-6-sentences", "--out", f"{out}/w"],
        "corpus count": ["corpus", "count", text, "--out", f"{out}/c", "--per-document", f"{out}/rows.csv"],
        "corpus flag": ["corpus", "flag", text, "--out", f"{out}/h", "--table", f"{out}/flagged.parquet"],
        "corpus vectors": [
            *("corpus", "vectors", text, "--measure", "rnd", "--words", str(here / "job.txt"), "--seeds", "1"),
            *("--lower", "--pairs", str(here / "pairs.csv"), "--out", f"{out}/embeddings"),
        ],
        "corpus bias": ["corpus", "bias", text, "--model", model, "--out", f"{out}/g", *train],
        "study": [
            "study",
            "paraphrase",
            "--models",
            f"{model},{here}/gone",
            "--limit",
            "4",
            "--threads",
            "1",
            "--out",
            f"{out}/s",
        ],  # one model is missing,
        "study status": ["study", "status", f"{out}/s"],
        "run": ["run", f"{out}/a", model, "--data", own, "--out", f"{out}/again", "--no-report", "--quiet"],
        "plan": ["plan", "--data", own],
        "export": ["export", f"{out}/a", "--to", "inspect", "--out", f"{out}/log"],
        "import": ["import", str(here / "samples.jsonl"), "--model-name", "mine", "--out", f"{out}/imported"],
        "list": ["list", "data"],
        "data show": ["data", "show", own],
        "store": ["store"],
    }
    quiet = {"audit", "diagnose", "mitigate", "task", "prompts", "annotate", "vectors", "corpus", "import"}
    return {name: [*words, *(["--quiet"] if words[0] in quiet else [])] for name, words in listed.items()}


WORDS = (
    *("executive", "management", "professional", "corporation", "salary", "office", "business", "career", "home"),
    *("parents", "children", "family", "cousins", "marriage", "wedding", "relatives", "John", "Paul", "Mike", "Kevin"),
    *("Steve", "Greg", "Jeff", "Bill", "Amy", "Joan", "Lisa", "Sarah", "Diana", "Kate", "Ann", "Donna"),
)


class Said:
    """The folder in which the commands ran, their exit codes, and what they asked of the network."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        said: dict[str, tuple[int, list[str]]] = json.loads((folder / "said.json").read_text())
        self.codes = {name: code for name, (code, _) in said.items()}
        self.asked = {name: asked for name, (_, asked) in said.items() if asked}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Said:
    here = tmp_path_factory.mktemp(FOLDER)
    (here / "commands.json").write_text(json.dumps(commands(here)))
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "UNMASK_DATA"))}
    variables |= {"UNMASK_CACHE_DIR": str(here / "cache"), "HOSTNAME": HOST, "HOME": str(here)}
    variables |= {"USER": USER, "LOGNAME": USER}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=here, env=variables, capture_output=True, text=True, check=False
    )
    assert (here / "said.json").exists(), done.stderr
    (here / "stderr.txt").write_text(done.stderr)
    return Said(here)


@pytest.mark.thorough
def test_every_command_succeeds_and_none_asks_the_network(said: Said) -> None:
    assert said.codes == {**dict.fromkeys(said.codes, 0), "gate": 1, "study": 1}, (
        said.folder / "stderr.txt"
    ).read_text()[-5000:]
    assert said.asked == {}
    run = {words[0] for words in json.loads((said.folder / "commands.json").read_text()).values()}
    assert run == {*COMMANDS} - {"explore"}  # tests/explorer has it


@pytest.mark.thorough
def test_no_file_says_where_on_which_machine_or_by_whom_it_was_made(said: Said) -> None:
    given = {"commands.json", "said.json", "stderr.txt"}
    names = [FOLDER, HOST, USER, *([socket.gethostname()] if len(socket.gethostname()) > 5 else [])]
    found = [
        f"{path.relative_to(said.folder)} has {name}"
        for path in sorted(said.folder.rglob("*"))
        if path.is_file() and path.name not in given
        for name in names
        if name.encode() in content(path) or name in path.name
    ]
    assert found == []


def content(path: Path) -> bytes:
    """The content of a file, tables uncompressed."""
    if path.suffix != ".parquet":
        return path.read_bytes()
    table = pq.read_table(path)
    whole: Any = (table.to_pydict(), table.schema.metadata)
    return repr(whole).encode()
