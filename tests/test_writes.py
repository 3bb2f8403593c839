"""Nothing half done is taken for done: every write goes through `core/files.py`, and a full disk is one line."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fuzz.test_results import MAKERS, make_files
from unmask.audit.result import load_audit
from unmask.core.errors import OutputError, ResultError
from unmask.core.files import KIND_FILES, RESULT_FILES, append_text, write_text, writing
from unmask.findings.envelope import PAGE, RESULT
from unmask.findings.figure import Figure, export
from unmask.findings.renderer import RENDERER
from unmask.prompts.annotations import open_folder
from unmask.report import card
from unmask.report.run import report, write_page

SOURCE = Path(__file__).parents[1] / "src" / "unmask"
GUARDS = {"partial_file", "writing", "_writing"}  # contexts that turn a failing write into one line
WRITERS = {
    "write_text",
    "write_bytes",
    "mkdir",
    "touch",
    "save_pretrained",
    "save_file",
    "copyfile",
    "copytree",
    "move",
}
WRITERS |= {"ParquetWriter", "CSVWriter", "write_table", "symlink_to"}
UNGUARDED = {  # where a direct write is right
    "models/store.py": "SQLite, with its own handling of errors",
    "models/eraser.py": "part of a model's `save_pretrained`, which is guarded",
    "audit/parquet.py": "who opens a writer guards it",
    "data/files.py": "downloads, by a library that checks them, with their own error",
}


def writes(tree: ast.AST, guarded: bool = False) -> Iterator[ast.Call]:
    """Calls that write to the file system outside of a guard; the package's own `write_text` is one."""
    for node in ast.iter_child_nodes(tree):
        inside = guarded
        if isinstance(node, ast.With):
            calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
            inside = guarded or any(_name(call.func) in GUARDS for call in calls)
        elif isinstance(node, ast.Call) and not guarded and _writes(node):
            yield node
        yield from writes(node, inside)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _writes(call: ast.Call) -> bool:
    name = _name(call.func)
    if name == "open":
        modes = [
            part.value
            for part in (*call.args, *(word.value for word in call.keywords))
            if isinstance(part, ast.Constant)
        ]
        return any(isinstance(mode, str) and set(mode) & set("wax+") and len(mode) <= 3 for mode in modes)
    own = isinstance(call.func, ast.Name) and name == "write_text"  # of core/files.py
    return name in WRITERS and not own


def test_modules_write_through_the_file_helper() -> None:
    """A direct write may be cut off, and its error is a traceback."""
    direct = {
        str(path.relative_to(SOURCE)): [f"line {call.lineno}: {_name(call.func)}" for call in calls]
        for path in sorted(SOURCE.rglob("*.py"))
        if (calls := list(writes(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert direct.keys() == UNGUARDED.keys(), direct


def full(*_: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind != "mitigation"])
def test_a_full_disk_is_one_line_and_the_earlier_result_stays(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    out.mkdir()
    for name, content in make_files(kind).items():
        (out / name).write_bytes(content)
    (out / PAGE).write_text("page")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        MAKERS[kind](out)
    assert {name: (out / name).read_bytes() for name in make_files(kind)} == make_files(kind)
    assert (out / PAGE).read_text() == "page"
    assert not list(out.glob("*.partial"))


def test_a_checkpoint_on_a_full_disk_is_not_taken_for_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        MAKERS["mitigation"](tmp_path / "run")
    assert not (tmp_path / "run" / RESULT).exists()
    monkeypatch.undo()
    MAKERS["mitigation"](tmp_path / "run")
    assert not (tmp_path / "run" / "unfinished").exists()


def test_a_failing_library_is_an_error_of_writing(tmp_path: Path) -> None:
    """Safetensors and torch do not raise OSError on a full disk."""
    from safetensors import SafetensorError

    for error in (SafetensorError("I/O error: No space left"), RuntimeError("PytorchStreamWriter failed writing file")):
        with pytest.raises(OutputError, match="cannot write"), writing(tmp_path):
            raise error
    with pytest.raises(RuntimeError, match="other"), writing(tmp_path):
        raise RuntimeError("other")


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    for name, content in make_files("audit").items():
        (folder / name).write_bytes(content)
    return folder


OUTPUTS: dict[str, Callable[[Path, Path], object]] = {
    "page": lambda run, out: report(run, out=out),
    "table": lambda run, out: report(run, format="csv", out=out),
    "card": lambda run, out: card.write(load_audit(run), out),
    "figures": lambda run, out: export([Figure("one", "One", "One.", {"config": {}}, "<svg/>")], out.parent),
}


@pytest.mark.parametrize("what", OUTPUTS)
def test_an_output_on_a_full_disk_is_one_line_and_keeps_the_file_of_the_user(
    what: str, audit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A card that was cut off has lost the text of its author."""
    monkeypatch.setattr(type(RENDERER), "call", lambda *_, **__: b"<svg></svg>")
    out = tmp_path / "one.svg"
    out.write_text("---\nlicense: mit\n---\n\n# Mine\n")
    before = out.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OutputError, match="No space left on device"):
            OUTPUTS[what](audit, out)
    assert out.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.svg", "run"]
    if what == "card":
        OUTPUTS[what](audit, out)
        assert "# Mine" in out.read_text()


def test_an_annotation_on_a_full_disk_is_one_line_and_keeps_the_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    MAKERS["prompts"](tmp_path / "run")
    folder = open_folder(tmp_path / "run")
    prompt = folder.model_answers.answers[0].prompt
    folder.save(prompt, "anna", "biased")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        folder.save(prompt, "ben", "biased")
    assert [each.judge for each in folder.read_annotations()] == ["anna"]


def test_a_page_that_cannot_be_drawn_does_not_lose_the_result(audit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = load_audit(audit)

    def crash(*_: Any, **__: Any) -> bytes:
        raise ValueError("no\nfont")

    monkeypatch.setattr(type(RENDERER), "call", crash)
    with pytest.raises(OutputError, match=r"the result is in .*run, but its page could not be written"):
        write_page(result)
    assert load_audit(audit).meta == result.meta
    monkeypatch.undo()
    monkeypatch.setattr(type(RENDERER), "call", lambda *_, **__: b"<svg></svg>")
    with pytest.raises(OutputError, match="another process has written a new result"):
        write_page(replace(result, meta={**result.meta, "title": "of an earlier result"}))
    assert not (audit / PAGE).exists()
    assert write_page(result) == audit / PAGE


@pytest.mark.parametrize("name", RESULT_FILES)
@pytest.mark.parametrize("way", ["itself", "a link to it", "a linked folder"])
def test_no_output_is_written_over_a_file_of_a_result(
    way: str, name: str, audit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`unmask report RUN -o RUN/result.json` would destroy the run that it reports, and exit with 0."""
    monkeypatch.setattr(type(RENDERER), "call", lambda *_, **__: b"<svg></svg>")
    target = audit / name
    if way == "a link to it":
        target = tmp_path / "link"
        target.symlink_to(audit / name)
    elif way == "a linked folder":
        (tmp_path / "other").symlink_to(audit)
        target = tmp_path / "other" / name
    before = {path.name: path.read_bytes() for path in audit.iterdir()}
    result = load_audit(audit)
    outputs: tuple[Callable[[], object], ...] = (
        lambda: report(result, out=target),
        lambda: report(result, format="csv", out=target),
        lambda: card.write(result, target),
        lambda: append_text(target, "a summary of the gate"),
    )
    for write in outputs:
        with pytest.raises((OutputError, ResultError)):
            write()
    with pytest.raises(OutputError, match=r"is a file of the result in .*: give another file"):
        outputs[1]()
    assert {path.name: path.read_bytes() for path in audit.iterdir()} == before


@pytest.mark.parametrize("name", KIND_FILES)
def test_no_report_is_written_over_answers_or_annotations(name: str, audit: Path) -> None:
    """What people judged by hand would be gone."""
    (audit / name).write_text("kept", encoding="utf-8")
    for output in ({"format": "csv", "out": audit / name}, {"card": audit / name}):
        with pytest.raises(OutputError, match="is a file of the result in"):
            report(load_audit(audit), **output)
    assert (audit / name).read_text(encoding="utf-8") == "kept"


def test_a_file_that_only_has_such_a_name_is_written(tmp_path: Path) -> None:
    """Other programs have a `result.json` too."""
    (tmp_path / RESULT).write_text("{}")
    assert write_text(tmp_path / RESULT, "{}\n").read_text() == "{}\n"
    assert write_text(tmp_path / "new" / RESULT, "{}\n").read_text() == "{}\n"
