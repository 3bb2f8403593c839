"""Several processes train what one would, and only the main process writes."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import zoo
from training.test_trainer import ROWS, Line, pairs, squares
from unmask.models import open_lm
from unmask.training import TrainSettings, train
from unmask.training.distributed import is_main_process, on_main_process, world_size


def launch(*words: str) -> subprocess.CompletedProcess[str]:
    """Run in two processes, as `accelerate launch` starts them for two GPUs."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    env = {**os.environ, "ACCELERATE_USE_CPU": "1", "OMP_NUM_THREADS": "1"}
    words = (*command, *words)
    return subprocess.run(words, check=False, env=env, capture_output=True, text=True, timeout=300)


def test_a_single_process_is_the_main_process() -> None:
    assert (world_size(), is_main_process(), on_main_process(lambda: 7)) == (1, True, 7)


def test_a_single_process_needs_no_accelerate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "accelerate", None)
    assert (world_size(), is_main_process(), on_main_process(lambda: 7)) == (1, True, 7)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    done = launch(str(Path(__file__).parent / "two_processes.py"), str(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
def test_two_processes_end_with_the_same_weights(outputs: Path) -> None:
    first, second = (json.loads((outputs / f"process-{rank}.json").read_text()) for rank in (0, 1))
    assert first == second
    assert {name: result["same"] for name, result in first.items()} == dict.fromkeys(first, True)
    assert first["parts"]["parts"] > 1


@pytest.mark.slow
def test_two_processes_of_batch_one_equal_one_process_of_batch_two(outputs: Path, tmp_path: Path) -> None:
    line = Line()
    trained = train(
        line, ROWS[:4], pairs, TrainSettings(epochs=2, lr=0.1, batch=2, seed=4, clip=1e9), tmp_path, loss=squares
    )
    result = json.loads((outputs / "process-0.json").read_text())["line"]
    assert result["steps"] == trained.steps == 4
    assert result["a"] == pytest.approx(line.a.item(), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "model"), [("dropout", "bert-uncased"), ("cda", "gpt2"), ("at", "bert-uncased")])
def test_the_main_process_writes_the_checkpoint(outputs: Path, method: str, model: str) -> None:
    record = json.loads((outputs / method / "result.json").read_text())["details"]
    assert record["processes"] == 2
    before, after = open_lm(zoo.folder(model)), open_lm(outputs / method)
    assert after.facts.fingerprint != before.facts.fingerprint
    weights = after.network.model.state_dict()
    assert record["changed"]["weights"] == sum(
        int((tensor != weights[name]).sum()) for name, tensor in before.network.model.state_dict().items()
    )
    assert all(torch.isfinite(tensor).all() for tensor in weights.values())


@pytest.mark.slow
def test_a_task_in_two_processes(tmp_path: Path) -> None:
    from tasks.test_finetune import biographies, untrained_model

    train_on = biographies(tmp_path / "bios.jsonl", planted=True, n=160)
    done = launch(
        *("-m", "unmask", "task", "biasbios", str(untrained_model()), "--train", str(train_on), "--length", "16"),
        *("--grid", "batch=4,8 rate=1e-3 epochs=2", "--out", str(tmp_path / "out"), "--offline"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Task performance") == 1
    assert done.stderr.count("result in") == 1
    found = json.loads((tmp_path / "out" / "result.json").read_text())["details"]["fine_tuned"][0]
    assert [one["batch"] for one in found["trials"]] == [8, 4]
    assert all(one["steps"] == math.ceil(found["train_examples"] / one["batch"]) for one in found["trials"])
    assert max(one["score"] for one in found["trials"]) == found["chosen"]["score"]


@pytest.mark.thorough
def test_other_commands_refuse_several_processes(tmp_path: Path) -> None:
    done = launch("-m", "unmask", "audit", "--out", str(tmp_path / "out"))
    assert done.returncode != 0
    assert done.stderr.count("unmask: unmask audit runs in one process: start it without accelerate") == 1
    assert not (tmp_path / "out").exists()
