"""The store: nothing is computed twice, and damaged readings are never used."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unmask
import zoo
from unmask import data as datasets
from unmask.core import signals
from unmask.core.errors import OutputError
from unmask.core.types import Dataset
from unmask.models import Engine, Store
from unmask.models.store import StoredReadings, StoreWarning, clear_stores, list_stores, store_dir

FORK = multiprocessing.get_context("fork")  # quick: nothing is imported again
forking = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Rows run through any model since the last call."""
    engines: list[Engine] = []
    init = Engine.__init__

    def recording_init(self: Engine, *args: Any, **options: Any) -> None:
        init(self, *args, **options)
        engines.append(self)

    def count() -> int:
        rows = sum(engine.rows_run for engine in engines)
        engines.clear()
        return rows

    monkeypatch.setattr(Engine, "__init__", recording_init)
    return count


def pairs() -> Dataset:
    return datasets.from_records([(pair.more, pair.less) for pair in zoo.crows_pairs()[:5]], name="five")


def audit_items(measures: Sequence[str] = ("pll", "aula"), dtype: str = "fp32") -> list[dict[str, Any]]:
    opening = unmask.Opening(dtype=dtype)
    result = unmask.audit(zoo.folder("bert-uncased"), data=pairs(), measures=measures, opening=opening)
    return list(result.items.to_pylist())


def store_path() -> Path:
    (path,) = store_dir().glob("*.sqlite")
    return path


def test_a_second_run_computes_nothing_and_gives_the_same(rows: Callable[[], int]) -> None:
    first = audit_items()
    assert rows() > 0
    assert audit_items() == first
    assert rows() == 0


def test_another_measure_computes_only_what_is_new(rows: Callable[[], int]) -> None:
    first = audit_items(["pll", "aula"])
    rows()
    more = audit_items(["pll", "aula", "all-masked", "cps"])
    # at most one row per sentence; equal all-masked inputs run once
    assert 0 < rows() <= 2 * len(pairs().items)
    assert [row for row in more if row["measure"] in ("pll", "aula")] == first


def test_aul_is_read_from_stored_aula_but_not_the_reverse(rows: Callable[[], int]) -> None:
    audit_items(["aul"])
    rows()
    audit_items(["aula"])
    assert rows() == 2 * len(pairs().items)
    audit_items(["aul", "aula"])
    assert rows() == 0


@pytest.mark.parametrize("damage", ["flipped", "shorter", "empty", "null", "text", "number"])
def test_a_damaged_row_is_computed_again(damage: str, rows: Callable[[], int]) -> None:
    first = audit_items()
    rows()
    with sqlite3.connect(store_path()) as connection:
        key, reads = connection.execute("SELECT key, reads FROM readings ORDER BY key LIMIT 1").fetchone()
        broken = {
            **{"flipped": bytes([reads[0] ^ 1]) + reads[1:], "shorter": reads[:-3], "empty": b""},
            **{"null": None, "text": "é", "number": 7},
        }[damage]
        connection.execute("UPDATE readings SET reads = ? WHERE key = ?", (broken, key))
    connection.close()
    with pytest.warns(StoreWarning, match="damaged readings"):
        again = audit_items()
    assert again == first
    assert 0 < rows() < 40  # one sentence
    assert audit_items() == first
    assert rows() == 0


def test_readings_of_another_model_are_not_believed(tmp_path: Path, rows: Callable[[], int]) -> None:
    """The scores of a model would be those of the model whose store has its name."""
    second = zoo.build("bert-uncased", tmp_path / "bert")
    zoo.rewrite(second, lambda weights: weights["bert.embeddings.LayerNorm.weight"].mul_(3))
    paths, found, needed = [], [], []
    for model in (zoo.folder("bert-uncased"), second):
        found.append(unmask.audit(model, data=pairs(), measures="aul").items)
        needed.append(rows())
        paths += [path for path in store_dir().glob("*.sqlite") if path not in paths]
    paths[0].replace(paths[1])
    with pytest.warns(StoreWarning, match="or those of another model, in .* are computed again"):
        again = unmask.audit(second, data=pairs(), measures="aul").items
    assert again.equals(found[1])
    assert not again.equals(found[0])
    assert rows() == needed[1]


@pytest.mark.filterwarnings("ignore:damaged readings, or those of another model")
def test_two_models_with_one_file_do_not_share_readings(tmp_path: Path) -> None:
    """With `store_file` a model with the vocabulary of another one would get its scores."""
    second = zoo.build("bert-uncased", tmp_path / "bert")
    zoo.rewrite(second, lambda weights: weights["bert.embeddings.LayerNorm.weight"].mul_(3))

    def audit(model: Path, file: str) -> Any:
        options = unmask.Options(store_file=tmp_path / file)
        return unmask.audit(model, data=pairs(), measures="aul", options=options).items

    alone = audit(second, "own.sqlite")
    audit(zoo.folder("bert-uncased"), "shared.sqlite")
    assert audit(second, "shared.sqlite").equals(alone)


def junk_in_the_header(content: bytes) -> bytes:
    return b"this is no database at all" + content[26:]


def truncated_by_half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def junk_in_the_middle(content: bytes) -> bytes:
    return content[:4096] + b"\xff" * (len(content) - 4096)


@pytest.mark.parametrize("damage", [junk_in_the_header, truncated_by_half, junk_in_the_middle])
def test_a_damaged_file_is_moved_aside_and_rebuilt(damage: Callable[[bytes], bytes], rows: Callable[[], int]) -> None:
    first = audit_items()
    all_rows = rows()
    path = store_path()
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(StoreWarning, match="moved to"):
        assert audit_items() == first
    assert rows() == all_rows
    assert path.with_suffix(".damaged").exists()
    assert audit_items() == first
    assert rows() == 0


def test_dtypes_do_not_share_readings(rows: Callable[[], int], plain_bf16: None) -> None:
    first = audit_items()
    fp32_rows = rows()
    assert audit_items(dtype="bf16") != first
    assert rows() == fp32_rows
    assert audit_items() == first
    assert len(list_stores()) == 2


def test_without_a_store_nothing_is_written(rows: Callable[[], int]) -> None:
    options = unmask.Options(store=False)
    for _ in range(2):
        unmask.audit(zoo.folder("bert-uncased"), data=pairs(), measures="aul", options=options)
        assert rows() > 0
    assert not store_dir().exists()


def small_store(name: str = "one") -> Path:
    """A store of three readings, closed."""
    store = Store.of(name)
    store.save({bytes([number]): StoredReadings.of({(1, 2): (-0.5, 0)}) for number in range(3)})
    store.close()
    assert store.path is not None
    return store.path


def test_a_store_names_its_model_and_forgets_it_when_cleared() -> None:
    for _ in range(2):
        store = Store.of("one", "bert\nbase fp32")
        store.close()
    (file,) = list_stores()
    assert file.model == "bert base fp32"
    clear_stores(["one"])
    assert not list(store_dir().glob("*.model"))


def test_stores_are_listed_and_cleared() -> None:
    assert list_stores() == []
    for name in ("one", "two"):
        small_store(name)
    assert [(file.name, file.readings) for file in list_stores()] == [("one", 3), ("two", 3)]
    assert all(file.size > 0 for file in list_stores())
    assert clear_stores(["one"]) > 0
    assert [file.name for file in list_stores()] == ["two"]
    (store_dir() / "two.sqlite").write_bytes(b"junk" * 2000)
    (store_dir() / "two.damaged").write_bytes(b"junk")
    assert [(file.name, file.readings) for file in list_stores()] == [("two.damaged", None), ("two", None)]
    assert clear_stores() > 0
    assert list_stores() == []
    assert clear_stores() == 0


def test_what_cannot_be_deleted_is_named_and_the_rest_deleted() -> None:
    small_store()
    (store_dir() / "folder" / "mine").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"cannot delete folder \("):
        clear_stores()
    assert list_stores() == []


# ------------------------------------------------------------- files that are no store, or cannot be one


def store_again(path: Path) -> tuple[int, list[str]]:
    """Readings kept after a save in a store, and the warnings."""
    new = {bytes([number]): StoredReadings.of({(1, 2): (-0.5, 0)}) for number in range(5)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store = Store(path)
        store.save(new)
        store.close()
        store = Store(path)
        kept = store.fetch(list(new))
        store.close()
    assert all(stored == new[key] for key, stored in kept.items())
    return len(kept), [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE readings; CREATE TABLE readings (key BLOB PRIMARY KEY, sum INTEGER) WITHOUT ROWID",
        "DROP TABLE readings; CREATE TABLE thesis (chapter TEXT)",
        "CREATE TABLE more (x)",
        "ALTER TABLE readings RENAME COLUMN sum TO total",
        "PRAGMA user_version = -3; CREATE TABLE more (x)",
    ],
)
def test_a_file_of_other_tables_is_moved_aside(statement: str) -> None:
    path = small_store()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(statement)
    kept, messages = store_again(path)
    assert kept == 5
    assert len(messages) == 1
    assert "its tables are not those of a store" in messages[0]
    with closing(sqlite3.connect(path.with_suffix(".damaged"))) as connection:  # nothing of it is lost
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] >= 1


def test_a_store_of_a_newer_version_is_left_alone() -> None:
    path = small_store()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("DROP TABLE readings; CREATE TABLE better (x); PRAGMA user_version = 2")
    before = path.read_bytes()
    kept, messages = store_again(path)
    assert kept == 0
    assert len(messages) == 2  # one for each opening
    assert "version 2, this unmask uses version 1" in messages[0]
    assert path.read_bytes() == before


def test_a_damaged_name_in_the_schema_is_no_crash() -> None:
    path = small_store()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE readings (key", b"CREATE TABLE \xff\xfe ((((,y"))
    kept, messages = store_again(path)
    assert (kept, len(messages)) == (5, 1)


def test_numbers_that_no_model_gives_are_computed_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "one.sqlite")
    good, inf = StoredReadings.of({(1, 2): (-0.5, 0)}), float("inf")
    bad = [{(1, 2): (float("nan"), 0)}, {(1, 2): (-inf, 0)}, {(-1, 2): (-0.5, 0)}, {(1, -2): (-0.5, 0)}]
    bad += [{(1, 2): (-0.5, -1)}]
    rows = {bytes([number]): StoredReadings.of(answers) for number, answers in enumerate(bad)}
    rows[b"a"] = StoredReadings.of({(1, 2): (-0.5, 0)}, np.array([0.5, np.nan]))
    store.save({**rows, b"g": good})
    with pytest.warns(StoreWarning, match="damaged readings"):
        assert store.fetch([*rows, b"g"]) == {b"g": good}
    store.close()


def make_folder(path: Path) -> None:
    path.mkdir(parents=True)


def make_loop(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.symlink_to(path.name)


def make_file_for_the_folder(path: Path) -> None:
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.write_text("a file")


@pytest.mark.parametrize("obstacle", [make_folder, make_loop, make_file_for_the_folder])
def test_what_cannot_be_opened_is_one_line_and_no_store(obstacle: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "store" / "one.sqlite"
    obstacle(path)
    kept, messages = store_again(path)
    assert kept == 0
    assert len(messages) == 2  # one for each opening
    assert all("continuing without a store" in message for message in messages)


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "one.sqlite"
    path.touch()
    assert store_again(path) == (5, [])


def test_a_damaged_log_loses_no_more_than_what_was_in_it(tmp_path: Path) -> None:
    path = small_store()
    Path(f"{path}-wal").write_bytes(b"\x37\x7f\x06\x82" + b"junk" * 3000)
    assert store_again(path) == (5, [])


def test_a_store_locked_for_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unmask.models.store.WAIT", 0.1)
    path = small_store()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        store = Store(path)
        with pytest.warns(StoreWarning, match=r"\(database is locked\); continuing without a store"):
            store.save({b"new": StoredReadings.of({(1, 2): (-0.5, 0)})})
        assert store.fetch([b"\x00"]) == {}
    assert len(Store(path).fetch([b"\x00", b"new"])) == 1


def save_until_full(path: Path, answer: Any) -> None:
    """Save until the disk, which has room for 200 kB, is full; say how many saves went without a warning."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    store = Store(path)
    warnings.simplefilter("error")
    kept = 0
    try:
        for number in range(1000):
            store.save({b"%d" % number: StoredReadings.of({(1, 2): (-0.5, 0)}, np.ones(500))})
            kept += 1
    except StoreWarning as warning:
        answer.put((kept, str(warning)))


@forking
def test_a_full_disk_keeps_what_was_stored_and_says_that_no_more_is(tmp_path: Path) -> None:
    path, answer = tmp_path / "one.sqlite", FORK.SimpleQueue()
    process = FORK.Process(target=save_until_full, args=(path, answer))
    process.start()
    kept, message = answer.get()
    process.join()
    assert "continuing without a store" in message
    assert 0 < kept < 1000
    store = Store(path)
    assert len(store.fetch([b"%d" % number for number in range(1000)])) == kept
    store.close()


def test_readings_of_a_store_that_failed_are_not_said_to_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupted run would say that all its readings are in the store."""
    monkeypatch.setattr(signals, "_line", {"kept": "", "again": ""})
    signals.keep(signals.READINGS)
    (tmp_path / "one.sqlite").mkdir()
    with pytest.warns(StoreWarning, match="continuing without a store"):
        Store(tmp_path / "one.sqlite")
    assert signals._line["kept"] == signals.LOST


def test_a_store_replaced_by_another_process_is_opened_again() -> None:
    """A save into the file that another process has moved aside would be lost."""
    path = small_store()
    store = Store(path)
    path.replace(path.with_suffix(".damaged"))
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    new = {b"new": StoredReadings.of({(1, 2): (-0.5, 0)})}
    store.save(new)
    assert Store(path).fetch([b"new"]) == new
    store.close()


def save_fifty(path: Path, name: str, barrier: Any, answer: Any) -> None:
    """Open a store at the same time as others and save fifty readings in it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        barrier.wait()
        store = Store(path)
        for number in range(50):
            store.save({f"{name}/{number}".encode(): StoredReadings.of({(1, 2): (-0.5, 0)})})
        store.close()
    answer.put([str(warning.message) for warning in caught])


@forking
def test_processes_that_rebuild_a_damaged_store_at_once_lose_nothing() -> None:
    for _ in range(5):
        path = small_store()
        path.write_bytes(b"junk" * 3000)
        barrier, answer = FORK.Barrier(4), FORK.SimpleQueue()
        running = [FORK.Process(target=save_fifty, args=(path, str(name), barrier, answer)) for name in range(4)]
        for process in running:
            process.start()
        messages = [message for _ in running for message in answer.get()]
        for process in running:
            process.join()
        assert len(messages) == 1, messages  # of the process that moved it aside
        store = Store(path)
        assert len(store.fetch([f"{name}/{number}".encode() for name in range(4) for number in range(50)])) == 200
        store.close()
        clear_stores()


def test_readings_stored_first_win(tmp_path: Path) -> None:
    store = Store(tmp_path / "one.sqlite")
    store.save({b"k": StoredReadings.of({(1, 2): (-0.5, 0)})})
    store.save({b"k": StoredReadings.of({(1, 2): (-0.75, 1), (3, 4): (-1.5, 2)})})
    assert store.fetch([b"k"])[b"k"].answers == {(1, 2): (-0.5, 0), (3, 4): (-1.5, 2)}
    store.close()


_AUDIT = """
import sys, unmask
model, data, out = sys.argv[1:]
unmask.audit(model, data=data, measures=["pll", "aula"], out=out, options=unmask.Options(tokens=64))
"""


@pytest.mark.slow
def test_two_processes_share_a_store(tmp_path: Path) -> None:
    lines = [f'"{pair.more}","{pair.less}"' for pair in zoo.crows_pairs()[:12] if '"' not in pair.more + pair.less]
    (tmp_path / "own.csv").write_text("\n".join(["more,less", *lines]), encoding="utf-8")
    words = [sys.executable, "-c", _AUDIT, str(zoo.folder("bert-uncased")), str(tmp_path / "own.csv")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    running = [
        subprocess.Popen([*words, str(tmp_path / name)], env=environment, stderr=subprocess.PIPE, text=True)
        for name in ("a", "b")
    ]
    for process in running:
        _, stderr = process.communicate(timeout=120)
        assert process.returncode == 0, stderr
        assert "damaged" not in stderr
    first, second = (unmask.load(tmp_path / name) for name in ("a", "b"))
    assert first.items.equals(second.items)
    assert len(list_stores()) == 1
