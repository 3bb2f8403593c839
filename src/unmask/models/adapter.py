"""PEFT adapters (LoRA and relatives): checked, applied to their base model, and merged into its weights.

A merged model is an ordinary one: it is scored at full speed, and its fingerprint is that of its weights, so that
readings are shared exactly between models that are equal. Merging is done in fp32 and checked on a short text.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unmask.core.boundary import validate
from unmask.core.errors import ModelError, quote
from unmask.models.folder import ADAPTER_CONFIG, ModelFolder, check_safetensors, read_object

WEIGHTS, _PICKLED = "adapter_model.safetensors", "adapter_model.bin"
MERGEABLE = ("LORA", "ADALORA", "LOHA", "LOKR", "IA3", "OFT", "BOFT", "VERA")
_TOLERANCE = 1e-3  # of logits of the merged and the unmerged model, relative to their size


@dataclass(frozen=True, slots=True)
class AdapterConfig:
    """What `adapter_config.json` says."""

    peft_type: str
    base_model_name_or_path: str | None = None
    auto_mapping: dict[str, Any] | None = None


def read_config(folder: ModelFolder) -> AdapterConfig:
    """The configuration of an adapter; refused are types that cannot be merged into a model."""
    path = folder.find(ADAPTER_CONFIG)
    if path is None:
        raise ModelError(
            f"cannot open {folder.name}: it has no {ADAPTER_CONFIG}; give the folder, or the hub name, of an adapter"
        )
    config = validate(AdapterConfig, read_object(path), str(path), ModelError)
    if config.peft_type not in MERGEABLE:
        raise ModelError(
            f"{path}: peft_type is {quote(config.peft_type)}, expected one that can be merged into a model "
            f"({', '.join(MERGEABLE)})"
        )
    return config


def base_of(folder: ModelFolder) -> str:
    """The base model that an adapter names."""
    base = read_config(folder).base_model_name_or_path
    if not base:
        raise ModelError(f"{folder.name} does not name its base model ({ADAPTER_CONFIG}): open BASE+{folder.name}")
    return base


def merge_adapter(model: Any, folder: ModelFolder, ids: Any, *, allow_pickle: bool) -> tuple[Any, dict[str, str]]:
    """The model, in fp32, with the adapter merged into its weights; and what results record about the adapter.

    `ids` is a short input on which the merged model must agree with the unmerged one.
    """
    if find_spec("peft") is None:
        raise ModelError(f"{folder.name} is an adapter, which needs peft: pip install 'unmask[peft]'")
    import torch
    from peft import PeftModel, get_peft_model_state_dict

    config, path = read_config(folder), _find_weights(folder, allow_pickle=allow_pickle)
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # what they warn of is checked below
        adapted = PeftModel.from_pretrained(model, str(path.parent)).eval()
        if path.name == WEIGHTS:
            _refuse_other_keys(folder, path, set(get_peft_model_state_dict(adapted)))
        expected = adapted(input_ids=ids).logits
        merged = adapted.merge_and_unload(safe_merge=True)
        found = merged(input_ids=ids).logits
    if not bool((found - expected).abs().max() <= _TOLERANCE * expected.abs().max().clamp(min=1.0)):
        raise ModelError(
            f"{folder.name} cannot be merged exactly (does it change a matrix that embeddings and output share?): "
            "give a model with separate matrices (tie_word_embeddings)"
        )
    vars(merged).pop("peft_config", None)
    revision = {"adapter revision": folder.revision} if folder.revision else {}
    return merged, {"adapter": folder.name, "adapter type": config.peft_type, **revision}


def _find_weights(folder: ModelFolder, *, allow_pickle: bool) -> Path:
    path = folder.find(WEIGHTS) or (folder.find(_PICKLED) if allow_pickle else None)
    if path is None:
        raise ModelError(
            f"cannot open {folder.name}: it has no {WEIGHTS}; only safetensors are loaded by default, "
            "set allow_pickle (--allow-pickle) for pickled weights you trust"
        )
    check_safetensors(path)
    return path


def _refuse_other_keys(folder: ModelFolder, path: Path, expected: set[str]) -> None:
    """Refuse an adapter that lacks weights, or has some for which the model has no place."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        found = set(file.keys())
    for names, problem in ((expected - found, "has no weights for"), (found - expected, "has weights for unknown")):
        if names:
            listed = ", ".join(sorted(names)[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            raise ModelError(f"{folder.name} {problem} {listed}: it belongs to another base model")
