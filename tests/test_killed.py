"""A run that is killed again and again ends with the same digits, and never does its work twice."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import zoo
from unmask.models.store import list_stores

pytestmark = [pytest.mark.slow]
_RUN = """
import sys, torch
torch.set_num_threads(1)
from unmask.models import Engine
run = Engine._run
def counted(self, batch):
    answer = run(self, batch)
    with open(sys.argv[1], "a") as file:
        file.write("x" * len(batch.ids))
    return answer
Engine._run = counted
from unmask.cli import main
main(sys.argv[2:])
"""


class Run:
    """One audit in a process of its own, with its own result folder; counts the rows it asks."""

    def __init__(self, folder: Path, cache: Path, *, name: str) -> None:
        self.out, self._rows = folder / "out", folder / name
        folder.mkdir(exist_ok=True)
        self._rows.touch()
        words = ["audit", str(zoo.folder("bert-uncased")), "--data", "crows-pairs", "--limit", "60"]
        words += ["--data-dir", str(zoo.MINIATURE), "--tokens", "64", "--measure", "cps,aula"]
        words += ["--no-report", "--quiet", "--offline", "--out", str(self.out)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _RUN, str(self._rows), *words],
            env={**os.environ, "UNMASK_CACHE_DIR": str(cache)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def rows(self) -> int:
        return self._rows.stat().st_size

    def finish(self) -> None:
        _, said = self._process.communicate(timeout=240)
        assert self._process.returncode == 0, said
        assert "damaged" not in said

    def kill_after(self, rows: int) -> None:
        """Kill it in the midst of its work, once it has asked so many rows."""
        while self.rows < rows and self._process.poll() is None:
            time.sleep(0.001)
        self._process.kill()
        self._process.communicate()
        assert self._process.returncode < 0, "it was done before it could be killed"


def test_a_killed_run_is_resumed(tmp_path: Path) -> None:
    undisturbed = Run(tmp_path / "undisturbed", tmp_path / "cache-a", name="rows")
    undisturbed.finish()
    chance = random.Random(20)
    killed = []
    for attempt in range(3):
        run = Run(tmp_path / "killed", tmp_path / "cache-b", name=f"rows-{attempt}")
        run.kill_after(chance.randint(20, undisturbed.rows // 4))
        assert not (run.out / "result.json").exists()
        assert not (run.out / "items.parquet").exists()
        killed.append(run.rows)
    last = Run(tmp_path / "killed", tmp_path / "cache-b", name="rows-last")
    last.finish()
    for table in ("items.parquet", "tokens.parquet"):
        assert (last.out / table).read_bytes() == (undisturbed.out / table).read_bytes()
    assert last.rows < undisturbed.rows
    lost = sum(killed) + last.rows - undisturbed.rows
    assert 0 <= lost <= 3 * 8, "each kill loses one batch at most"
    assert list_stores() == []  # the runs' caches were their own
