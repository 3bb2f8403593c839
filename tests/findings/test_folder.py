"""Result folders: one process at a time, an earlier result until the new one is complete, nobody else's files."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unmask
from unmask.core.errors import OutputError, ResultError
from unmask.core.files import lock_folder
from unmask.findings import Finding, Plot, Section, charts
from unmask.findings.envelope import ITEMS, PAGE, RESULT, build
from unmask.findings.folder import create, create_new, result_folder


def content(title: str = "first", kind: str = "vectors") -> dict[str, Any]:
    chart = charts.intervals([{"label": "a", "value": 1.0, "low": 0.5, "high": 1.5}], axis="x")
    finding = Finding((), (), (Plot("one", "One", "One.", chart),))
    return build(kind, title=title, findings=[Section("s", "S", "", finding)])  # type: ignore[arg-type]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_an_earlier_result_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    create(content(), tmp_path)
    (tmp_path / PAGE).write_text("page of the first")
    before = (tmp_path / RESULT).read_bytes()
    with pytest.raises(ZeroDivisionError), result_folder(tmp_path, "vectors") as folder:  # noqa: PT012
        folder.stage(ITEMS).write_text("half a table")
        raise ZeroDivisionError
    assert (tmp_path / RESULT).read_bytes() == before
    assert names(tmp_path) == {RESULT, PAGE}


def test_the_page_and_the_figures_of_the_earlier_result_go_with_it(tmp_path: Path) -> None:
    create(content(), tmp_path)
    for name in (PAGE, "one.svg", "mine.svg"):
        (tmp_path / name).write_text("")
    create(content("second"), tmp_path)
    assert names(tmp_path) == {RESULT, "mine.svg"}
    assert unmask.load(tmp_path).meta["title"] == "second"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("result.json", '{"accuracy": 0.9}'),
        ("result.json", "not JSON"),
        ("result.json", "[]"),
        ("result.json", '{"schema": 1, "kind": "mine"}'),
        ("task.json", '{"todo": []}'),
        ("findings.json", '{"day": 3}'),
        ("items.parquet", ""),
        ("thesis.tex", "mine"),
        ("notes.partial", "mine"),
    ],
)
def test_the_files_of_somebody_else_are_not_touched(tmp_path: Path, file: str, text: str) -> None:
    """One file of our name does not make a folder ours."""
    (tmp_path / file).write_text(text)
    with pytest.raises(ResultError, match="new or empty folder"):
        create(content(), tmp_path)
    assert names(tmp_path) == {file}
    assert (tmp_path / file).read_text() == text


def test_a_result_of_another_kind_is_not_replaced(tmp_path: Path) -> None:
    create(content(), tmp_path)
    with pytest.raises(ResultError, match="of another kind, vectors"):
        create(content("other", kind="diagnosis"), tmp_path)
    assert unmask.load(tmp_path).kind == "vectors"


def test_what_a_killed_run_left_is_recognised_and_removed(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from unmask.findings.folder import result_folder\n"
        "with result_folder(Path(sys.argv[1]), 'vectors') as folder:\n"
        "    folder.stage('items.parquet').write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    (left,) = names(tmp_path)
    assert left.startswith("items.parquet.")
    create(content(), tmp_path)
    assert names(tmp_path) == {RESULT}


def test_a_killed_run_leaves_either_result_at_any_moment_of_the_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At no moment does an old result.json stand beside a new table, and the folder can be used again."""

    def tables(title: str, stop_at: int = 99) -> None:
        calls = [0]
        for name in ("unlink", "replace"):
            original = getattr(Path, name)

            def step(*args: Any, original: Any = original, **kwargs: Any) -> Any:
                calls[0] += 1
                if calls[0] > stop_at:
                    raise KeyboardInterrupt
                return original(*args, **kwargs)

            monkeypatch.setattr(Path, name, step)
        with result_folder(tmp_path, "vectors") as folder:
            pq.write_table(pa.table({"title": [title]}), folder.stage(ITEMS))
            folder.discard = lambda: None  # type: ignore[method-assign]  # a kill leaves everything
            folder.finish(content(title))

    for stop_at in range(8):
        monkeypatch.undo()
        tables("first")
        monkeypatch.undo()
        (tmp_path / PAGE).write_text("first")
        with suppress(KeyboardInterrupt):
            tables("second", stop_at)
        monkeypatch.undo()
        if (tmp_path / RESULT).exists():
            title = unmask.load(tmp_path).meta["title"]
            assert pq.read_table(tmp_path / ITEMS)["title"].to_pylist() == [title]
            assert not (tmp_path / PAGE).exists() or title == "first"


def test_a_second_process_on_the_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from unmask.findings.folder import result_folder\n"
        "with result_folder(Path(sys.argv[1]), 'vectors'):\n"
        "    print('open', flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    words = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(OutputError, match="being written by another process"):
            create(content(), tmp_path)
        other.communicate("\n")
    create(content(), tmp_path)


def test_a_failed_run_leaves_no_empty_folder_behind(tmp_path: Path) -> None:
    """Unless the user made it."""
    (tmp_path / "mine").mkdir()
    for folder in (tmp_path / "new", tmp_path / "mine", create_new(tmp_path / "default")):
        with pytest.raises(ZeroDivisionError), result_folder(folder, "vectors"):
            raise ZeroDivisionError
    assert names(tmp_path) == {"mine"}


def test_a_default_folder_is_a_new_one(tmp_path: Path) -> None:
    """Two runs that start in one second must not share a folder."""
    made = [create_new(tmp_path / "runs" / "model-20260101-000000") for _ in range(3)]
    assert [folder.name[-8:] for folder in made] == ["1-000000", "000000-2", "000000-3"]


@pytest.mark.parametrize("out", ["file", "file/below", "/proc/unmask", "x" * 300])
def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, out: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises((OutputError, ResultError), match=r"file or below one|cannot write|cannot be read") as caught:
        create(content(), tmp_path / out)
    assert "\n" not in str(caught.value)


def test_a_full_disk_keeps_the_earlier_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create(content(), tmp_path)
    (tmp_path / PAGE).write_text("page")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        create(content("second"), tmp_path)
    assert unmask.load(tmp_path).meta["title"] == "first"
    assert names(tmp_path) == {RESULT, PAGE}


def test_a_copy_is_refused_while_another_process_writes_there(tmp_path: Path) -> None:
    result = create(content(), None)
    (tmp_path / "copy").mkdir()
    with lock_folder(tmp_path / "copy"), pytest.raises(OutputError, match="another process"):
        result.save(tmp_path / "copy")
