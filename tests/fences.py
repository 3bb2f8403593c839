"""Run the code of a Markdown page in its order, as a reader would, and compare what it prints with the page.

    ```console      lines after `$ ` are commands; the lines below are what they print
    ```python       is executed; all blocks of a page share their names
    ```text         below a python block: what it prints
    `mine.csv`:     above a block of another language: the block is written to this file

Lines of output may leave things out with `…`; boxes and runs of spaces are not compared. A command that does not end
with 0 must be followed by `$ echo $?`.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask.cli import main

BLOCK = re.compile(r"(?:^`([\w./-]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BOXES = re.compile(r"[│┃┏━┓┡╇┩└┴┘┳─┼╞═╡╪]")
PYTHON, CONSOLE, TEXT = "python", "console", "text"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, its content, and the file it is to be written to."""

    language: str
    content: str
    file: str = ""


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    return [Block(match[2], match[3], match[1] or "") for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


def run_page(page: Path) -> Iterator[tuple[str, str, str]]:
    """Run a page in the current folder; for every step: what was run, what the page says, and what was printed."""
    names: dict[str, Any] = {"__name__": "__main__"}
    listed = blocks(page)
    for block, following in zip(listed, [*listed[1:], Block("", "")], strict=True):
        if block.language == CONSOLE:
            yield from _run_commands(block.content)
        elif block.language == PYTHON:
            with _printing() as stream:
                exec(compile(block.content, str(page), "exec"), names)
            yield block.content, following.content if following.language == TEXT else "", _text(stream)
        elif block.file:
            Path(block.file).write_text(block.content, encoding="utf-8")


def missing(expected: str, printed: str) -> str:
    """The first line of the page that was not printed, in order; empty if all were."""
    rest = _normal(printed)
    for line in expected.splitlines():
        for part in filter(None, map(_normal, line.split("…"))):
            before, found, rest = rest.partition(part)
            if not found:
                return f"{line.strip()!r}, searched in:\n{before}"
    return ""


def _run_commands(content: str) -> Iterator[tuple[str, str, str]]:
    code = 0
    for step in re.split(r"^\$ ", content, flags=re.MULTILINE)[1:]:
        command, _, expected = step.replace("\\\n", " ").partition("\n")
        if command == "echo $?":
            yield command, expected, str(code)
            code = 0
            continue
        assert code == 0, f"the command before {command!r} ended with {code}"
        code, printed = _run(command)
        yield command, expected, printed
    assert code == 0, f"{command!r} ended with {code}: {printed}"


def _run(command: str) -> tuple[int, str]:
    words = shlex.split(command)
    if words[0] != "unmask":
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
    with _printing() as stream:
        try:
            main(words[1:])
            code = 0
        except SystemExit as left:
            code = int(left.code or 0)
    return code, _text(stream)


@contextlib.contextmanager
def _printing() -> Iterator[io.TextIOWrapper]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield stream


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8")  # type: ignore[attr-defined]


def _normal(text: str) -> str:
    return " ".join(BOXES.sub(" ", text).split())
