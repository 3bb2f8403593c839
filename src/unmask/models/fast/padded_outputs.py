"""Output layers of a size that a GPU's kernels are fast for."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

OUTPUT_MULTIPLE = 8  # GPU kernels are fast only when the number of outputs is a multiple of this


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
