"""Lines that libraries log whenever they are imported and that say nothing about the work: dropped, and no others."""

from __future__ import annotations

from functools import partial
from logging import LogRecord, getLogger

# what torchao 0.18 logs when transformers imports it beside torch 2.13: kernels of GPUs, which are not used here
NOISE = {"torchao": "Failed to load", "torch.utils._pytree": "is an Enum subclass"}


def drop_noise() -> None:
    """Filter the lines of `NOISE` from the log of this process."""
    for name, words in NOISE.items():
        getLogger(name).addFilter(partial(_lacks, words))


def _lacks(words: str, record: LogRecord) -> bool:
    return words not in record.getMessage()
