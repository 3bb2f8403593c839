"""Readings cached on disk so that nothing is computed twice: one SQLite file for each model namespace.

A batch is written in one transaction, so a killed process loses at most the batch in flight, and several
processes may share a store. Every row carries a checksum that begins with the namespace: a damaged row, or one of
another model, is computed again, a damaged file is moved aside and a new one started, a file of a newer version is
left alone; each with a `StoreWarning`.
Files are opened, moved aside and deleted under a lock (`NAME.sqlite-lock`); a process whose file another one
has replaced opens the new one before it saves.
"""

from __future__ import annotations

import os
import sqlite3
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from unmask.core.errors import OutputError, one_line
from unmask.core.files import cache_dir, write_text
from unmask.core.signals import lose_readings
from unmask.core.types import Floats

READ = np.dtype([("position", "<i4"), ("token", "<i4"), ("logprob", "<f4"), ("rank", "<i4")])
_SCHEMA = "CREATE TABLE readings (key BLOB PRIMARY KEY, sum INTEGER, reads BLOB, received BLOB) WITHOUT ROWID"
VERSION = 1  # `PRAGMA user_version`
WAIT = 60.0  # seconds to wait for another process
LOCK, DAMAGED, NAME = "-lock", ".damaged", ".model"
MAX_NAME = 200  # characters
_SYSTEM = {  # errors of the system, not of the file
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN),
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_NOMEM),
    *(sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS),
}


@dataclass(slots=True)
class StoredReadings:
    """The readings of one model input stored so far."""

    reads: NDArray[np.void]  # of type `READ`
    attention_received: Floats | None = None

    @classmethod
    def of(cls, answers: Mapping[tuple[int, int], tuple[float, int]], received: Floats | None = None) -> StoredReadings:
        """Readings from a mapping of (position, token) to (log-probability, rank)."""
        return cls(np.array([(*read, *answer) for read, answer in answers.items()], dtype=READ), received)

    @property
    def answers(self) -> dict[tuple[int, int], tuple[float, int]]:
        """(position, token) → (log-probability, rank)."""
        return {(position, token): (logprob, rank) for position, token, logprob, rank in self.reads.tolist()}

    def merge(self, other: StoredReadings) -> None:
        """Add the readings of `other`; existing ones win, so that repeated runs agree exactly."""
        known = self.answers
        self.reads = np.concatenate([self.reads, other.reads[[read not in known for read in other.answers]]])
        if self.attention_received is None:
            self.attention_received = other.attention_received


class StoreWarning(UserWarning):
    """A store is damaged or cannot be used; its readings are computed again."""


def store_dir() -> Path:
    """The folder of all stores."""
    return cache_dir() / "store"


class Store:
    """The readings of one model; `Store(None)` stores nothing."""

    def __init__(self, path: Path | None, namespace: str | None = None) -> None:
        """`namespace`: of the model; None: the name of the file."""
        self.path = path
        if namespace is None and path is not None:
            namespace = path.stem
        self._salt = zlib.crc32((namespace or "").encode())  # of all checksums
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # the file that the connection is to
        self.is_open = path is not None  # whether readings are stored
        self._warned = False  # of damaged rows
        self._attempt(lambda _: None)

    @classmethod
    def of(cls, namespace: str, model: str = "") -> Store:
        """The store of a model namespace in the user's cache; `model`: its name, for `unmask store`."""
        path = store_dir() / f"{namespace}.sqlite"
        store = cls(path, namespace)
        if model and store.is_open and not path.with_suffix(NAME).exists():
            with suppress(OSError, OutputError):  # the name is for people: a store works without it
                write_text(path.with_suffix(NAME), f"{model}\n")
        return store

    def fetch(self, keys: Sequence[bytes]) -> dict[bytes, StoredReadings]:
        """The stored readings of these inputs; damaged rows count as missing, with a warning."""
        readings: dict[bytes, StoredReadings] = {}
        if keys:
            self._attempt(lambda connection: self._fetch_into(readings, keys, connection))
        return readings

    def save(self, new: Mapping[bytes, StoredReadings]) -> None:
        """Add the readings of one batch, in one transaction."""

        def insert(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                known: dict[bytes, StoredReadings] = {}
                self._fetch_into(known, list(new), connection)
                for key, stored in new.items():
                    if key in known:
                        known[key].merge(stored)
                rows = [self._pack(key, known.get(key, stored)) for key, stored in new.items()]
                connection.executemany("INSERT OR REPLACE INTO readings VALUES (?, ?, ?, ?)", rows)
                if sum(map(len, _select(connection, "key", list(new)))) < len(new):
                    raise sqlite3.DatabaseError("what is stored cannot be found again")

        if new:
            self._attempt(insert)

    def close(self) -> None:
        """Close the connection to the file; the next call opens it again."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _attempt(self, operation: Callable[[sqlite3.Connection], None]) -> None:
        """Run an operation; a damaged file is moved aside and the operation repeated once, on a new file."""
        for again in (True, False):
            if not self.is_open:
                return
            try:
                operation(self._current())
                return
            except sqlite3.ProgrammingError:  # a mistake of this program, such as a connection of another thread
                raise
            except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite quotes damaged names as they are
                self.close()
                if again and self._is_damage(error):
                    self._move_aside(error)
                else:
                    self._disable(error)
            except OSError as error:
                self._disable(error)

    def _current(self) -> sqlite3.Connection:
        """The connection to the file that has the store's name now."""
        assert self.path is not None
        if self._connection is None or self._file != _identity(self.path):
            self.close()
            self._connection = self._connect(self.path)
        return self._connection

    def _connect(self, path: Path) -> sqlite3.Connection:
        """Open the file, which is created where necessary."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{path}{LOCK}", timeout=WAIT):
            self._file = _identity(path)
            connection = sqlite3.connect(path, timeout=WAIT, isolation_level=None)
            try:
                connection.text_factory = bytes  # text is a damage, decoding it would be another
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if version > VERSION:
                    raise OSError(f"it is of version {version}, this unmask uses version {VERSION}: update unmask")
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                schema = connection.execute("SELECT sql FROM sqlite_master").fetchall()
                if schema and (schema, version) != ([(_SCHEMA.encode(),)], VERSION):
                    raise sqlite3.DatabaseError("its tables are not those of a store")
                if not schema:
                    with connection:
                        connection.execute("BEGIN IMMEDIATE")
                        connection.execute(_SCHEMA)
                        connection.execute(f"PRAGMA user_version={VERSION}")
            except BaseException:
                connection.close()
                raise
            self._file = _identity(path)
        return connection

    def _is_damage(self, error: Exception) -> bool:
        """Whether the file is damaged; otherwise the system refuses to read or write it."""
        assert self.path is not None
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        if code == sqlite3.SQLITE_READONLY:  # SQLite says so of a damaged header too
            return os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        return code & 0xFF not in _SYSTEM

    def _move_aside(self, error: Exception) -> None:
        """Rename a damaged file, unless another process has replaced it already."""
        assert self.path is not None
        aside = self.path.with_suffix(DAMAGED)
        try:
            with FileLock(f"{self.path}{LOCK}", timeout=WAIT):
                if self._file != _identity(self.path):
                    return
                for suffix in ("-wal", "-shm"):  # first, for a new file must not find them
                    Path(f"{self.path}{suffix}").unlink(missing_ok=True)
                self.path.replace(aside)
        except OSError as refused:
            self._disable(refused)
            return
        _warn(f"the store {self.path} is damaged ({error}): moved to {aside.name}, a new one started")

    def _disable(self, error: Exception) -> None:
        """Continue without a store."""
        self.close()
        self.is_open = False
        lose_readings()
        _warn(f"readings cannot be stored in {self.path} ({error}); continuing without a store")

    def _fetch_into(
        self, readings: dict[bytes, StoredReadings], keys: Sequence[bytes], connection: sqlite3.Connection
    ) -> None:
        for fetched in _select(connection, "key, sum, reads, received", keys):
            rows = [row for row in fetched if self._is_intact(*row)]
            if not _is_plausible(rows):
                rows = [row for row in rows if _is_plausible([row])]
            readings.update((key, _unpack(reads, received)) for key, _, reads, received in rows)
            if len(rows) < len(fetched) and not self._warned:  # damaged rows are replaced when they are saved again
                self._warned = True
                _warn(f"damaged readings, or those of another model, in {self.path} are computed again")

    def _pack(self, key: bytes, stored: StoredReadings) -> tuple[Any, ...]:
        reads = stored.reads.tobytes()
        weights = stored.attention_received
        received = None if weights is None else weights.astype("<f4").tobytes()
        return key, self._checksum(key, reads, received), reads, received

    def _is_intact(self, key: bytes, checksum: Any, reads: Any, received: Any) -> bool:
        """Whether a row is as it was written, for this model."""
        return (
            isinstance(reads, bytes)
            and isinstance(received, bytes | None)
            and self._checksum(key, reads, received) == checksum
            and len(reads) % READ.itemsize == 0
            and len(received or b"") % 4 == 0
        )

    def _checksum(self, key: bytes, reads: bytes, received: bytes | None) -> int:
        return zlib.crc32(key + reads + (received or b""), self._salt)


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A file of the folder of stores."""

    name: str
    size: int  # bytes
    readings: int | None  # None: it cannot be read
    model: str = ""  # that it is of; empty if unknown


def list_stores() -> list[StoreFile]:
    """All stores of this user, those that were moved aside too."""
    files = []
    for path in sorted(store_dir().glob("*")):
        if path.suffix in (".sqlite", DAMAGED):
            size = sum(part.stat().st_size for part in (path, Path(f"{path}-wal")) if part.is_file())
            name = path.stem if path.suffix == ".sqlite" else path.name
            readings = _count(path) if path.suffix == ".sqlite" else None
            files.append(StoreFile(name, size, readings, _model_name(path.with_suffix(NAME))))
    return files


def _model_name(path: Path) -> str:
    try:
        return one_line(path.read_text(encoding="utf-8", errors="replace")[:MAX_NAME])
    except OSError:
        return ""


def clear_stores(names: Iterable[str] | None = None) -> int:
    """Delete the named stores, or all, damaged files included; returns the bytes freed."""
    wanted = None if names is None else set(names)
    freed, refused = 0, []
    for path in sorted(store_dir().glob("*")):
        name = path.name.split(".")[0]
        if path.name.endswith(LOCK) or (wanted is not None and name not in wanted):
            continue
        try:
            with FileLock(store_dir() / f"{name}.sqlite{LOCK}", timeout=WAIT):
                size = path.lstat().st_size
                path.unlink()
            freed += size
        except FileNotFoundError:  # the last process that used it has deleted its -wal and -shm
            continue
        except OSError as error:
            refused.append(f"{path.name} ({error.strerror or error})")
    if refused:
        raise OutputError(
            f"freed {freed / 1e6:.1f} MB, but cannot delete {', '.join(refused)} in {store_dir()}: "
            "delete what is left yourself"
        )
    return freed


def _count(path: Path) -> int | None:
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            return int(connection.execute("SELECT count(*) FROM readings").fetchone()[0])
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeDecodeError):
        return None


def _select(connection: sqlite3.Connection, columns: str, keys: Sequence[bytes]) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of these keys, in lists of at most 500."""
    for begin in range(0, len(keys), 500):
        chunk = keys[begin : begin + 500]
        query = f"SELECT {columns} FROM readings WHERE key IN ({','.join('?' * len(chunk))})"
        yield connection.execute(query, chunk).fetchall()


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one of the same name; None if there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _unpack(reads: bytes, received: bytes | None) -> StoredReadings:
    weights = None if received is None else np.frombuffer(received, dtype="<f4").astype(np.float64)
    return StoredReadings(np.frombuffer(reads, dtype=READ), weights)


def _is_plausible(rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether intact rows hold finite numbers only, and no negative position, token or rank."""
    reads = np.frombuffer(b"".join(row[2] for row in rows), dtype=READ)
    received = np.frombuffer(b"".join(row[3] or b"" for row in rows), dtype="<f4")
    finite = np.isfinite(reads["logprob"]).all() and np.isfinite(received).all()
    return bool(finite and all((reads[name] >= 0).all() for name in ("position", "token", "rank")))


def _warn(message: str) -> None:
    warnings.warn(message, StoreWarning, stacklevel=4)
