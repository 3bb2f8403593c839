"""Readings on disk, so that nothing is computed twice: one SQLite file for each model namespace.

A batch is written in one transaction, so a killed process loses at most the batch in flight, and two
processes may share a store. Every row carries a checksum: a damaged row is asked again, a damaged file is
put aside and begun anew; both are said, neither is trusted.
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

from unmask.core.paths import cache_dir
from unmask.core.types import Floats

Answers = dict[tuple[int, int], tuple[float, int]]  # (position, token) → (log-probability, rank)
_READ = np.dtype([("position", "<i4"), ("token", "<i4"), ("logprob", "<f4"), ("rank", "<i4")])
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS readings "
    "(key BLOB PRIMARY KEY, sum INTEGER, reads BLOB, received BLOB) WITHOUT ROWID"
)


@dataclass(slots=True)
class StoredReadings:
    """What is known of one question so far."""

    answers: Answers = field(default_factory=dict)
    received: Floats | None = None

    def merge(self, other: StoredReadings) -> None:
        """Add what the other knows; what was known first stays, so that repeated runs agree exactly."""
        self.answers = {**other.answers, **self.answers}
        if self.received is None:
            self.received = other.received


class StoreWarning(UserWarning):
    """A store was damaged; what could not be trusted is computed again."""


def store_dir() -> Path:
    """The folder of all stores."""
    return cache_dir() / "store"


class Store:
    """The readings of one model. `Store(None)` keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                self._open()
            except OSError as error:
                self._without(error)

    @classmethod
    def of(cls, namespace: str) -> Store:
        """The store of a model namespace in the user's cache."""
        return cls(store_dir() / f"{namespace}.sqlite")

    def fetch(self, keys: Sequence[bytes]) -> dict[bytes, StoredReadings]:
        """What is known of these questions; damaged rows are left out and said."""
        if self._connection is None or not keys:
            return {}
        found: dict[bytes, StoredReadings] = {}
        with self._rebuilding():
            damaged = self._fetch_into(found, keys)
            if damaged:
                warnings.warn(
                    f"{len(damaged)} damaged readings in {self.path} are asked again",
                    StoreWarning,
                    stacklevel=2,
                )
                with self._connection:
                    self._connection.executemany(
                        "DELETE FROM readings WHERE key = ?", [(k,) for k in damaged]
                    )
        return found

    def save(self, new: Mapping[bytes, StoredReadings]) -> None:
        """Add the answers of one batch, in one transaction."""
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
                rows = [_packed(key, known.get(key, stored)) for key, stored in new.items()]
                self._connection.executemany("INSERT OR REPLACE INTO readings VALUES (?, ?, ?, ?)", rows)

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _without(self, error: Exception) -> None:
        """Go on without remembering."""
        self.close()
        warnings.warn(
            f"readings cannot be kept in {self.path} ({error}); going on without", StoreWarning, stacklevel=3
        )

    def _fetch_into(self, found: dict[bytes, StoredReadings], keys: Sequence[bytes]) -> list[bytes]:
        assert self._connection is not None
        damaged = []
        for begin in range(0, len(keys), 500):
            some = keys[begin : begin + 500]
            marks = ",".join("?" * len(some))
            query = f"SELECT key, sum, reads, received FROM readings WHERE key IN ({marks})"
            for key, checksum, reads, received in self._connection.execute(query, some):
                if _checksum(key, reads, received) == checksum:
                    found[key] = _unpacked(reads, received)
                else:
                    damaged.append(key)
        return damaged

    def _open(self) -> None:
        with self._rebuilding():
            self._connect()

    def _connect(self) -> None:
        assert self.path is not None
        self._connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(_SCHEMA)

    @contextmanager
    def _rebuilding(self) -> Iterator[None]:
        """Put a damaged file aside and begin anew; the caller's readings of it count as unknown."""
        try:
            yield
        except sqlite3.OperationalError as error:  # no room, no permission, held by another for too long
            self._without(error)
        except sqlite3.DatabaseError as error:
            assert self.path is not None
            self.close()
            aside = self.path.with_suffix(".damaged")
            with suppress(FileNotFoundError):  # another process may have put it aside already
                self.path.replace(aside)
            for tail in ("-wal", "-shm"):
                Path(f"{self.path}{tail}").unlink(missing_ok=True)
            warnings.warn(
                f"the store {self.path} is damaged ({error}); it was moved to {aside.name} and begun anew",
                StoreWarning,
                stacklevel=3,
            )
            self._connect()


def list_stores() -> list[tuple[str, int, int]]:
    """All stores of this user: name, bytes, readings kept."""
    listed = []
    for path in sorted(store_dir().glob("*.sqlite")):
        size = sum(
            Path(f"{path}{tail}").stat().st_size for tail in ("", "-wal") if Path(f"{path}{tail}").exists()
        )
        listed.append((path.stem, size, _count(path)))
    return listed


def clear_stores(names: Iterable[str] | None = None) -> int:
    """Delete the named stores, or all, with what was put aside; gives the bytes freed."""
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


def _packed(key: bytes, stored: StoredReadings) -> tuple[Any, ...]:
    rows = [(*read, *answer) for read, answer in stored.answers.items()]
    reads = np.array(rows, dtype=_READ).tobytes()
    received = None if stored.received is None else stored.received.astype("<f4").tobytes()
    return key, _checksum(key, reads, received), reads, received


def _unpacked(reads: bytes, received: bytes | None) -> StoredReadings:
    answers = {(p, t): (logprob, rank) for p, t, logprob, rank in np.frombuffer(reads, dtype=_READ).tolist()}
    weights = None if received is None else np.frombuffer(received, dtype="<f4").astype(np.float64)
    return StoredReadings(answers, weights)


def _checksum(key: bytes, reads: bytes, received: bytes | None) -> int:
    return zlib.crc32(key + reads + (received or b""))
