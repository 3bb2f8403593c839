"""Whatever goes wrong is one line on stderr, and an exit code that says what kind of failure it was."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from unmask.cli import main
from unmask.core.errors import MAX_MESSAGE


class OutOfMemoryError(RuntimeError):
    """As torch raises it."""


ERRORS = {
    "no space": (OSError(28, "No space left on device", "a.html"), 2, "a.html cannot be read or written (No space"),
    "name too long": (OSError(36, "File name too long", "x" * 300), 2, "(File name too long)"),
    "permission": (PermissionError(13, "Permission denied", "/x"), 2, "/x cannot be read or written (Permission"),
    "memory": (MemoryError("cannot allocate 40 GiB"), 2, "not enough memory ('cannot allocate 40 GiB')"),
    "memory of a GPU": (OutOfMemoryError("CUDA out of memory"), 2, "not enough memory"),
    "memory of torch": (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 2, "not enough memory"),
    "recursion": (RecursionError("maximum recursion depth exceeded"), 2, "nested too deeply"),
    "defect": (KeyError("gone"), 70, "unexpected error at test_errors.py:"),
    "defect with many lines": (ValueError("a\nb\x1b[31m" + "c" * 9000), 70, "ValueError: a b\\x1b[31mccc"),
}


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Let a command end with an error; the exit code and what was said."""

    def run(error: Exception) -> tuple[int, str]:
        def read(*_: object) -> None:
            raise error

        monkeypatch.setattr(import_module("unmask.audit.result"), "load", read)
        monkeypatch.setattr("warnings.showwarning", None)
        with pytest.raises(SystemExit) as left:
            main(["compare", "a", "b"])
        said = capsys.readouterr()
        assert said.out == ""
        return int(left.value.code or 0), said.err

    return run


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_that_nothing_expected_is_one_line(case: str, fail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNMASK_DEBUG", raising=False)
    error, expected, words = ERRORS[case]
    code, err = fail(error)
    assert code == expected
    (line,) = err.splitlines()
    assert line.startswith("unmask: ")
    assert words in line
    assert "\x1b" not in line
    assert len(line) < MAX_MESSAGE + 100


def test_the_traceback_is_printed_on_request_only(fail, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNMASK_DEBUG", "1")
    code, err = fail(KeyError("gone"))
    assert code == 70
    assert "Traceback (most recent call last)" in err
    assert "UNMASK_DEBUG=1" in err.splitlines()[-1]


USAGE = {
    "option": (["audit", "--nope"], "No such option: --nope"),
    "value": (["audit", "--limit", "many"], "--limit"),
    "argument": (["report"], "Missing argument"),
    "command": (["nope\x1b[31m"], "No such command"),
    "choice": (["report", "a", "--format", "doc"], "'doc' is not one of"),
    "too many": (["list", "data", "more"], "unexpected extra argument"),
}


@pytest.mark.parametrize("case", USAGE)
def test_a_usage_error_is_one_line_that_names_the_help(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, expected = USAGE[case]
    with pytest.raises(SystemExit) as left:
        main(words)
    said = capsys.readouterr()
    assert (left.value.code, said.out) == (2, "")
    (line,) = said.err.splitlines()
    assert expected in line
    assert line.endswith(" --help)")
    assert "\x1b" not in line


@pytest.mark.parametrize("words", [[], ["corpus"], ["data"]])
def test_without_a_command_the_help_is_printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert "Commands:" in capsys.readouterr().err


def process(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    command = [sys.executable, "-m", "unmask", *words]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_a_reader_that_has_had_enough_ends_the_command_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = process("list", "data", stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("words", [["list", "data"], ["--version"]])
def test_output_that_cannot_be_written_is_one_line(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = process(*words, stdout=full)
    assert done.returncode == 2
    assert done.stderr == "unmask: the input or output cannot be read or written (No space left on device)\n"


def test_a_word_that_is_not_utf8_is_refused_in_one_line() -> None:
    done = process(os.fsdecode(b"report"), os.fsdecode(b"caf\xe9"), stdout=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == "unmask: 'caf\\udce9' is not UTF-8: give names in UTF-8, or rename the file\n"


def test_a_terminal_without_unicode_is_no_error(tmp_path: Path) -> None:
    variables = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = process("data", "show", "nine-axes", stdout=subprocess.PIPE, env=variables)
    assert (done.returncode, done.stderr) == (0, "")
