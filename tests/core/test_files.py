"""Files that are written completely or not at all, and JSON that every reader accepts."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from unmask.core import files


@dataclass(frozen=True)
class Cell:
    value: float
    where: Path


def test_plain_values_are_json_types_only() -> None:
    value = {
        1: (float("nan"), float("inf"), 0.5),
        "cell": Cell(float("-inf"), Path("/home/somebody/models/bert")),
        "set": {"b", "a"},
        "array": np.array([1.0, np.nan]),
        "number": np.int64(3),
        "flag": np.bool_(True),
        "nothing": None,
    }
    assert files.plain(value) == {
        "1": [None, None, 0.5],
        "cell": {"value": None, "where": "bert"},  # results hold no paths of the machine
        "set": ["a", "b"],
        "array": [1.0, None],
        "number": 3,
        "flag": True,
        "nothing": None,
    }


def test_json_is_returned_as_it_will_be_read_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "result.json"
    returned = files.write_json(path, {"å": (1, float("nan"))})
    assert returned == {"å": [1, None]} == json.loads(path.read_text(encoding="utf-8"))
    assert path.read_bytes().endswith(b"}\n")
    assert "å" in path.read_text(encoding="utf-8")


def test_what_cannot_be_written_as_json_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    files.write_json(path, {"n": 1})
    with pytest.raises(TypeError):
        files.write_json(path, {"n": object()})
    assert json.loads(path.read_text()) == {"n": 1}


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = files.write_text(tmp_path / "page.html", "old\n")

    def write_half() -> None:
        with files.partial_file(path) as partial:
            partial.write_text("half a pa")
            assert partial.parent == path.parent  # else replacing is not atomic
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]
    assert files.write_text(path, "new\n").read_text() == "new\n"
    assert list(tmp_path.iterdir()) == [path]


def test_lines_end_alike_on_every_system(tmp_path: Path) -> None:
    assert files.write_text(tmp_path / "a", "1\n2\n").read_bytes() == b"1\n2\n"


def test_checksum(tmp_path: Path) -> None:
    path = files.write_text(tmp_path / "a", "text")
    assert files.sha256_of(path) == hashlib.sha256(b"text").hexdigest()
