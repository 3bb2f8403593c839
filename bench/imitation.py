"""The precisions of a GPU imitated on a CPU by rounding: what is decided, not how fast.

Matrix products take rounded factors and add them up in fp32, as tensor cores do. fp16: weights, and whatever enters or
leaves a layer, are rounded to fp16; the LM head is in TF32. TF32: factors keep ten bits, everything else is fp32.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.nn import functional

from unmask.models import Lm
from unmask.models.network import Network
from unmask.models.precision import _lm

Rounding = Callable[[Tensor], Tensor]


def imitated_ladder(lm: Lm) -> tuple[Lm, ...]:
    """fp16, TF32 and fp32, as `models.precision.ladder` gives them on a GPU; they need torch to use one thread."""
    tf32 = ImitatedNetwork(rounded_copy(lm.network.model, to_tf32, outputs=False), to_tf32)
    fp16 = ImitatedNetwork(rounded_copy(lm.network.model, to_fp16, outputs=True), to_fp16, head=tf32)
    return _lm(lm, fp16, "fp16"), _lm(lm, tf32, "fp32+tf32"), lm


def to_fp16(values: Tensor) -> Tensor:
    """The nearest fp16 numbers, infinite where they overflow."""
    return values.half().float()


def to_tf32(values: Tensor) -> Tensor:
    """The nearest numbers with ten bits after the first."""
    bits = values.contiguous().view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)


class ImitatedNetwork(Network):
    """A network whose products have rounded factors while it runs."""

    def __init__(self, model: Any, rounding: Rounding, head: Network | None = None) -> None:
        self.rounding = rounding
        with self.products():
            super().__init__(model, head=head)
        self.head = head  # as it is: TF32 of a CPU is fp32

    @contextlib.contextmanager
    def products(self) -> Iterator[None]:
        """Round the factors, and in fp16 the results, of attention."""
        multiply, rounding = torch.matmul, self.rounding
        result = rounding if rounding is to_fp16 else _same

        def matmul(left: Tensor, right: Tensor) -> Tensor:
            return result(multiply(rounding(left), rounding(right)))

        def attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, **options: Any) -> Tensor:
            groups = query.shape[1] // key.shape[1]
            key, value = (each.repeat_interleave(groups, 1) for each in (key, value))
            scores = multiply(rounding(query), rounding(key).transpose(-1, -2))
            scores = scores * (options.get("scale") or query.shape[-1] ** -0.5)
            if options.get("is_causal"):
                attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
            if attn_mask is not None:
                mask = attn_mask if attn_mask.dtype != torch.bool else torch.where(attn_mask, 0.0, float("-inf"))
                scores = scores + mask
            return result(multiply(rounding(scores.softmax(-1)), rounding(value)))

        with patch.object(torch, "matmul", matmul), patch.object(functional, "scaled_dot_product_attention", attention):
            yield


def _same(values: Tensor) -> Tensor:
    return values


def rounded_copy(model: Any, rounding: Rounding, *, outputs: bool) -> Any:
    """A copy with rounded weights whose layers round what they take, and with `outputs` what they give."""
    made = copy.deepcopy(model)
    head = made.get_output_embeddings()
    if not outputs:
        head.weight = nn.Parameter(head.weight.detach().clone())  # embeddings that share it are no factors
    with torch.no_grad():
        for module in made.modules():
            factors = outputs or isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"
            for weight in module.parameters(recurse=False) if factors else ():
                weight.copy_(rounding(weight))
            if any(True for _ in module.children()):
                continue
            if factors:
                module.register_forward_pre_hook(lambda _, given: tuple(map(_round_output(rounding), given)))
            if outputs:
                module.register_forward_hook(lambda _, __, given: _round_output(rounding)(given))
    base = made.base_model
    base.register_forward_hook(lambda *_: None)  # so that its own code is run, as on a GPU
    return made


def _round_output(rounding: Rounding) -> Callable[[Any], Any]:
    return lambda given: rounding(given) if isinstance(given, Tensor) and given.dtype == torch.float32 else given
