"""The same model in several precisions, the fastest first, for scores certified at low precision (`audit.certified`).

On a GPU: fp16 (attention, feed-forward blocks and the states between them; sums, LayerNorm and softmax inside its
kernels and the whole LM head are wider), then TF32, then fp32. On a processor with bf16 products: bf16, then fp32.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from unmask.models.lm import Lm
from unmask.models.network import Network
from unmask.models.weights import namespace_of


def ladder(lm: Lm) -> tuple[Lm, ...]:
    """The precisions of a model in fp32, the fastest first and fp32 last; fp32 alone where nothing is faster."""
    device = lm.network.device
    if device.type == "cuda":
        steps = [_in_16_bits(lm, torch.float16), _lm(lm, lm.network.with_tf32(), "fp32+tf32")]
    else:
        steps = [_in_16_bits(lm, torch.bfloat16)] if has_bf16_products() else []
    return (*(step for step in steps if step is not None), lm)


def has_bf16_products() -> bool:
    """Whether this processor multiplies bf16 numbers (AVX512-BF16 or AMX)."""
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()  # since torch 2.12
    return any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16"))


def _in_16_bits(lm: Lm, dtype: torch.dtype) -> Lm | None:
    """A copy of the model with 16-bit weights and the LM head of the original; None if it cannot be run."""
    network = lm.network
    modules = [module for module in (network.model, network.next_sentence) if module is not None]
    # buffers stay as they are: 16 bits are too few for rotary frequencies
    known = {id(buffer): buffer for module in modules for buffer in module.buffers()}
    for module in modules:
        for weight in module.parameters():
            small = weight.detach().to(dtype) if weight.is_floating_point() else weight.detach()
            known[id(weight)] = nn.Parameter(small, requires_grad=False)
    try:
        model, next_sentence = (copy.deepcopy(module, known) for module in (network.model, network.next_sentence))
        small_network = Network(model, next_sentence=next_sentence, head=network)
        with torch.inference_mode():
            small_network.logits(small_network.run(torch.zeros((1, 2), dtype=torch.long, device=network.device), None))
    except (TypeError, RuntimeError, AttributeError, ValueError):
        return None
    return _lm(lm, small_network, {torch.float16: "fp16", torch.bfloat16: "bf16"}[dtype], "+fp32 head")


def _lm(lm: Lm, network: Network, dtype: str, head: str = "") -> Lm:
    facts: Any = replace(lm.facts, dtype=dtype)
    namespace = lm.namespace and namespace_of(facts.fingerprint, dtype + head)
    return replace(lm, network=network, facts=facts, namespace=namespace)
