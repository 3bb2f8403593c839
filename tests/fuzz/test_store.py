"""Stores of readings damaged in their bytes and in their rows: a reading is the true one or missing."""

from __future__ import annotations

import functools
import json
import random
import shutil
import sqlite3
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fuzz.harness import BUDGET, Boundary, fuzz

from unmask.models.store import Store, StoredReadings, StoreWarning

NAME = "readings.sqlite"
COLUMNS = ("key", "sum", "reads", "received")


@functools.cache
def true_readings() -> dict[bytes, StoredReadings]:
    """The readings of forty inputs, half of them with attention."""
    chance = random.Random(3)

    def store_reading(number: int) -> StoredReadings:
        reads = {(n, chance.randrange(900)): (-chance.randrange(1, 64) / 8, chance.randrange(900)) for n in range(9)}
        return StoredReadings.of(reads, np.arange(1, 9) / 64.0 if number % 2 else None)

    return {chance.randbytes(16): store_reading(number) for number in range(40)}


@functools.cache
def files() -> dict[str, bytes]:
    """A store of half the readings, with the other half in its write-ahead log."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / NAME)
        pairs = list(true_readings().items())
        store.save(dict(pairs[:20]))
        store.close()  # moves the log into the file
        store.save(dict(pairs[20:]))
        content = {path.name: path.read_bytes() for path in Path(folder).glob(f"{NAME}*") if path.stat().st_size}
        store.close()
    return {name: content[name] for name in (NAME, f"{NAME}-wal")}


def check_store(path: Path) -> None:
    """Fetch, save and fetch again: no wrong reading, at most two warnings, and what was saved is there."""
    truth = true_readings()
    first = use_store(path, truth, save=True)
    again = use_store(path, truth, save=False)
    messages = [*first[1], *again[1]]
    if not any("cannot be stored" in message for message in messages) and "moved to" not in "".join(again[1]):
        assert again[0] == len(truth), "a saved reading is lost in silence"
    assert len(first[1]) <= 2, first[1]
    assert len(again[1]) <= 1, again[1]


def use_store(path: Path, truth: dict[bytes, StoredReadings], *, save: bool) -> tuple[int, list[str]]:
    """Open a store and read all; the number of readings there, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store = Store(path)
        fetched = store.fetch(list(truth))
        if save:
            store.save(truth)
        store.close()
    compare_readings(fetched, truth)
    assert all(issubclass(warning.category, StoreWarning) for warning in caught), caught
    return len(fetched), [str(warning.message) for warning in caught]


def compare_readings(fetched: dict[bytes, StoredReadings], truth: dict[bytes, StoredReadings]) -> None:
    """Nothing but what was saved."""
    for key, store_reading in fetched.items():
        assert store_reading.answers.items() <= truth[key].answers.items(), "a wrong reading"
        received = truth[key].attention_received
        if store_reading.attention_received is not None:
            assert received is not None
            assert store_reading.attention_received.tolist() == received.tolist(), "wrong attention"


def check_other_name(folder: Path) -> None:
    """Give the store the name of another model's: it holds no reading of that model."""
    for part in list(folder.glob(f"{NAME}*")):
        part.rename(folder / f"other-{part.name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)
        store = Store(folder / f"other-{NAME}")
        fetched = store.fetch(list(true_readings()))
        store.close()
    assert not fetched, "a reading of another model"


def check_rows(folder: Path) -> None:
    """Damage rows as `damage.json` says, where it says something, and read the store."""
    for name, content in files().items():
        (folder / name).write_bytes(content)
    try:
        damages = json.loads((folder / "damage.json").read_bytes())
    except (ValueError, RecursionError):
        damages = []
    connection = sqlite3.connect(folder / NAME, isolation_level=None)
    keys = sorted(true_readings())
    for damage in damages if isinstance(damages, list) else []:
        if isinstance(damage, dict):
            try:
                damage_row(connection, keys, **damage)
            except (sqlite3.Error, TypeError, ValueError, OverflowError):  # not one that can be done
                continue
    connection.close()
    check_store(folder / NAME)


def damage_row(connection: sqlite3.Connection, keys: list[bytes], *, row: int, how: str, column: str, to: Any) -> None:
    """One damage to a row or to the tables."""
    key, column = keys[row % len(keys)], column if column in COLUMNS else COLUMNS[len(column) % 4]
    other = keys[(row + 1 + len(str(to))) % len(keys)]
    if how == "set":
        connection.execute(f"UPDATE readings SET {column} = ? WHERE key = ?", (to, key))
    elif how == "bytes":
        connection.execute(f"UPDATE readings SET {column} = ? WHERE key = ?", (str(to).encode(), key))
    elif how == "text":
        connection.execute(f"UPDATE readings SET {column} = CAST({column} AS TEXT) WHERE key = ?", (key,))
    elif how == "cut":
        connection.execute(f"UPDATE readings SET {column} = substr({column}, ?) WHERE key = ?", (int(to), key))
    elif how == "copy":  # everything of another row, its checksum too
        values = connection.execute("SELECT sum, reads, received FROM readings WHERE key = ?", (other,)).fetchone()
        connection.execute("UPDATE readings SET sum = ?, reads = ?, received = ? WHERE key = ?", (*values, key))
    elif how == "delete":
        connection.execute("DELETE FROM readings WHERE key = ?", (key,))
    else:
        connection.execute(
            {
                "version": f"PRAGMA user_version = {int(to)}",
                "rename": f"ALTER TABLE readings RENAME {column} TO other",
                "add": "ALTER TABLE readings ADD COLUMN other",
                "drop": "DROP TABLE readings",
                "table": "CREATE TABLE other (x)",
            }.get(how, "SELECT 1")
        )


def row_damages() -> list[dict[str, bytes]]:
    """One example for every kind of damage."""
    kinds = ("set", "bytes", "text", "cut", "copy", "delete", "version", "rename", "add", "drop", "table")
    return [
        {"damage.json": json.dumps([{"row": 3, "how": how, "column": column, "to": to}] * 2).encode()}
        for how in kinds
        for column, to in (("reads", None), ("received", 17), ("sum", "x"), ("key", 2))
    ]


BOUNDARIES = [
    Boundary("store: bytes", lambda: [files()], lambda folder: check_store(folder / NAME), share=3),
    Boundary("store: rows", row_damages, check_rows, share=3),
    Boundary("store: other name", lambda: [files()], check_other_name, share=3),
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_stores_give_true_readings_or_none(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)


def test_a_whole_store_is_read_whole(tmp_path: Path) -> None:
    for name, content in files().items():
        (tmp_path / name).write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Store(tmp_path / NAME).fetch(list(true_readings())).keys() == true_readings().keys()
    shutil.rmtree(tmp_path)
