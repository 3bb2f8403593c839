"""Everything that makes scoring faster without changing its results, with one switch for all of it.

`UNMASK_FAST=0` in the environment, or `set_enabled(False)` in Python, turns all of it off; networks that are
already open keep what they have. Each shortcut of a network is verified against the whole model first.

- The network is split in two: the body gives hidden states for a batch, the head gives logits for single
  positions. So the head, a fifth of the work for a small vocabulary and most of it for a large one, runs only
  where a probe reads. The head is the model's own code: for one call its body returns the states at hand.
- Nothing after the last layer's attention mixes positions either, so in encoders built like BERT the last
  feed-forward block also runs only at the positions read.
- On a GPU the output layer is padded to a size its kernels are fast for, and slow attention kernels are
  avoided; where the attention mask need only cover keys it is passed as such, without synchronising.
- A CPU works on several batches at once (`workers`), with short turns between Python threads and no garbage
  collection; its heap is trimmed when the process has grown.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers.modeling_outputs import BaseModelOutput

SWITCH = "UNMASK_FAST"
SLACK = 96 << 20  # bytes the process may grow by before its heap is trimmed (again)
WORKERS = 4  # batches a CPU works on at once, its cores divided among them
THREAD_TURN = 0.0005  # seconds between switches of Python threads: compute threads need the GIL often
OUTPUT_MULTIPLE = 8  # GPU kernels are fast only when the number of outputs is a multiple of this
# configuration keys of models with local attention
LOCAL_ATTENTION_SETTINGS = ("layer_types", "local_attention", "sliding_window", "attention_window")
# the GPU's attention kernels that are fast on short sequences: cuDNN's takes twice as long
_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
_CHECK_ERRORS = (AttributeError, TypeError, ValueError, RuntimeError, KeyError, IndexError)


def is_enabled() -> bool:
    """Whether the shortcuts of this module are used."""
    return os.environ.get(SWITCH, "1") != "0"


def set_enabled(enabled: bool) -> None:
    """Turn all shortcuts on or off for this process and those it starts."""
    os.environ[SWITCH] = str(int(enabled))


def workers(threads: int) -> int:
    """The number of batches to work on at once with so many CPU threads."""
    return max(1, min(WORKERS, threads)) if is_enabled() else 1


class HeapTrimmer:
    """Tracks the growth of this process and trims its heap.

    Tensors of many sizes fragment glibc's heap, which then holds several times what is in use. Trimmed pages
    must be faulted in again one by one, so the heap is trimmed only when the process has grown by `SLACK`.
    """

    def __init__(self) -> None:
        self._baseline = _resident_bytes()

    def trim(self) -> None:
        """Trim the heap if the process has grown by more than `SLACK` (Linux with glibc)."""
        malloc_trim = _malloc_trim() if is_enabled() else None
        if malloc_trim is not None and _resident_bytes() > self._baseline + SLACK:
            malloc_trim(0)
            self._baseline = _resident_bytes()


@contextmanager
def tune_interpreter() -> Iterator[None]:
    """Pause the garbage collector, which scans all live objects, and let Python threads take short turns."""
    if not is_enabled():
        yield
        return
    collecting, interval = gc.isenabled(), sys.getswitchinterval()
    gc.disable()
    sys.setswitchinterval(THREAD_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if collecting:
            gc.enable()


def pad_outputs(linear: nn.Linear) -> Callable[[Tensor], Tensor]:
    """The same layer, computed with padding outputs that are sliced off again.

    The weights are padded at every call, so that it follows them during training.
    """
    padding = -linear.out_features % OUTPUT_MULTIPLE

    def forward(states: Tensor) -> Tensor:
        bias = None if linear.bias is None else functional.pad(linear.bias, (0, padding))
        outputs = functional.linear(states, functional.pad(linear.weight, (0, 0, 0, padding)), bias)
        return outputs[..., : linear.out_features]

    return forward


class Shortcuts:
    """A model called as body and head; made by `find_shortcuts`, which verifies it."""

    def __init__(self, model: Any, body: nn.Module) -> None:
        self.model, self.body = model, body
        self.device: torch.device = next(model.parameters()).device
        self.pads_head = self.device.type == "cuda"
        self.skips_last_ffn = False
        self.key_mask = False

    def states(
        self, ids: Tensor, attention_mask: Tensor | None, positions: Tensor | None = None, **inputs: Tensor
    ) -> Tensor:
        """Last hidden states; with `positions` (in the flattened batch) only those there are valid."""
        if attention_mask is not None and self.key_mask:
            attention_mask = attention_mask[:, None, None].bool()
        skip = self.skips_last_ffn and positions is not None
        kernels: AbstractContextManager[None] = sdpa_kernel(_KERNELS) if self.device.type == "cuda" else nullcontext()
        with self._last_block_at(cast(Tensor, positions)) if skip else nullcontext(), kernels:
            return self.body(input_ids=ids, attention_mask=attention_mask, **inputs)[0]  # type: ignore[no-any-return]

    def logits(self, states: Tensor) -> Tensor:
        """Logits over the vocabulary for rows of hidden states."""
        ids = torch.zeros((1, len(states)), dtype=torch.long, device=self.device)
        with self._replace_body(states[None]):
            return self.model(input_ids=ids).logits[0]  # type: ignore[no-any-return]

    @torch.inference_mode()
    def agree(self) -> bool:
        """Whether body and head, called separately, give the logits of the whole model."""
        ids = torch.arange(6, device=self.device)[None] % self.model.config.vocab_size
        positions = torch.tensor([1, 4], device=self.device)
        whole = self.model(input_ids=ids).logits[0, positions]
        try:
            parts = self.logits(self.states(ids, None, positions)[0, positions])
        except _CHECK_ERRORS:
            return False
        return parts.shape == whole.shape and _close(parts, whole)

    @torch.inference_mode()
    def masks_agree(self) -> bool:
        """Whether a mask over the keys alone gives the same states as the usual 2-D mask.

        transformers inspects the values of a 2-D mask, which synchronises with the GPU.
        """
        ids = torch.arange(8, device=self.device).view(2, 4) % self.model.config.vocab_size
        attention_mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]], device=self.device)
        usual = self.states(ids, attention_mask)[attention_mask.bool()]
        self.key_mask = True
        try:
            return _close(self.states(ids, attention_mask)[attention_mask.bool()], usual)
        except _CHECK_ERRORS:
            return False

    @property
    def last_block(self) -> Any:
        """The last layer if its feed-forward block can be called separately, else None."""
        layers = getattr(getattr(self.body, "encoder", None), "layer", None)
        last = layers[-1] if layers is not None and len(layers) else None
        return last if hasattr(last, "feed_forward_chunk") else None

    @contextmanager
    def _last_block_at(self, positions: Tensor) -> Iterator[None]:
        """For one call the last feed-forward block runs at these positions only."""
        layer, block = self.last_block, self.last_block.feed_forward_chunk

        def at_positions(states: Tensor) -> Tensor:
            flat = states.flatten(0, 1)
            return flat.index_copy(0, positions, block(flat[positions])).view_as(states)

        layer.feed_forward_chunk = at_positions
        try:
            yield
        finally:
            del layer.feed_forward_chunk

    @contextmanager
    def _replace_body(self, states: Tensor) -> Iterator[None]:
        """For one call the body returns these states, so that only the head runs."""
        head = self.model.get_output_embeddings() if self.pads_head else None
        patched: list[Any] = [self.body]
        self.body.forward = lambda *_, **__: _BodyOutput(last_hidden_state=cast(torch.FloatTensor, states))
        if isinstance(head, nn.Linear) and head.out_features % OUTPUT_MULTIPLE:
            vars(head)["forward"] = pad_outputs(head)
            patched.append(head)
        try:
            yield
        finally:
            for module in patched:
                del module.forward


class _BodyOutput(BaseModelOutput):
    """A body's output with hidden states only; every other attribute is None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("_"):
            raise AttributeError(name)


def find_shortcuts(model: Any) -> Shortcuts | None:
    """The shortcuts that give this model's own results; None if it cannot be split, or they are off."""
    if not is_enabled():
        return None
    bodies = (model.base_model, model.get_decoder())  # some heads use an inner module of the base
    splits = (Shortcuts(model, body) for body in bodies if body is not None and body is not model)
    shortcuts = next((split for split in splits if split.agree()), None)
    if shortcuts is None:
        return None
    if shortcuts.last_block is not None:
        shortcuts.skips_last_ffn = True
        shortcuts.skips_last_ffn = shortcuts.agree()
    local = any(hasattr(model.config, name) for name in LOCAL_ATTENTION_SETTINGS)
    if model.config._attn_implementation == "sdpa" and not local:
        shortcuts.key_mask = shortcuts.masks_agree()
    return shortcuts


def _close(found: Tensor, expected: Tensor) -> bool:
    return torch.allclose(found.float(), expected.float(), rtol=1e-3, atol=1e-3)


def _resident_bytes() -> int:
    """Resident memory of this process; 0 where the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@cache
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL("libc.so.6").malloc_trim
    except (OSError, AttributeError):
        return None
