"""Readings cached on disk so that nothing is computed twice: one SQLite file for each model namespace.

A batch is written in one transaction, so a killed process loses at most the batch in flight, and several
processes may share a store. Every row carries a checksum: a damaged row is computed again, a damaged file is
moved aside and a new one started; both cases issue a `StoreWarning`.
"""

from __future__ import annotations

import sqlite3
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unmask.core.files import cache_dir
from unmask.core.types import Floats

Answers = dict[tuple[int, int], tuple[float, int]]  # (position, token) → (log-probability, rank)
_READ = np.dtype([("position", "<i4"), ("token", "<i4"), ("logprob", "<f4"), ("rank", "<i4")])
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS readings (key BLOB PRIMARY KEY, sum INTEGER, reads BLOB, received BLOB) WITHOUT ROWID"
)


@dataclass(slots=True)
class StoredReadings:
    """The readings of one model input stored so far."""

    answers: Answers = field(default_factory=dict)
    attention_received: Floats | None = None

    def merge(self, other: StoredReadings) -> None:
        """Add the readings of `other`; existing ones win, so that repeated runs agree exactly."""
        self.answers = {**other.answers, **self.answers}
        if self.attention_received is None:
            self.attention_received = other.attention_received


class StoreWarning(UserWarning):
    """A store is damaged or cannot be written; its readings are computed again."""


def store_dir() -> Path:
    """The folder of all stores."""
    return cache_dir() / "store"


class Store:
    """The readings of one model; `Store(None)` stores nothing."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with self._rebuilding():
                    self._connect()
            except OSError as error:
                self._disable(error)

    @classmethod
    def of(cls, namespace: str) -> Store:
        """The store of a model namespace in the user's cache."""
        return cls(store_dir() / f"{namespace}.sqlite")

    def fetch(self, keys: Sequence[bytes]) -> dict[bytes, StoredReadings]:
        """The stored readings of these inputs; damaged rows are dropped with a warning."""
        if self._connection is None or not keys:
            return {}
        readings: dict[bytes, StoredReadings] = {}
        with self._rebuilding():
            damaged = self._fetch_into(readings, keys)
            if damaged:
                _warn(f"{len(damaged)} damaged readings in {self.path} are computed again")
                with self._connection:
                    self._connection.executemany("DELETE FROM readings WHERE key = ?", [(key,) for key in damaged])
        return readings

    def save(self, new: Mapping[bytes, StoredReadings]) -> None:
        """Add the readings of one batch, in one transaction."""
        if self._connection is None or not new:
            return
        with self._rebuilding():
            self._connection.execute("BEGIN IMMEDIATE")
            with self._connection:
                known: dict[bytes, StoredReadings] = {}
                self._fetch_into(known, list(new))
                for key, stored in new.items():
                    if key in known:
                        known[key].merge(stored)
                rows = [_pack(key, known.get(key, stored)) for key, stored in new.items()]
                self._connection.executemany("INSERT OR REPLACE INTO readings VALUES (?, ?, ?, ?)", rows)

    def close(self) -> None:
        """Close the connection to the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _disable(self, error: Exception) -> None:
        """Continue without a store."""
        self.close()
        _warn(f"readings cannot be stored in {self.path} ({error}); continuing without a store")

    def _fetch_into(self, readings: dict[bytes, StoredReadings], keys: Sequence[bytes]) -> list[bytes]:
        assert self._connection is not None
        damaged = []
        for begin in range(0, len(keys), 500):
            chunk = keys[begin : begin + 500]
            query = f"SELECT key, sum, reads, received FROM readings WHERE key IN ({','.join('?' * len(chunk))})"
            for key, checksum, reads, received in self._connection.execute(query, chunk):
                if _checksum(key, reads, received) == checksum:
                    readings[key] = _unpack(reads, received)
                else:
                    damaged.append(key)
        return damaged

    def _connect(self) -> None:
        assert self.path is not None
        self._connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(_SCHEMA)

    @contextmanager
    def _rebuilding(self) -> Iterator[None]:
        """Move a damaged file aside and start a new one; the caller treats its readings as missing."""
        try:
            yield
        except sqlite3.OperationalError as error:  # disk full, no permission, locked for too long
            self._disable(error)
        except sqlite3.DatabaseError as error:
            assert self.path is not None
            self.close()
            aside = self.path.with_suffix(".damaged")
            with suppress(FileNotFoundError):  # another process may have moved it already
                self.path.replace(aside)
            for suffix in ("-wal", "-shm"):
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
            _warn(f"the store {self.path} is damaged ({error}): moved to {aside.name}, a new one started")
            self._connect()


def list_stores() -> list[tuple[str, int, int]]:
    """All stores of this user: name, size in bytes, number of readings."""
    rows = []
    for path in sorted(store_dir().glob("*.sqlite")):
        size = sum(part.stat().st_size for part in (path, Path(f"{path}-wal")) if part.exists())
        rows.append((path.stem, size, _count(path)))
    return rows


def clear_stores(names: Iterable[str] | None = None) -> int:
    """Delete the named stores, or all, damaged files included; returns the bytes freed."""
    wanted = None if names is None else set(names)
    freed = 0
    for path in sorted(store_dir().glob("*")):
        if wanted is None or path.name.split(".")[0] in wanted:
            freed += path.stat().st_size
            path.unlink()
    return freed


def _count(path: Path) -> int:
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return int(connection.execute("SELECT count(*) FROM readings").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.DatabaseError:
        return -1


def _pack(key: bytes, stored: StoredReadings) -> tuple[Any, ...]:
    reads = np.array([(*read, *answer) for read, answer in stored.answers.items()], dtype=_READ).tobytes()
    weights = stored.attention_received
    received = None if weights is None else weights.astype("<f4").tobytes()
    return key, _checksum(key, reads, received), reads, received


def _unpack(reads: bytes, received: bytes | None) -> StoredReadings:
    answers = {(p, t): (logprob, rank) for p, t, logprob, rank in np.frombuffer(reads, dtype=_READ).tolist()}
    weights = None if received is None else np.frombuffer(received, dtype="<f4").astype(np.float64)
    return StoredReadings(answers, weights)


def _checksum(key: bytes, reads: bytes, received: bytes | None) -> int:
    return zlib.crc32(key + reads + (received or b""))


def _warn(message: str) -> None:
    warnings.warn(message, StoreWarning, stacklevel=4)
