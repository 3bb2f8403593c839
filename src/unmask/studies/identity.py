"""Identities of models and datasets for cache keys: by content or commit, not by name."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from unmask import data as datasets
from unmask.core.errors import DataError, UnmaskError
from unmask.models.builtin import builtin_models
from unmask.studies.texts import PACKAGE, find_text_file

MISSING = "missing"
IGNORED = (".md", ".gitattributes", ".lock")  # files of a model folder that do not affect outputs


class IdentityCache:
    """Computes the identity of every name once."""

    def __init__(self, *, data_dir: Path | None = None, offline: bool = False) -> None:
        self._data_dir, self._offline = data_dir, offline
        self._known: dict[tuple[str, str], str] = {}

    def model(self, ref: str) -> str:
        """Of a folder or built-in model by its files, of a hub name by its commit."""
        return self._once("model", ref, lambda: model_identity(ref, offline=self._offline))

    def data(self, name: str) -> str:
        """Of a dataset, table or file by its bytes; `missing` if it is not on this machine."""
        return self._once("data", name, lambda: data_identity(name, self._data_dir))

    def _once(self, kind: str, name: str, compute: Callable[[], str]) -> str:
        if (kind, name) not in self._known:
            self._known[kind, name] = compute()
        return self._known[kind, name]


def is_cached(ref: str) -> bool:
    """Whether the model can be loaded without network access."""
    from huggingface_hub import try_to_load_from_cache

    if ref in builtin_models() or Path(ref).is_dir():
        return True
    name, _, revision = ref.partition("@")
    with suppress(ValueError):  # not a hub name at all
        return isinstance(try_to_load_from_cache(name, "config.json", revision=revision or "main"), str)
    return False


def model_identity(ref: str, *, offline: bool = False) -> str:
    """A digest of the files of a local model; for a hub model its commit, else its revision."""
    if ref in builtin_models():
        ours = builtin_models()[ref]
        return _digest([*_files(ours.folder), *([ours.update] if ours.update else [])])
    if Path(ref).is_dir():
        return _digest(_files(Path(ref)))
    return f"hub:{ref.partition('@')[0]}@{_commit(ref, offline=offline) or ref.partition('@')[2] or 'main'}"


def data_identity(name: str, data_dir: Path | None) -> str:
    """The SHA-256 of the files that would be read."""
    if name == PACKAGE:
        parts = [datasets.card(name).files[0].sha256 for name in ("nine-axes", "paraphrases", "reminders")]
        return hashlib.sha256("".join(parts).encode()).hexdigest()
    path = find_text_file(name, data_dir)
    if path is not None:
        return _digest([path])
    try:
        if name in datasets.tables():
            return datasets.card(name).files[0].sha256
        return datasets.load(name, data_dir=data_dir, offline=True).sha256
    except (DataError, UnmaskError):
        return MISSING


def _commit(ref: str, *, offline: bool) -> str | None:
    from huggingface_hub import HfApi, try_to_load_from_cache

    name, _, revision = ref.partition("@")
    if not offline and os.environ.get("HF_HUB_OFFLINE") != "1":
        with suppress(Exception):  # no network or no such model: the step itself reports it
            return str(HfApi().model_info(name, revision=revision or None, timeout=10).sha)
    with suppress(ValueError):
        path = try_to_load_from_cache(name, "config.json", revision=revision or "main")
        return Path(path).parent.name if isinstance(path, str) else None
    return None


def _files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix not in IGNORED and path.name not in IGNORED
    )


def _digest(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(f"{path.name}:{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()
