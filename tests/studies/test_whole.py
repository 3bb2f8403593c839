"""A whole study with training: killed and resumed, locally and on Ray, the tables are the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import zoo
from unmask.studies import Runtime, find
from unmask.studies.backends.ray import RayBackend
from unmask.studies.run import StudyPlan, plan_study, run_plan

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Ray's own: sockets and files it leaves to its processes
]
SETTINGS = {
    "methods": ["AT", "CDA"],
    "tasks": ["STS-bias"],
    "documents": 24,
    "train": {"epochs": 1.0, "lr": 1e-3, "batch": 16},
    "use": {"grid": {"batch": [8], "rate": [1e-3], "epochs": [1.0]}, "every": 2, "steps": 4, "rows": 32, "length": 32},
    "each": {"STS-bias": {"limit": 1}},
}


def plan() -> StudyPlan:
    model = str(zoo.folder("bert-uncased"))
    chosen = dict(models=(model,), limit=12, reduced=True, **SETTINGS)
    return plan_study(find("debiasing"), chosen, Runtime(zoo.MINIATURE, offline=True, threads=1))


def tables(folder: Path) -> dict[str, object]:
    """All tables of the study."""
    found: dict[str, object] = {one.name: one.read_text() for one in (folder / "tables").glob("*.csv")}
    assert len(found) >= 4
    return {**found, "sections": json.loads((folder / "result.json").read_text())["findings"]}


def done(folder: Path) -> int:
    return len(list((folder / "steps").glob("*/step.json"))) if (folder / "steps").is_dir() else 0


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("local")
    result = run_plan(plan(), folder)
    assert not result.meta["details"]["failed"]
    return tables(folder)


def test_killed_study_resumes_with_the_same_results(wanted: dict[str, object], tmp_path: Path) -> None:
    told = [f"{name}={json.dumps(value)}" for name, value in SETTINGS.items()]
    words = [sys.executable, "-m", "unmask", "study", "debiasing", "--reduced", "--limit", "12"]
    words += ["--models", str(zoo.folder("bert-uncased")), "--data-dir", str(zoo.MINIATURE), "--offline"]
    words += ["--threads", "1", "--out", str(tmp_path / "out"), "--quiet"]
    words += [part for one in told for part in ("--set", one)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while done(tmp_path / "out") < 6 and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode == -signal.SIGKILL, err.decode()
    before = done(tmp_path / "out")
    assert 6 <= before < len(plan().steps)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    assert tables(tmp_path / "out") == wanted


def workers() -> list[int]:
    """Process ids of the Ray workers that run a step."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            title = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if title.startswith(("ray::audit", "ray::mitigate", "ray::fine-tune")):  # Ray calls them by their step
            found.append(int(path.parent.name))
    return found


@pytest.mark.usefixtures("cluster")
def test_ray_with_a_killed_worker_gives_the_same_results(wanted: dict[str, object], tmp_path: Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        while done(tmp_path / "out") < 4:
            time.sleep(0.05)
        while not killed:
            killed.extend(workers()[:1])
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    result = run_plan(plan(), tmp_path / "out", backend=RayBackend())
    thread.join(timeout=60)
    assert killed
    assert not result.meta["details"]["failed"]
    assert tables(tmp_path / "out") == wanted
