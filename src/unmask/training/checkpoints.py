"""Checkpoints to go on from after a kill: which is whole, and whether it is of this training."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

from unmask.core.errors import ResultError
from unmask.training.distributed import world_size
from unmask.training.spec import TrainSettings

STATE = "trainer_state.json"  # written last: a checkpoint that holds it is whole
OWNER = "training.json"
_NAME = re.compile(r"checkpoint-(\d+)")


def claim_folder(folder: Path, settings: TrainSettings, rows: int, key: str) -> None:
    """Mark the folder as this training's; checkpoints of another one are refused."""
    told = {
        name: value for name, value in asdict(settings).items() if name not in ("save_every", "report_to")
    }
    whole = {"settings": told, "rows": rows, "key": key, "processes": world_size()}
    text = json.dumps(whole, sort_keys=True)
    mine = hashlib.sha256(text.encode()).hexdigest()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / OWNER
    if path.exists() and _numbered(folder) and path.read_text(encoding="utf-8") != mine:
        raise ResultError(
            f"{folder} holds an unfinished training with other settings or data: "
            "repeat it as it was, or remove that folder to begin anew"
        )
    path.write_text(mine, encoding="utf-8")


def last_complete_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that was written to its end; half-written ones are removed."""
    for _, path in sorted(_numbered(folder), reverse=True):
        try:
            json.loads((path / STATE).read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError):
            shutil.rmtree(path)
        else:
            return path
    return None


def remove_checkpoints(folder: Path) -> None:
    """Remove checkpoints and the mark; the folder too, if nothing else is in it."""
    for _, path in _numbered(folder):
        shutil.rmtree(path)
    (folder / OWNER).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def _numbered(folder: Path) -> list[tuple[int, Path]]:
    found = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir() if path.is_dir())
    return [(int(match[1]), path) for match, path in found if match]
