"""Checkpoints to resume from: which one is complete, and whether it belongs to this training run."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

from unmask.core.boundary import read_json, read_text, validate
from unmask.core.errors import DataError, ResultError
from unmask.core.files import make_folder, sha256_of, write_json, write_text, writing
from unmask.models.eraser import attached_eraser, fold, hold
from unmask.models.folder import quiet
from unmask.training.distributed import world_size
from unmask.training.spec import TrainSettings

STATE = "trainer_state.json"  # written last: a checkpoint that contains it is complete
DIGESTS = "digests.json"  # the sha256 of every file of a checkpoint
OWNER = "training.json"
_NAME = re.compile(r"checkpoint-(\d+)")


def save_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save a model and its tokenizer as a Hugging Face checkpoint.

    An eraser is folded into the head; where that is impossible, the weights get a name that other programs refuse.
    """
    with writing(folder), quiet():
        is_whole = attached_eraser(model) is None or fold(model)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        if not is_whole:
            hold(folder)


def claim_folder(folder: Path, settings: TrainSettings, rows: int, key: Any) -> None:
    """Mark the folder with a hash of this training run; refuse checkpoints of another run."""
    names = {field.name for field in fields(TrainSettings)} - {"save_every", "report_to"}
    options = {name: getattr(settings, name) for name in sorted(names)}
    identity = {"settings": options, "rows": rows, "key": key, "processes": world_size()}
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    path = make_folder(folder) / OWNER
    if path.exists() and _checkpoints(folder) and read_text(path, ResultError) != digest:
        raise ResultError(
            f"{folder} holds an unfinished training with other settings or data: "
            "rerun it with the same settings to resume, or remove the folder to start again"
        )
    write_text(path, digest)


def write_digests(checkpoint: Path) -> None:
    """Record the content of a checkpoint's files."""
    files = sorted(path for path in checkpoint.iterdir() if path.is_file() and path.name != DIGESTS)
    write_json(checkpoint / DIGESTS, {path.name: sha256_of(path) for path in files})


def last_complete_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint; incomplete and damaged ones are removed."""
    for _, path in sorted(_checkpoints(folder), reverse=True):
        if _is_complete(path):
            return path
        with writing(path):
            shutil.rmtree(path)
    return None


def _is_complete(checkpoint: Path) -> bool:
    """Whether all files are as they were written; a run that was killed before the digests has none."""
    try:
        json.loads((checkpoint / STATE).read_text(encoding="utf-8"))
        digests = checkpoint / DIGESTS
        known = validate(dict[str, str], read_json(digests), DIGESTS) if digests.is_file() else {}
        return all(sha256_of(checkpoint / name) == digest for name, digest in known.items())
    except (OSError, ValueError, RecursionError, DataError):
        return False


def remove_checkpoints(folder: Path) -> None:
    """Remove checkpoints and the mark, and the folder if it is then empty."""
    with writing(folder):
        for _, path in _checkpoints(folder):
            shutil.rmtree(path)
        (folder / OWNER).unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()


def _checkpoints(folder: Path) -> list[tuple[int, Path]]:
    matches = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir() if path.is_dir())
    return [(int(match[1]), path) for match, path in matches if match]
