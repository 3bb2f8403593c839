"""Nothing that is printed controls the terminal: characters of data, names and messages are escaped."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

import zoo
from unmask.cli import main
from unmask.core.progress import progress_bar
from unmask.findings import Finding, Section, Table
from unmask.findings.terminal import Screen, print_json, printable, render, say, show

ESC = "\x1b]0;owned\x07\x1b[31m\x9b31m\u202e"
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def test_tables_answers_and_notes_are_printed_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(f"title {ESC}", (f"name {ESC}", "n"), ((f"cell {ESC}", 1), ("two\nlines", 2)), f"note {ESC}")
    finding = Finding((f"answer {ESC}",), (table,), (), (f"note {ESC}",))
    show(finding)
    text = capsys.readouterr().out + render([Section("name", f"title {ESC}", f"lead {ESC}", finding)])
    assert not CONTROLS.search(text)
    assert text.count("\\x1b]0;owned\\x07") >= 7
    assert "\\x9b31m\\u202e" in text


ROWS = (
    ("crows-bias-bench", "56.7", "51.6 to 61.6", 1508, "towards stereotypes †"),
    ("sld", "8.500", "7.778 to 9.222", 1508, "has no direction"),
)
TABLE = Table("", ("measure", "score", "95% interval", "n", "verdict"), ROWS)


def test_a_pipe_gets_one_line_a_row_without_boxes_and_without_cuts() -> None:
    long = "category=" + "physical-appearance " * 12
    table = Table("", ("group", "n"), ((long, 1), ("two\nlines", 22)))
    lines = render([Section("s", "title", "", Finding((long * 2,), (table,)))]).splitlines()
    assert lines == ["title", f"  {long * 2}", f"  group{' ' * (len(long) - 1 - 5)}   n",
                     f"  {long.rstrip()}   1", f"  two lines{' ' * (len(long) - 1 - 9)}  22"]  # fmt: skip
    assert not set("│┃─━…") & set("".join(lines))


def test_a_terminal_of_80_columns_has_one_line_a_measure() -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        patch.setenv("TERM", "dumb")
        Screen(stream).print_finding(Finding(("a long sentence " * 9,), (TABLE,)))
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines[-2:]] == ["crows-bias-bench", "sld"]
    assert lines[-2].rstrip().endswith("towards stereotypes †")
    assert len(lines) == 2 + 1 + 2  # the sentence on two lines, the head, the rows


def test_text_without_control_characters_is_printed_as_it_is() -> None:
    assert printable("ü → [bold]x[/] :smile: 日本\n\ta") == "ü → [bold]x[/] :smile: 日本\n\ta"


def test_messages_have_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"result in {ESC}")
    assert capsys.readouterr().err == "result in \\x1b]0;owned\\x07\\x1b[31m\\x9b31m\\u202e\n"


def test_json_has_no_control_characters_and_is_the_same_object(capsys: pytest.CaptureFixture[str]) -> None:
    content = {f"key {ESC}": [f"value {ESC} ü", "\x7f", "two\nlines"]}
    print_json(content)
    text = capsys.readouterr().out
    assert not CONTROLS.search(text)
    assert "ü" in text
    assert json.loads(text) == content


def test_labels_of_progress_have_no_control_characters_and_no_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar() as update:
        update(f"label {ESC} [/red]", 0.5, 10, note=f"note {ESC} [/]")
    said = capsys.readouterr().err
    assert "\x1b]0;owned" not in said
    assert "\x9b" not in said
    assert "[/red]" in said


def hostile_run(folder: Path) -> list[list[str]]:
    """Commands on data whose every field tries to control the terminal."""
    data = folder / f"data{ESC}.csv"
    rows = [
        f"more,less,cate{ESC}gory",
        f'"He {ESC} said so.",She said so.,"{ESC}a"',
        "My father left.,My mother left.,b",
    ]
    data.write_text("\n".join(rows), encoding="utf-8")
    model, out = str(zoo.folder("bert-uncased")), str(folder / f"out{ESC}")
    return [
        ["audit", model, "--data", str(data), "--measure", "pll", "--out", out, "--no-report"],
        ["audit", model, "--data", str(data), "--measure", "pll", "--out", out, "--no-report", "--json", "--quiet"],
        ["explain", out],
        ["compare", out, out, "--categories"],
        ["report", out, "--format", "md"],
        ["report", out, "--format", "csv"],
        ["data", "show", str(data)],
        ["list", f"{ESC}"],
        ["report", f"{folder}/gone{ESC}"],
        ["audit", model, "--data", str(data), "--measure", ESC],
    ]


def test_no_command_prints_a_control_character_of_data_or_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warnings.showwarning", None)
    codes = []
    for words in hostile_run(tmp_path):
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main(words)
        codes.append(left.value.code)
        said = capsys.readouterr()
        assert not CONTROLS.search(said.out + said.err), words
    assert codes == [0] * 7 + [2] * 3


@pytest.mark.thorough
def test_on_a_terminal_only_colours_and_the_bar_are_escape_sequences(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    words = hostile_run(tmp_path)[0]
    variables = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(
        [sys.executable, "-m", "unmask", *words], stdout=slave, stderr=slave, stdin=slave, env=variables
    )
    os.close(slave)
    said = b""
    try:
        while part := os.read(master, 65536):
            said += part
    except OSError:  # the process has ended
        pass
    os.close(master)
    assert process.wait() == 0, said.decode()
    text = re.sub(r"\x1b\[[0-9;?]*[mhlKAJG]|\r", "", said.decode())
    assert not CONTROLS.search(text)
    assert "\x1b[31m" not in said.decode()
