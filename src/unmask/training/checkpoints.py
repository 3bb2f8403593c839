"""Checkpoints to resume from: which one is complete, and whether it belongs to this training run."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unmask.core.errors import ResultError
from unmask.core.files import write_text
from unmask.models.loading import quiet
from unmask.training.distributed import world_size
from unmask.training.spec import TrainSettings

STATE = "trainer_state.json"  # written last: a checkpoint that contains it is complete
OWNER = "training.json"
_NAME = re.compile(r"checkpoint-(\d+)")


def save_model(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save a model and its tokenizer as a Hugging Face checkpoint."""
    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def claim_folder(folder: Path, settings: TrainSettings, rows: int, key: str) -> None:
    """Mark the folder with a hash of this training run; refuse checkpoints of another run."""
    options = asdict(settings)
    del options["save_every"], options["report_to"]
    identity = {"settings": options, "rows": rows, "key": key, "processes": world_size()}
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / OWNER
    if path.exists() and _checkpoints(folder) and path.read_text(encoding="utf-8") != digest:
        raise ResultError(
            f"{folder} holds an unfinished training with other settings or data: "
            "rerun it with the same settings to resume, or remove the folder to start again"
        )
    write_text(path, digest)


def last_complete_checkpoint(folder: Path) -> Path | None:
    """The newest complete checkpoint; incomplete ones are removed."""
    for _, path in sorted(_checkpoints(folder), reverse=True):
        try:
            json.loads((path / STATE).read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):
            shutil.rmtree(path)
        else:
            return path
    return None


def remove_checkpoints(folder: Path) -> None:
    """Remove checkpoints and the mark, and the folder if it is then empty."""
    for _, path in _checkpoints(folder):
        shutil.rmtree(path)
    (folder / OWNER).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def _checkpoints(folder: Path) -> list[tuple[int, Path]]:
    matches = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir() if path.is_dir())
    return [(int(match[1]), path) for match, path in matches if match]
