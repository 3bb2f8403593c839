"""The models that ship with the package: `builtin`, its causal sibling, and siblings with a planted bias.

builtin/masked/                      `builtin`: the masked model, the default
builtin/causal/                      `builtin-causal`
builtin/siblings/dose+1.safetensors  `builtin-dose+1`: low-rank updates of the masked model's weights
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unmask.core.errors import ModelError
from unmask.core.options import Opening

if TYPE_CHECKING:
    from unmask.models.checkpoint import ModelCheckpoint

BUILT_IN = "builtin"
FOLDER = Path(str(files("unmask.models") / "builtin"))


@dataclass(frozen=True, slots=True)
class BuiltinModel:
    """A model of the package: its folder, its description, and its low-rank update if it is a sibling."""

    folder: Path
    about: str
    update: Path | None = None  # low-rank update of the weights in `folder`


def builtin_models(folder: Path | None = None) -> dict[str, BuiltinModel]:
    """The models by name, siblings ordered by dose; `folder` instead of that of the package."""
    folder = folder or FOLDER
    masked = folder / "masked"
    models = {
        BUILT_IN: BuiltinModel(masked, "the masked model inside the package; the default"),
        f"{BUILT_IN}-causal": BuiltinModel(folder / "causal", "its causal sibling"),
    }
    updates = {int(path.stem.removeprefix("dose")): path for path in (folder / "siblings").glob("dose*.safetensors")}
    for dose, path in sorted(updates.items()):
        about = (
            "a calibrated sibling: its link of gender and occupation was planted, "
            f"dose {f'{dose:+d}' if dose else '0'} of -3 … +3"
        )
        models[f"{BUILT_IN}-{path.stem}"] = BuiltinModel(masked, about, path)
    return models


SIBLINGS = tuple(name for name, model in builtin_models().items() if model.update is not None)


def load_builtin(reference: str, how: Opening) -> ModelCheckpoint:
    """The checkpoint of a model by its name."""
    from unmask.models.checkpoint import read_checkpoint
    from unmask.models.folder import find_folder

    model = builtin_models()[reference]
    checkpoint = read_checkpoint(replace(find_folder(str(model.folder), how), name=reference), how)
    checkpoint = replace(checkpoint, name=reference, built_in=True)
    if model.update is None:
        return checkpoint
    return replace(checkpoint, warnings=(model.about,), changes=(partial(add_low_rank_update, update=model.update),))


def add_low_rank_update(model: Any, *_: Any, update: Path) -> tuple[Any, dict[str, str]]:
    """Add the low-rank updates of a file to the weights they name: a change of a checkpoint."""
    import torch
    from safetensors.torch import load_file

    updates, weights = load_file(update), dict(model.named_parameters())
    names = sorted({key.rpartition(".")[0] for key in updates})
    unknown = [name for name in names if name not in weights]
    if unknown:
        raise ModelError(f"{update.name} changes {unknown[0]}, which this model does not have")
    with torch.no_grad():
        for name in names:
            a, b = (updates[f"{name}.{side}"].float() for side in "ab")
            weights[name] += (b @ a).to(weights[name].dtype)
    return model, {}
