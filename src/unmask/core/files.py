"""Write files atomically, lock folders, JSON that every reader accepts, checksums, the cache folder, CSV.

A file or folder that cannot be written is an `OutputError`, in one line.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import math
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from unmask.core import environment
from unmask.core.boundary import read_json
from unmask.core.errors import OutputError, UnmaskError

PARTIAL = ".partial"  # suffix of a file that is being written
RESULT_FILES = ("result.json", "items.parquet", "tokens.parquet")  # of a result folder, and of nobody else's
KIND_FILES = ("answers.jsonl", "judgements.csv", "sentences.csv")  # of one kind of result, which writes them itself
_number = itertools.count()
_FORMULA = tuple("=+-@＝＋－＠")
_SPACES = ("\t", "\r", "\n")
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)


@contextmanager
def partial_file(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that replaces it when the block ends without an error; its folder is created."""
    refuse_result_file(path)
    make_folder(path.parent)
    partial = partial_path(path)
    with writing(path):
        try:
            yield partial
            flush(partial)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


def refuse_result_file(path: Path, names: Collection[str] = RESULT_FILES) -> None:
    """Refuse to write over a file of a result folder; results are written by `unmask.findings.folder` alone."""
    try:
        target = path.resolve()
        meta = read_json(target.with_name(RESULT_FILES[0])) if target.name in names and target.exists() else None
    except (UnmaskError, OSError, RuntimeError):  # no result beside it, or no such place: writing says so
        return
    if isinstance(meta, dict) and {"schema", "unmask"} <= meta.keys():
        raise OutputError(f"{path} is a file of the result in {target.parent}: give another file, the result needs it")


def partial_path(path: Path) -> Path:
    """A new temporary name beside `path`."""
    return path.with_name(f"{path.name[:40]}.{os.getpid()}-{next(_number)}{PARTIAL}")


def is_partial(name: str) -> bool:
    """Whether a file name is one of `partial_path`."""
    return re.fullmatch(r".+\.\d+-\d+\.partial", name, re.DOTALL) is not None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the file system while writing `path` into an `OutputError`."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, OSError) and not _is_write_error(error):
            raise
        reason = getattr(error, "strerror", None) or error
        raise OutputError(
            f"cannot write {path} ({reason}): free some space, check the permissions, or give another place"
        ) from error


def _is_write_error(error: Exception) -> bool:
    """Whether safetensors or torch could not write a file; their errors are not those of the file system."""
    torch_error = any(name in str(error) for name in ("PytorchStreamWriter", "inline_container.cc"))
    return torch_error or type(error).__name__ == "SafetensorError"


def make_folder(path: Path) -> Path:
    """Create a folder and its parents."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Create a folder and lock it for this process; `OutputError` if another process holds it.

    The lock is on the folder itself, ends with the process, and leaves no file. Where the file system has no
    locks (Windows, some network shares) nothing is locked.
    """
    make_folder(folder)
    if os.name == "nt":  # folders cannot be opened
        yield
        return
    with writing(folder):
        handle = os.open(folder, os.O_RDONLY)
    try:
        if not _try_lock(handle):
            raise OutputError(
                f"{folder} is being written by another process: wait until it ends, or give another folder"
            )
        yield
    finally:
        os.close(handle)


@contextmanager
def lock_file(path: Path, patience: float = 30.0) -> Iterator[None]:
    """Hold a file while it is read and replaced, so that no change of another process is lost; it is created.

    Waits for other processes and threads, at most `patience` seconds. The lock is on the file itself: whoever
    waited for a file that was replaced meanwhile waits for the new one. Where there are no locks nothing is locked.
    """
    make_folder(path.parent)
    end = time.monotonic() + patience
    while True:
        with writing(path):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if _try_lock(handle) and _is_same_file(handle, path):
                yield
                return
        finally:
            os.close(handle)
        if time.monotonic() > end:
            raise OutputError(f"{path} is held by another process: wait until it ends")
        time.sleep(0.005)


def _try_lock(handle: int) -> bool:
    """Lock an open file unless another process holds it; true, too, where there are no locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        pass
    return True


def _is_same_file(handle: int, path: Path) -> bool:
    """Whether the open file still has this name."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False


def write_text(path: Path, text: str) -> Path:
    """Write a text file completely or not at all; the folder is created."""
    with partial_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")
    return path


def append_text(path: Path, text: str) -> Path:
    """Append to a text file; the folder is created."""
    refuse_result_file(path)
    make_folder(path.parent)
    with writing(path), path.open("a", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
    return path


def write_json(path: Path, content: Any) -> Any:
    """Write an object as JSON, completely or not at all, and return it as it will be read back."""
    text = to_json(content)
    write_text(path, text)
    return json.loads(text)


def to_json(content: Any) -> str:
    """An object as indented JSON text; see `plain`."""
    return json.dumps(plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """A value made of JSON types only: NaN and infinity become null, a path its last name."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, Path):
        return file_name(value)  # results hold no paths of the machine
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def file_name(path: Path) -> str:
    """The name of a file as text for results: bytes that are not UTF-8 become question marks."""
    return path.name.encode("utf-8", "replace").decode()


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def cache_dir() -> Path:
    """The cache of datasets and model outputs: `$UNMASK_CACHE_DIR`, else the user's cache folder."""
    if chosen := environment.cache_dir():
        return chosen
    import platformdirs

    return Path(platformdirs.user_cache_dir("unmask"))


def flush(path: Path) -> None:
    """Make sure that the content is on the disk before the file gets its name."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def escape(cell: Any) -> Any:
    """A cell of CSV for people that no spreadsheet runs as a formula: an apostrophe in front, as they mark text.

    What we write can be filled in and read back with `unescape`. Only text is changed.
    """
    if not isinstance(cell, str):
        return cell
    bare = cell.lstrip("'")  # what `unescape` could take for an escaped cell is escaped, too
    runs = bare.lstrip().startswith(_FORMULA) and not _NUMBER.fullmatch(bare)
    return f"'{cell}" if runs or bare.startswith(_SPACES) else cell


def unescape(cell: str) -> str:
    """Inverse of `escape`."""
    return cell[1:] if cell.startswith("'") and escape(cell[1:]) == cell else cell


def to_csv(rows: Iterable[Sequence[Any]]) -> str:
    """Rows as the text of a CSV file for people."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([escape(cell) for cell in row] for row in rows)
    return text.getvalue()
