"""Seeded generators: the streams of earlier versions, so that saved results can be repeated."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from unmask.core.seeds import generator


@pytest.mark.parametrize("labels", [(), (3,), (5, 4), ("all",), ("all", 2)])
def test_streams_are_those_of_numpy_with_the_seed_and_the_labels(labels: tuple[str | int, ...]) -> None:
    numbers = [zlib.crc32(label.encode()) if isinstance(label, str) else label for label in labels]
    expected = np.random.default_rng((7, *numbers)).random(5)
    assert np.array_equal(generator(7, *labels).random(5), expected)
    assert not np.array_equal(generator(8, *labels).random(5), expected)
    assert not np.array_equal(generator(7, *labels, 1).random(5), expected)
