"""Everything that makes scoring faster without changing its results, with one switch for all of it.

`UNMASK_FAST=0` in the environment, or `set_enabled(False)` in Python, turns all of it off; networks that are
already open keep what they have. Each shortcut of a network is verified against the whole model first.

- The network is split in two: the body gives hidden states for a batch, the head gives logits for single
  positions. So the head, a fifth of the work for a small vocabulary and most of it for a large one, runs only
  where a probe reads. The head is the model's own code: for one call its body returns the states at hand.
- Nothing after the last layer's attention mixes positions either, so in encoders built like BERT the last
  feed-forward block also runs only at the positions read.
- Such encoders are called layer by layer (`models.encoder`): a CPU has less to compute in the first and last layer, a
  GPU waits less for the host, and attention weights are read where they are made.
- On a CPU log-probabilities and ranks are taken from a part of the vocabulary at a time, while its logits are in the
  cache.
- Sequences of a causal model that begin alike are run as a prefix tree (`models.prefixes`): their common beginning is
  run and read once. A text that is continued in several ways is run once and its key/value cache kept.
- On a GPU the output layer is padded to a size its kernels are fast for, and slow attention kernels are
  avoided; where the attention mask need only cover keys it is passed as such, without synchronising.
- A CPU works on several batches at once (`workers`), with short turns between Python threads and no garbage
  collection; its heap is trimmed when the process has grown.
"""

from __future__ import annotations

import copy
import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers.modeling_outputs import BaseModelOutput

from unmask.core import environment
from unmask.models.encoder import Encoder
from unmask.models.prefixes import plant_trees

SLACK = 96 << 20  # bytes the process may grow by before its heap is trimmed (again)
WORKERS = 4  # batches a CPU works on at once, its cores divided among them
THREAD_TURN = 0.0005  # seconds between switches of Python threads: compute threads need the GIL often
# how much two ways to compute the outputs may differ, relative to their size: by rounding, not by another function
TOLERANCE, HALF_TOLERANCE = 1e-3, 0.2
RANK_SLACK = 0.01  # and how much two ranks may, relative to the vocabulary: where logits are all but equal
OUTPUT_MULTIPLE = 8  # GPU kernels are fast only when the number of outputs is a multiple of this
# configuration keys of models with local attention
LOCAL_ATTENTION_SETTINGS = ("layer_types", "local_attention", "sliding_window", "attention_window")
VOCABULARY_PART = 1024  # logits of a position computed at a time on a CPU
# those that give the tokens a causal model attends to
CAUSAL_WINDOWS = ("sliding_window", "attention_chunk_size", "window_size", "local_attention", "attention_window")
SHORT = 64  # tokens of a sequence up to which the memory-efficient attention kernel is twice as fast as the others
_SHORT_KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
_KERNELS = [SDPBackend.FLASH_ATTENTION, *_SHORT_KERNELS]  # cuDNN's takes twice as long
_CHECK_ERRORS = (AttributeError, TypeError, ValueError, RuntimeError, KeyError, IndexError)


def is_enabled() -> bool:
    """Whether the shortcuts of this module are used."""
    return environment.fast()


def set_enabled(enabled: bool) -> None:
    """Turn all shortcuts on or off for this process and those it starts."""
    os.environ[environment.FAST] = str(int(enabled))


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
            gc.freeze()  # together these make all objects old without scanning them
            gc.unfreeze()
            gc.enable()


class PaddedOutputs:
    """A linear layer computed with padding outputs that are sliced off again; its weights are padded once.

    In training they are padded at every call, so that gradients reach them.
    """

    def __init__(self, linear: nn.Linear) -> None:
        self.linear = linear
        self._version = (-1, -1)
        self._weights: tuple[Tensor, Tensor | None] | None = None

    def __call__(self, states: Tensor) -> Tensor:
        """The outputs; the weights are padded again if training has changed them."""
        if torch.is_grad_enabled():
            return functional.linear(states, *self._padded())[..., : self.linear.out_features]
        weight, bias = self.linear.weight, self.linear.bias
        version = (weight._version, 0 if bias is None else bias._version)
        if self._weights is None or self._version != version:
            self._weights, self._version = self._padded(), version
        return functional.linear(states, *self._weights)[..., : self.linear.out_features]

    def _padded(self) -> tuple[Tensor, Tensor | None]:
        weight, bias = self.linear.weight, self.linear.bias
        padding = -self.linear.out_features % OUTPUT_MULTIPLE
        padded = None if bias is None else functional.pad(bias, (0, padding))
        return functional.pad(weight, (0, 0, 0, padding)), padded


class Shortcuts:
    """A model called as body and head; made by `find_shortcuts`, which verifies it."""

    def __init__(self, model: Any, body: nn.Module) -> None:
        self.model, self.body = model, body
        self.device: torch.device = next(model.parameters()).device
        head = model.get_output_embeddings()
        pads = self.device.type == "cuda" and isinstance(head, nn.Linear) and head.out_features % OUTPUT_MULTIPLE
        self.padded_head = PaddedOutputs(head) if pads else None
        self.skips_last_ffn = False
        self.key_mask = False
        self.encoder: Encoder | None = None
        self.output: nn.Linear | None = None  # where its outputs are the logits, and can be computed in parts
        self.longest_in_trees = 0  # tokens of a sequence; 0: they cannot be run as prefix trees
        self.keeps_cache = False  # of texts that are continued

    @property
    def names(self) -> tuple[str, ...]:
        """What is replaced in the forward pass."""
        used = {
            "head at read positions": True,
            "last feed-forward block at read positions": self.skips_last_ffn,
            "mask over keys": self.key_mask,
            "padded head": self.padded_head is not None,
            "encoder called by layer": self.encoder is not None,
            "head by parts of the vocabulary": self.output is not None,
            "shared prefixes": self.longest_in_trees > 0,
            "key/value cache": self.keeps_cache,
        }
        return tuple(name for name, is_used in used.items() if is_used)

    def states(
        self, ids: Tensor, attention_mask: Tensor | None, positions: Tensor | None = None, **inputs: Tensor
    ) -> Tensor:
        """Last hidden states; with `positions` (in the flattened batch) only those there are valid."""
        if (encoder := self.usable_encoder()) is not None:
            keys = None if attention_mask is None else attention_mask.bool()
            with self._kernels(ids.shape[1]):
                return encoder.states(ids, keys, positions, **inputs)
        if attention_mask is not None and self.key_mask:
            attention_mask = attention_mask[:, None, None].bool()
        skip = self.skips_last_ffn and positions is not None
        with self._last_block_at(cast(Tensor, positions)) if skip else nullcontext(), self._kernels(ids.shape[1]):
            return self.body(input_ids=ids, attention_mask=attention_mask, **inputs)[0]  # type: ignore[no-any-return]

    def usable_encoder(self) -> Encoder | None:
        """The encoder called by layer; None where the model itself must be asked."""
        return self.encoder if self.encoder is not None and self.encoder.is_usable() else None

    def tree_states(self, ids: Tensor, positions: Tensor, ends: Tensor) -> Tensor:
        """Last hidden states of the nodes of prefix trees."""
        columns = torch.arange(ids.shape[1], device=self.device)
        mask = ((columns[:, None] >= columns) & (columns[:, None] < ends[:, None]))[:, None]
        if self.model.config._attn_implementation != "sdpa":  # adds its mask
            lowest = torch.finfo(self.model.dtype).min
            mask = torch.zeros_like(mask, dtype=self.model.dtype).masked_fill_(~mask, lowest)
        with self._kernels(ids.shape[1]):
            output = self.body(input_ids=ids, attention_mask=mask, position_ids=positions, use_cache=False)
        return output[0]  # type: ignore[no-any-return]

    def last_states(self, ids: Tensor, cache: Any = None) -> tuple[Tensor, Any]:
        """The last hidden state of every row, and the key/value cache of the rows; they continue those in `cache`."""
        output = self.body(input_ids=ids, past_key_values=cache, use_cache=True)
        return output[0][:, -1], output.past_key_values

    def _kernels(self, length: int) -> AbstractContextManager[None]:
        """The attention kernels of a GPU that are fast for sequences of this length."""
        if self.device.type != "cuda":
            return nullcontext()
        return sdpa_kernel(_SHORT_KERNELS if length <= SHORT else _KERNELS)

    def logits(self, states: Tensor) -> Tensor:
        """Logits over the vocabulary for rows of hidden states."""
        ids = torch.zeros((1, len(states)), dtype=torch.long, device=self.device)
        with self._replace_body(states[None]):
            return self.model(input_ids=ids).logits[0]  # type: ignore[no-any-return]

    def reads_in_parts(self) -> bool:
        """Whether `read` can be used: nothing changes the logits after the output layer."""
        output = self.output
        return output is not None and not (output._forward_hooks or output._forward_pre_hooks)

    def read(self, states: Tensor, rows: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probability in fp32 and rank of each token at its row of states, without all logits at once."""
        output = cast(nn.Linear, self.output)
        vars(output)["forward"] = lambda inputs: inputs
        try:
            inputs = self.logits(states)
        finally:
            del output.forward
        weight, bias = output.weight, output.bias
        near = torch.linalg.vecdot(inputs[rows], weight[tokens]).float()  # to rank by; exact up to rounding
        near = near if bias is None else near + bias[tokens].float()
        chosen, ranks, totals = torch.empty_like(near), torch.zeros_like(near), []
        alone = torch.equal(rows, torch.arange(len(inputs), device=rows.device))
        for begin in range(0, len(weight), VOCABULARY_PART):
            part = slice(begin, begin + VOCABULARY_PART)
            logits = functional.linear(inputs, weight[part], None if bias is None else bias[part]).float()
            others = logits if alone else logits[rows]
            higher = torch.gt(others, near[:, None], out=torch.empty_like(others))  # summing floats is faster
            own = ((tokens >= begin) & (tokens < begin + len(logits[0]))).nonzero()[:, 0]
            column = tokens[own] - begin
            chosen[own] = others[own, column]
            higher[own, column] = 0
            ranks += higher.sum(-1)
            totals.append(logits.logsumexp(-1))
        return chosen - torch.stack(totals).logsumexp(0)[rows], ranks.long()

    @torch.inference_mode()
    def parts_agree(self) -> bool:
        """Whether log-probabilities read by parts of the vocabulary are those of the logits."""
        size = self.model.config.vocab_size
        ids = torch.arange(6, device=self.device)[None] % size
        rows, tokens = torch.arange(6, device=self.device), torch.arange(6, device=self.device) * size // 6
        states = self.states(ids, None)[0]
        whole = self.logits(states).float().log_softmax(-1)
        try:
            found, ranks = self.read(states, rows, tokens)
        except _CHECK_ERRORS:
            return False
        expected = whole[rows, tokens]
        higher = (whole > expected[:, None]).sum(-1)
        return _close(found, expected, self.model.dtype) and bool((ranks - higher).abs().max() <= RANK_SLACK * size)

    @torch.inference_mode()
    def layers_agree(self) -> bool:
        """Whether the encoder called by layer gives the states of the body, padded or not, read anywhere or at few.

        So must those that are made with the attention weights at hand.
        """
        size, columns = self.model.config.vocab_size, torch.arange(12, device=self.device)
        ids = torch.stack([columns, columns.flip(0), columns * 7]) % size
        attention_mask = (columns < torch.tensor([[12], [9], [5]], device=self.device)).long()
        few = torch.tensor([1, 16, 28], device=self.device)
        try:
            encoder = Encoder(self.body)
            for mask in (None, attention_mask):
                usual = self.body(input_ids=ids, attention_mask=mask)[0].flatten(0, 1)
                keys = None if mask is None else mask.bool()
                real = columns.new_ones(36, dtype=torch.bool) if keys is None else keys.flatten()
                found, received = encoder.states_with_attention(ids, keys)
                added = received.sum(-1) - 1
                if (
                    not _close(found.flatten(0, 1)[real], usual[real], self.model.dtype)
                    or added.abs().max() > TOLERANCE
                ):
                    return False
                for positions in (None, few, real.nonzero()[:, 0]):
                    chosen = real.nonzero()[:, 0] if positions is None else positions
                    found = encoder.states(ids, keys, positions).flatten(0, 1)[chosen]
                    if not _close(found, usual[chosen], self.model.dtype):
                        return False
        except _CHECK_ERRORS:
            return False
        self.encoder = encoder
        return True

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
        return parts.shape == whole.shape and _close(parts, whole, self.model.dtype)

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
            return _close(self.states(ids, attention_mask)[attention_mask.bool()], usual, self.model.dtype)
        except _CHECK_ERRORS:
            return False

    @torch.inference_mode()
    def trees_agree(self) -> bool:
        """Whether prefix trees give the states of their sequences."""
        tokens = [[0, 1, 2, 3, 4, 5], [0, 1, 2, 6, 7, 8], [0, 1, 9, 10, 11, 12], [13, 14, 15, 16, 17, 0]]
        ids, lengths = np.array(tokens) % self.model.config.vocab_size, np.array([6, 6, 6, 5])
        inside = np.arange(6) < lengths[:, None]
        trees = plant_trees(ids, lengths, np.array([0, 0, 0, 1]), pad=0)
        given = [torch.from_numpy(array).to(self.device) for array in (ids, inside, trees.flat(*np.nonzero(inside)))]
        usual = self.states(given[0], given[1].long())[given[1]]
        try:
            arrays = (torch.from_numpy(array).to(self.device) for array in (trees.ids, trees.positions, trees.ends))
            return _close(self.tree_states(*arrays).flatten(0, 1)[given[2]], usual, self.model.dtype)
        except _CHECK_ERRORS:
            return False

    @torch.inference_mode()
    def caches_agree(self) -> bool:
        """Whether rows that continue a cache have the states of whole rows."""
        ids = torch.arange(12, device=self.device).view(2, 6) % self.model.config.vocab_size
        usual = self.states(ids, None)[:, -1]
        try:
            _, cache = self.last_states(ids[:, :4])
            rows = torch.tensor([1, 0], device=self.device)
            return _close(self.last_states(ids[rows, 4:], select_cache(cache, rows))[0], usual[rows], self.model.dtype)
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
        patched: list[Any] = [self.body]
        self.body.forward = lambda *_, **__: _BodyOutput(last_hidden_state=cast(torch.FloatTensor, states))
        if self.padded_head is not None:
            vars(self.padded_head.linear)["forward"] = self.padded_head
            patched.append(self.padded_head.linear)
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


def select_cache(cache: Any, rows: Tensor) -> Any:
    """A copy of a key/value cache with these of its rows."""
    selected = copy.deepcopy(cache)
    selected.batch_select_indices(rows)
    return selected


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
    shortcuts = next((split for split in splits if split.agree()), None)
    if shortcuts is None:
        return None
    if shortcuts.last_block is not None:
        shortcuts.skips_last_ffn = True
        shortcuts.skips_last_ffn = shortcuts.agree()
    local = any(hasattr(model.config, name) for name in LOCAL_ATTENTION_SETTINGS)
    if model.config._attn_implementation == "sdpa" and not local:
        shortcuts.key_mask = shortcuts.masks_agree()
        shortcuts.layers_agree()
    output = model.get_output_embeddings()
    if shortcuts.device.type == "cpu" and isinstance(output, nn.Linear):
        shortcuts.output = output
        shortcuts.output = output if shortcuts.parts_agree() else None
    if model.can_generate():
        shortcuts.longest_in_trees = _attention_window(model.config) if shortcuts.trees_agree() else 0
        shortcuts.keeps_cache = shortcuts.caches_agree()
    return shortcuts


def _attention_window(config: Any) -> int:
    """The tokens that every layer of a causal model attends to; very many if none is local."""
    settings = (getattr(config.get_text_config(), name, None) for name in CAUSAL_WINDOWS)
    return min((each for each in settings if isinstance(each, int) and each > 0), default=1 << 30)


def _close(found: Tensor, expected: Tensor, dtype: torch.dtype) -> bool:
    """Whether two computations of the same numbers agree as well as their precision allows."""
    tolerance = TOLERANCE if dtype == torch.float32 else HALF_TOLERANCE
    scale = expected.float().square().mean().sqrt()
    return bool((found.float() - expected.float()).abs().max() <= tolerance * scale)


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
