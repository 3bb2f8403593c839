"""`--lora`: a method trains a LoRA adapter (Hu et al. 2022) in every linear layer but the head, and no other weight.

The checkpoint is the merged model, which every program loads; the adapter is saved in its folder `adapter`, to be put
on the base model: `unmask audit BASE+CHECKPOINT/adapter`.
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from unmask.core.errors import ModelError
from unmask.core.files import writing
from unmask.models import Lm

FOLDER = "adapter"  # in the folder of the checkpoint


def check_extra() -> None:
    """Refuse to go on without peft."""
    if find_spec("peft") is None:
        raise ModelError("a LoRA adapter needs peft: pip install 'unmask[peft]'")


def add_adapter(lm: Lm, rank: int, seed: int) -> Any:
    """Add an untrained adapter to a model, in place, and freeze everything else; returns peft's view of the model."""
    check_extra()
    from peft import LoraConfig, get_peft_model

    model = lm.network.model
    config = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft reads deprecated attributes of transformers
        torch.manual_seed(seed)
        adapted = get_peft_model(model, config)
    if lm.facts.built_in:
        adapted.peft_config["default"].base_model_name_or_path = lm.facts.id
    return adapted


def merge_trained(adapted: Any, folder: Path) -> tuple[Any, dict[str, Any]]:
    """Save the adapter and merge it into the weights; the model, and facts about the adapter."""
    config = adapted.peft_config["default"]
    trained = sum(parameter.numel() for parameter in adapted.parameters() if parameter.requires_grad)
    with warnings.catch_warnings(), writing(folder):
        warnings.simplefilter("ignore")
        adapted.save_pretrained(folder)
        (folder / "README.md").unlink(missing_ok=True)  # a template without content
        model = adapted.merge_and_unload(safe_merge=True)
    vars(model).pop("peft_config", None)
    model.requires_grad_(True)
    return model, {"lora": {"rank": config.r, "alpha": config.lora_alpha, "weights": trained}}
