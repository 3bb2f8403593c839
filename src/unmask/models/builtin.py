"""The models inside the package: `builtin`, its causal sibling, and siblings whose bias we planted.

builtin/masked/                      `builtin`: the masked model, the default
builtin/causal/                      `builtin-causal`
builtin/siblings/dose+1.safetensors  `builtin-dose+1`: low-rank changes of the masked model's weights
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from unmask.core.errors import ModelError

BUILT_IN = "builtin"
FOLDER = Path(str(files("unmask.models") / "builtin"))


@dataclass(frozen=True, slots=True)
class BuiltinModel:
    """A model inside the package: where it lies, what changes it, what to say of it."""

    folder: Path
    about: str
    change: Path | None = None
    warning: str = ""


def builtin_models(folder: Path = FOLDER) -> dict[str, BuiltinModel]:
    """The models by name, siblings in the order of their dose."""
    masked = folder / "masked"
    found = {
        BUILT_IN: BuiltinModel(masked, "the masked model inside the package; the default"),
        f"{BUILT_IN}-causal": BuiltinModel(folder / "causal", "its causal sibling"),
    }
    changes = sorted((folder / "siblings").glob("dose*.safetensors"), key=_dose)
    return found | {f"{BUILT_IN}-{path.stem}": _sibling(masked, path) for path in changes}


def add_low_rank_change(model: Any, change: Path) -> None:
    """Add a file's low-rank changes to the weights they name."""
    import torch
    from safetensors.torch import load_file

    parts, weights = load_file(change), dict(model.named_parameters())
    names = sorted({key.rpartition(".")[0] for key in parts})
    foreign = [name for name in names if name not in weights]
    if foreign:
        raise ModelError(f"{change.name} changes {foreign[0]}, which this model does not have")
    with torch.no_grad():
        for name in names:
            low, high = (parts[f"{name}.{side}"].float() for side in "ab")
            weights[name] += (high @ low).to(weights[name].dtype)


def _dose(path: Path) -> int:
    return int(path.stem.removeprefix("dose"))


def _sibling(masked: Path, path: Path) -> BuiltinModel:
    dose = f"{_dose(path):+d}" if _dose(path) else "0"
    said = f"a calibrated sibling: its link of gender and occupation was planted, dose {dose} of -3 … +3"
    return BuiltinModel(masked, said, path, said)
