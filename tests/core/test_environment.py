"""Environment variables are checked where they are read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unmask.core import environment
from unmask.core.errors import DataError
from unmask.core.files import cache_dir


@pytest.mark.parametrize(
    "value", ["gopher://x", "mirror.example", "http://", "http://[::1", "https://x:99999", "/data"]
)
def test_a_mirror_that_is_no_address_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_DATA_MIRROR", value)
    with pytest.raises(DataError, match=r"\$UNMASK_DATA_MIRROR is .*, expected an address like"):
        environment.data_mirror()


def test_a_mirror_has_no_slash_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_DATA_MIRROR", " https://mirror.example:8443/data/ ")
    assert environment.data_mirror() == "https://mirror.example:8443/data"
    monkeypatch.setenv("UNMASK_DATA_MIRROR", "")
    assert environment.data_mirror() is None


def test_a_data_folder_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (tmp_path / "gone", tmp_path / ("n" * 5000)):
        monkeypatch.setenv("UNMASK_DATA_DIR", str(value))
        with pytest.raises(DataError, match=r"\$UNMASK_DATA_DIR is .*, which is not a folder"):
            environment.data_dir()
    monkeypatch.setenv("UNMASK_DATA_DIR", str(tmp_path))
    assert environment.data_dir() == tmp_path


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("UNMASK_CACHE_DIR", "~/cache")
    assert cache_dir() == tmp_path / "cache"


def test_false_does_not_turn_the_shortcuts_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, on in (("", True), ("1", True), ("0", False)):
        monkeypatch.setenv(environment.FAST, value)
        assert environment.fast() is on
    monkeypatch.setenv(environment.FAST, "false")
    with pytest.raises(DataError, match=r"\$UNMASK_FAST is 'false', expected 0 or 1"):
        environment.fast()


@pytest.mark.parametrize(
    ("given", "expected"), [("x", "expected a number of processes"), ("0", "expected a number"), ("2", "do not join")]
)
def test_a_number_of_processes_that_is_none_is_one_line(given: str, expected: str) -> None:
    """The printing of errors asks for it too."""
    variables = {**os.environ, "WORLD_SIZE": given, "RANK": "0", "LOCAL_RANK": "0"}
    words = [sys.executable, "-m", "unmask", "list", "data"]
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith(f"unmask: $WORLD_SIZE is {given if given == '2' else repr(given)}, ")
    assert expected in line
