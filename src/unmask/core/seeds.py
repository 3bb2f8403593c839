"""Seeded random generators: every use has its own stream."""

from __future__ import annotations

import zlib

import numpy as np


def generator(seed: int, *labels: str | int) -> np.random.Generator:
    """A separate generator for each label, so that no result depends on which others are computed."""
    numbers = (zlib.crc32(label.encode()) if isinstance(label, str) else label for label in labels)
    return np.random.default_rng([seed, *numbers])
