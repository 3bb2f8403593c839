"""Write files atomically, JSON that every reader accepts, checksums, and the cache folder."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

PARTIAL = ".partial"  # suffix of a file that is being written


@contextmanager
def partial_file(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that replaces it when the block ends without an error."""
    partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> Path:
    """Write a text file completely or not at all; the folder is created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with partial_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")
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
        return [plain(each) for each in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, Path):
        return value.name  # results hold no paths of the machine
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def cache_dir() -> Path:
    """The cache of datasets and model outputs: `$UNMASK_CACHE_DIR`, else the user's cache folder."""
    if chosen := os.environ.get("UNMASK_CACHE_DIR"):
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("unmask"))
