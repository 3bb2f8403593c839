"""PEFT adapters (LoRA and relatives): checked, applied to their base model, and merged into its weights.

A merged model is an ordinary one: it is scored at full speed, and its fingerprint is that of its weights, so that
readings are shared exactly between models that are equal. Merging is done in fp32 and checked on a short text.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from unmask.core.boundary import validate
from unmask.core.errors import ModelError, quote
from unmask.core.options import Opening
from unmask.models.checkpoint import DTYPES, SHORT_TEXT, ModelCheckpoint, load_folder
from unmask.models.folder import (
    ADAPTER_CONFIG,
    ModelFolder,
    check_safetensors,
    find_folder,
    no_safetensors,
    read_object,
)
from unmask.models.lm import ModelKind
from unmask.models.loading import ADAPTED, find_checkpoint, find_loader, is_path
from unmask.models.weights import fingerprint, refuse_not_finite

WEIGHTS, _PICKLED = "adapter_model.safetensors", "adapter_model.bin"
MERGEABLE = ("LORA", "ADALORA", "LOHA", "LOKR", "IA3", "OFT", "BOFT", "VERA")
_TOLERANCE = 1e-3  # of logits of the merged and the unmerged model, relative to their size


@dataclass(frozen=True, slots=True)
class AdapterConfig:
    """What `adapter_config.json` says."""

    peft_type: str
    base_model_name_or_path: str | None = None
    auto_mapping: dict[str, Any] | None = None


def read_config(folder: ModelFolder) -> tuple[AdapterConfig, Path]:
    """The configuration of an adapter, and its file; refused are types that cannot be merged into a model."""
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
    return config, path


def load_adapted(reference: str, how: Opening) -> ModelCheckpoint:
    """The checkpoint of `BASE+ADAPTER`, which must not be adapted or built in themselves."""
    name, _, adapter = reference.rpartition("+")
    base = find_checkpoint(name, how)
    if base.name != base.folder.name:
        raise ModelError(f"{quote(reference)} has several adapters, expected BASE+ADAPTER: merge them first")
    if is_path(adapter) and not Path(adapter).is_dir():
        raise ModelError(f"no folder {quote(adapter)}: give the folder, or the hub name, of an adapter")
    if find_loader(adapter, Opening()).load is not load_folder:
        raise ModelError(f"{quote(adapter)} is a model, expected the folder or the hub name of an adapter")
    return _adapt(base, find_folder(adapter, how))


def load_with_base(adapter: ModelFolder, how: Opening) -> ModelCheckpoint:
    """The checkpoint of an adapter, with the base model that it names."""
    base = read_config(adapter)[0].base_model_name_or_path
    if not base:
        raise ModelError(f"{adapter.name} does not name its base model ({ADAPTER_CONFIG}): open BASE+{adapter.name}")
    loader = find_loader(base, how)
    if loader is ADAPTED or (loader.load is load_folder and find_folder(base, how).is_adapter):
        raise ModelError(f"{adapter.name} names {quote(base)} as its base model, expected a model, no adapter")
    return _adapt(find_checkpoint(base, how), adapter)


def _adapt(base: ModelCheckpoint, adapter: ModelFolder) -> ModelCheckpoint:
    """The checkpoint of a base model, which is loaded in fp32 and changed by an adapter."""
    import torch

    with adapter.loading():
        config, path = read_config(adapter)
    adapter = adapter.at_commit_of(path)
    return replace(
        base,
        name=f"{base.name}+{adapter.name}",
        built_in=False,
        loading={**base.loading, "dtype": torch.float32},
        changes=(*base.changes, partial(merge_adapter, base=base, adapter=adapter, peft_type=config.peft_type)),
    )


def merge_adapter(
    model: Any, tokenizer: Any, kind: ModelKind, *, base: ModelCheckpoint, adapter: ModelFolder, peft_type: str
) -> tuple[Any, dict[str, str]]:
    """Merge an adapter into the weights of its base model, in fp32, and go back to the dtype: a change.

    The merged model must agree with the unmerged one on a short text.
    """
    if find_spec("peft") is None:
        raise ModelError(f"{adapter.name} is an adapter, which needs peft: pip install 'unmask[peft]'")
    import torch
    from peft import PeftModel, get_peft_model_state_dict

    origin = {"base": base.name, "base fingerprint": fingerprint(model, tokenizer, kind)}
    ids = torch.tensor([tokenizer(SHORT_TEXT, verbose=False)["input_ids"] or [0]])
    with adapter.loading(), warnings.catch_warnings(), torch.inference_mode():
        path = _find_weights(adapter, allow_pickle=base.how.allow_pickle)
        warnings.simplefilter("ignore")  # what they warn of is checked below
        adapted = PeftModel.from_pretrained(model, str(path.parent)).eval()
        if path.name == WEIGHTS:
            _refuse_other_keys(adapter, path, set(get_peft_model_state_dict(adapted)))
        expected = adapted(input_ids=ids).logits
        merged = adapted.merge_and_unload(safe_merge=True)
        found = merged(input_ids=ids).logits
    if not bool((found - expected).abs().max() <= _TOLERANCE * expected.abs().max().clamp(min=1.0)):
        raise ModelError(
            f"{adapter.name} cannot be merged exactly (does it change a matrix that embeddings and output share?): "
            "give a model with separate matrices (tie_word_embeddings)"
        )
    vars(merged).pop("peft_config", None)
    refuse_not_finite(merged, f"{base.name}+{adapter.name}")
    revision = {"adapter revision": adapter.revision} if adapter.revision else {}
    facts = {**origin, "adapter": adapter.name, "adapter type": peft_type, **revision}
    return merged.to(getattr(torch, DTYPES[base.how.dtype])), facts


def _find_weights(folder: ModelFolder, *, allow_pickle: bool) -> Path:
    path = folder.find(WEIGHTS) or (folder.find(_PICKLED) if allow_pickle else None)
    if path is None:
        raise no_safetensors(folder, WEIGHTS)
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
