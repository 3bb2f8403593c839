"""Fixtures for tests that open models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture
def plain_bf16() -> Iterator[None]:
    """Bfloat16 without oneDNN, whose kernels crash on virtual machines that only claim to have AMX."""
    enabled = torch._C._get_mkldnn_enabled()
    torch._C._set_mkldnn_enabled(False)
    yield
    torch._C._set_mkldnn_enabled(enabled)
