"""The store: nothing is computed twice, and damaged readings are never used."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import unmask
import zoo
from unmask import data as datasets
from unmask.core.types import Dataset
from unmask.models import Engine, Store
from unmask.models.store import StoredReadings, StoreWarning, clear_stores, list_stores, store_dir


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


@pytest.mark.parametrize("damage", ["flipped", "shorter", "empty"])
def test_a_damaged_row_is_computed_again(damage: str, rows: Callable[[], int]) -> None:
    first = audit_items()
    rows()
    with sqlite3.connect(store_path()) as connection:
        key, reads = connection.execute("SELECT key, reads FROM readings ORDER BY key LIMIT 1").fetchone()
        broken = {"flipped": bytes([reads[0] ^ 1]) + reads[1:], "shorter": reads[:-3], "empty": b""}[damage]
        connection.execute("UPDATE readings SET reads = ? WHERE key = ?", (broken, key))
    connection.close()
    with pytest.warns(StoreWarning, match="1 damaged reading"):
        again = audit_items()
    assert again == first
    assert 0 < rows() < 40  # one sentence
    assert audit_items() == first
    assert rows() == 0


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


def test_stores_are_listed_and_cleared() -> None:
    assert list_stores() == []
    for name in ("one", "two"):
        store = Store.of(name)
        store.save({bytes([number]): StoredReadings({(1, 2): (-0.5, 0)}) for number in range(3)})
        store.close()
    assert [(name, count) for name, _, count in list_stores()] == [("one", 3), ("two", 3)]
    assert all(size > 0 for _, size, _ in list_stores())
    assert clear_stores(["one"]) > 0
    assert [name for name, _, _ in list_stores()] == ["two"]
    (store_dir() / "two.sqlite").write_bytes(b"junk" * 2000)
    assert [count for _, _, count in list_stores()] == [-1]
    assert clear_stores() > 0
    assert list_stores() == []
    assert clear_stores() == 0


def test_readings_stored_first_win(tmp_path: Path) -> None:
    store = Store(tmp_path / "one.sqlite")
    store.save({b"k": StoredReadings({(1, 2): (-0.5, 0)})})
    store.save({b"k": StoredReadings({(1, 2): (-0.75, 1), (3, 4): (-1.5, 2)})})
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
