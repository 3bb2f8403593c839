"""The whole suite runs offline and keeps its caches to itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import torch

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(Path(__file__).parent))
torch.set_num_threads(
    1
)  # models are tiny here, and threads of several test processes get in each other's way

SHARED = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("UNMASK_DATA_DIR", raising=False)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real benchmark files."""
    if not SHARED.is_dir():
        pytest.skip(f"the benchmark files are not at {SHARED}")
    return SHARED
