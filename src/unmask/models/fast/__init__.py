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

`shortcuts` has what replaces the forward pass, `agreement` the comparison of each with the whole model, `selection` the
choice of those that agree, and `process` what concerns threads and memory.
"""

from __future__ import annotations

import os

from unmask.core import environment


def is_enabled() -> bool:
    """Whether the shortcuts are used."""
    return environment.fast()


def set_enabled(enabled: bool) -> None:
    """Turn all shortcuts on or off for this process and those it starts."""
    os.environ[environment.FAST] = str(int(enabled))
