"""Which shortcuts a model can be given: those that give what the whole model gives, up to rounding."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from unmask.core import environment
from unmask.models.encoder import Encoder
from unmask.models.fast.shortcuts import Shortcuts, select_cache
from unmask.models.prefixes import plant_trees

T = TypeVar("T")
# configuration keys of models with local attention
LOCAL_ATTENTION_SETTINGS = ("layer_types", "local_attention", "sliding_window", "attention_window")
# those that give the tokens a causal model attends to
CAUSAL_WINDOWS = ("sliding_window", "attention_chunk_size", "window_size", "local_attention", "attention_window")

# how much two ways to compute the outputs may differ, relative to their size: by rounding, not by another function
TOLERANCE, HALF_TOLERANCE = 1e-3, 0.2
RANK_SLACK = 0.01  # and how much two ranks may, relative to the vocabulary: where logits are all but equal


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute in one thread: several would wait for one another longer than small inputs take."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _attempt(check: Callable[[Shortcuts], T], shortcuts: Shortcuts) -> T | None:
    """What a comparison with the whole model gives; None if the model has other parts than a shortcut takes."""
    try:
        return check(shortcuts)
    except (AttributeError, TypeError, ValueError, RuntimeError, KeyError, IndexError):
        return None


@_one_thread()
@torch.inference_mode()
def find_shortcuts(model: Any) -> Shortcuts | None:
    """The shortcuts that give this model's own results; None if it cannot be split, or they are off."""
    if not environment.fast():
        return None
    bodies = (model.base_model, model.get_decoder())  # some heads use an inner module of the base
    splits = (Shortcuts(model, body) for body in bodies if body is not None and body is not model)
    shortcuts = next((split for split in splits if _attempt(logits_agree, split)), None)
    if shortcuts is None:
        return None
    if shortcuts.last_block is not None:
        shortcuts.skips_last_ffn = True
        shortcuts.skips_last_ffn = bool(_attempt(logits_agree, shortcuts))
    local = any(hasattr(model.config, name) for name in LOCAL_ATTENTION_SETTINGS)
    if model.config._attn_implementation == "sdpa" and not local:
        shortcuts.key_mask = bool(_attempt(masks_agree, shortcuts))
        shortcuts.encoder = _attempt(agreeing_encoder, shortcuts)
    output = model.get_output_embeddings()
    if shortcuts.device.type == "cpu" and isinstance(output, nn.Linear):
        shortcuts.output = output
        shortcuts.output = output if _attempt(parts_agree, shortcuts) else None
    if model.can_generate():
        shortcuts.longest_in_trees = _attention_window(model.config) if _attempt(trees_agree, shortcuts) else 0
        shortcuts.keeps_cache = bool(_attempt(caches_agree, shortcuts))
    return shortcuts


def _attention_window(config: Any) -> int:
    """The tokens that every layer of a causal model attends to; very many if none is local."""
    settings = (getattr(config.get_text_config(), name, None) for name in CAUSAL_WINDOWS)
    return min((size for size in settings if isinstance(size, int) and size > 0), default=1 << 30)


# --------------------------------------------------------------- does a shortcut agree with the whole model?


def parts_agree(shortcuts: Shortcuts) -> bool:
    """Whether log-probabilities read by parts of the vocabulary are those of the logits."""
    size = shortcuts.model.config.vocab_size
    ids = torch.arange(6, device=shortcuts.device)[None] % size
    rows, tokens = torch.arange(6, device=shortcuts.device), torch.arange(6, device=shortcuts.device) * size // 6
    states = shortcuts.states(ids, None)[0]
    whole = shortcuts.logits(states).float().log_softmax(-1)
    found, ranks = shortcuts.read(states, rows, tokens)
    expected = whole[rows, tokens]
    usual = (whole >= expected[:, None]).sum(-1) - 1
    return _close(found, expected, shortcuts.model.dtype) and bool((ranks - usual).abs().max() <= RANK_SLACK * size)


def agreeing_encoder(shortcuts: Shortcuts) -> Encoder | None:
    """The encoder called by layer if it gives the states of the body, padded or not, read anywhere or at few.

    So must those that are made with the attention weights at hand.
    """
    size, columns = shortcuts.model.config.vocab_size, torch.arange(12, device=shortcuts.device)
    ids = torch.stack([columns, columns.flip(0), columns * 7]) % size
    attention_mask = (columns < torch.tensor([[12], [9], [5]], device=shortcuts.device)).long()
    few = torch.tensor([1, 16, 28], device=shortcuts.device)
    encoder = Encoder(shortcuts.body)
    for mask in (None, attention_mask):
        usual = shortcuts.body(input_ids=ids, attention_mask=mask)[0].flatten(0, 1)
        keys = None if mask is None else mask.bool()
        real = columns.new_ones(36, dtype=torch.bool) if keys is None else keys.flatten()
        found, received = encoder.states_with_attention(ids, keys)
        added = received.sum(-1) - 1
        if not _close(found.flatten(0, 1)[real], usual[real], shortcuts.model.dtype) or added.abs().max() > TOLERANCE:
            return None
        for positions in (None, few, real.nonzero()[:, 0]):
            chosen = real.nonzero()[:, 0] if positions is None else positions
            found = encoder.states(ids, keys, positions).flatten(0, 1)[chosen]
            if not _close(found, usual[chosen], shortcuts.model.dtype):
                return None
    return encoder


def logits_agree(shortcuts: Shortcuts) -> bool:
    """Whether body and head, called separately, give the logits of the whole model."""
    ids = torch.arange(6, device=shortcuts.device)[None] % shortcuts.model.config.vocab_size
    positions = torch.tensor([1, 4], device=shortcuts.device)
    whole = shortcuts.model(input_ids=ids).logits[0, positions]
    parts = shortcuts.logits(shortcuts.states(ids, None, positions)[0, positions])
    return parts.shape == whole.shape and _close(parts, whole, shortcuts.model.dtype)


def masks_agree(shortcuts: Shortcuts) -> bool:
    """Whether a mask over the keys alone gives the same states as the usual 2-D mask.

    transformers inspects the values of a 2-D mask, which synchronises with the GPU.
    """
    ids = torch.arange(8, device=shortcuts.device).view(2, 4) % shortcuts.model.config.vocab_size
    attention_mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], device=shortcuts.device)
    usual = shortcuts.states(ids, attention_mask)[attention_mask.bool()]
    shortcuts.key_mask = True
    return _close(shortcuts.states(ids, attention_mask)[attention_mask.bool()], usual, shortcuts.model.dtype)


def trees_agree(shortcuts: Shortcuts) -> bool:
    """Whether prefix trees give the states of their sequences."""
    tokens = [[0, 1, 2, 3, 4, 5], [0, 1, 2, 6, 7, 8], [0, 1, 9, 10, 11, 12], [13, 14, 15, 16, 17, 0]]
    ids, lengths = np.array(tokens) % shortcuts.model.config.vocab_size, np.array([6, 6, 6, 5])
    inside = np.arange(6) < lengths[:, None]
    trees = plant_trees(ids, lengths, np.array([0, 0, 0, 1]), pad=0)
    given = [torch.from_numpy(array).to(shortcuts.device) for array in (ids, inside, trees.flat(*np.nonzero(inside)))]
    usual = shortcuts.states(given[0], given[1].long())[given[1]]
    arrays = (torch.from_numpy(array).to(shortcuts.device) for array in (trees.ids, trees.positions, trees.ends))
    return _close(shortcuts.tree_states(*arrays).flatten(0, 1)[given[2]], usual, shortcuts.model.dtype)


def caches_agree(shortcuts: Shortcuts) -> bool:
    """Whether rows that continue a cache have the states of whole rows."""
    ids = torch.arange(12, device=shortcuts.device).view(2, 6) % shortcuts.model.config.vocab_size
    usual = shortcuts.states(ids, None)[:, -1]
    _, cache = shortcuts.last_states(ids[:, :4])
    rows = torch.tensor([1, 0], device=shortcuts.device)
    return _close(
        shortcuts.last_states(ids[rows, 4:], select_cache(cache, rows))[0], usual[rows], shortcuts.model.dtype
    )


def _close(found: Tensor, expected: Tensor, dtype: torch.dtype) -> bool:
    """Whether two computations of the same numbers agree as well as their precision allows."""
    tolerance = TOLERANCE if dtype == torch.float32 else HALF_TOLERANCE
    scale = expected.float().square().mean().sqrt()
    return bool((found.float() - expected.float()).abs().max() <= tolerance * scale)
