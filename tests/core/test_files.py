"""Files that are written completely or not at all, and JSON that every reader accepts."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from unmask.core import files
from unmask.core.errors import OutputError


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


def test_a_folder_is_written_by_one_process_at_a_time(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from unmask.core.files import lock_folder\n"
        f"with lock_folder(Path({str(tmp_path / 'run')!r})): print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(OutputError, match="being written by another process"), files.lock_folder(tmp_path / "run"):
            pass
        other.kill()  # a killed process leaves no lock
    with files.lock_folder(tmp_path / "run"):
        assert list((tmp_path / "run").iterdir()) == []


def test_a_folder_below_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "x.txt", tmp_path / "file"):
        with pytest.raises(OutputError, match="cannot write"):
            files.write_text(path / "y.txt", "text")
    with pytest.raises(OutputError, match="File name too long"):
        files.write_text(tmp_path / ("n" * 300), "text")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.EROFS])
def test_a_full_disk_or_a_lost_share_leaves_the_earlier_file_and_no_partial_one(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = files.write_text(tmp_path / "a.txt", "earlier")

    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OutputError, match=rf"cannot write .*a\.txt \({os.strerror(number)}\)"):
        files.write_text(path, "later")
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]


def test_threads_that_write_one_file_do_not_share_the_partial_file(tmp_path: Path) -> None:
    texts = [str(number) * 50_000 for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda text: files.write_text(tmp_path / "a.txt", text), texts))
    assert (tmp_path / "a.txt").read_text() in texts


def test_changes_of_threads_to_one_file_are_all_kept(tmp_path: Path) -> None:
    path = tmp_path / "numbers.txt"

    def add(number: int) -> None:
        with files.lock_file(path):
            files.write_text(path, f"{path.read_text()}{number}\n")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, range(80)))
    assert sorted(map(int, path.read_text().split())) == list(range(80))
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_another_process_holds_is_waited_for_but_not_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    code = (
        "import sys; from pathlib import Path; from unmask.core.files import lock_file\n"
        f"with lock_file(Path({str(path)!r})): print('locked', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(OutputError, match="held by another process"), files.lock_file(path, patience=0.05):
            pass
        other.kill()
    with files.lock_file(path):
        pass


def test_a_file_name_that_is_not_utf_8_can_be_written_to_a_result(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    assert files.file_name(tmp_path / name) == "caf?.csv"
    assert files.to_json({"file": Path(name)}).encode() == b'{\n  "file": "caf?.csv"\n}\n'


@pytest.mark.parametrize("limit", [0, 100, 4_000, 200_000])
def test_what_torch_and_safetensors_raise_on_a_full_disk_is_one_line(tmp_path: Path, limit: int) -> None:
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    for save in (torch.save, safetensors.torch.save_file):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
        try:
            with pytest.raises(OutputError, match="cannot write"), files.writing(tmp_path / "weights"):
                save({"weight": torch.ones(100_000)}, tmp_path / "weights")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
