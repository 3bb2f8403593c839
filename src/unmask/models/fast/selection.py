"""Which shortcuts a model can be given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from unmask.models.fast import is_enabled
from unmask.models.fast.agreement import (
    agreeing_encoder,
    caches_agree,
    logits_agree,
    masks_agree,
    parts_agree,
    trees_agree,
)
from unmask.models.fast.shortcuts import Shortcuts

# configuration keys of models with local attention
LOCAL_ATTENTION_SETTINGS = ("layer_types", "local_attention", "sliding_window", "attention_window")
# those that give the tokens a causal model attends to
CAUSAL_WINDOWS = ("sliding_window", "attention_chunk_size", "window_size", "local_attention", "attention_window")


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute in one thread: several would wait for one another longer than small inputs take."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@_one_thread()
def find_shortcuts(model: Any) -> Shortcuts | None:
    """The shortcuts that give this model's own results; None if it cannot be split, or they are off."""
    if not is_enabled():
        return None
    bodies = (model.base_model, model.get_decoder())  # some heads use an inner module of the base
    splits = (Shortcuts(model, body) for body in bodies if body is not None and body is not model)
    shortcuts = next((split for split in splits if logits_agree(split)), None)
    if shortcuts is None:
        return None
    if shortcuts.last_block is not None:
        shortcuts.skips_last_ffn = True
        shortcuts.skips_last_ffn = logits_agree(shortcuts)
    local = any(hasattr(model.config, name) for name in LOCAL_ATTENTION_SETTINGS)
    if model.config._attn_implementation == "sdpa" and not local:
        shortcuts.key_mask = masks_agree(shortcuts)
        shortcuts.encoder = agreeing_encoder(shortcuts)
    output = model.get_output_embeddings()
    if shortcuts.device.type == "cpu" and isinstance(output, nn.Linear):
        shortcuts.output = output
        shortcuts.output = output if parts_agree(shortcuts) else None
    if model.can_generate():
        shortcuts.longest_in_trees = _attention_window(model.config) if trees_agree(shortcuts) else 0
        shortcuts.keeps_cache = caches_agree(shortcuts)
    return shortcuts


def _attention_window(config: Any) -> int:
    """The tokens that every layer of a causal model attends to; very many if none is local."""
    settings = (getattr(config.get_text_config(), name, None) for name in CAUSAL_WINDOWS)
    return min((each for each in settings if isinstance(each, int) and each > 0), default=1 << 30)
