"""If one of these fails, a user without an optional package gets a traceback instead of what to install."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from unmask.core.errors import DataError, ModelError, ResultError
from unmask.diagnose.words import _wordfreq
from unmask.studies.backends.ray import import_ray
from unmask.training.spec import TrainSettings, train


def test_training_without_accelerate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.training.spec.find_spec", lambda _: None)
    with pytest.raises(ModelError, match=r'pip install "unmask\[train\]"'):
        train(torch.nn.Linear(1, 1), [1], lambda *_: {}, TrainSettings(), tmp_path)


def test_the_ray_backend_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ResultError, match=r"pip install 'unmask\[scale\]', or use the local backend"):
        import_ray()


def test_word_frequencies_without_wordfreq(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    with pytest.raises(DataError, match=r"install unmask\[words\], or pass a file"):
        _wordfreq("en")
