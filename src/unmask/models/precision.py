"""A model in other precisions: faster ones of the same model, and another model of quantised weights.

For scores certified at low precision (`audit.certified`), the fastest first. On a GPU: fp16 (attention, feed-forward
blocks and the states between them; sums, LayerNorm and softmax inside its kernels and the whole LM head are wider),
then TF32, then fp32. On a processor with bf16 products: bf16, then fp32.

Linear layers with weights that torchao quantised to int8 or int4 (extra `quantised`) multiply their input by their
dequantised weights. These are kept here, in fp32, so that a score is that of the quantised model and every shortcut
works; no memory is saved. The LM head and the embeddings stay as they are, as in transformers. The weights differ from
the original's, and so does the fingerprint.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn

from unmask.core.errors import ModelError
from unmask.core.options import Opening
from unmask.models.checkpoint import ModelCheckpoint
from unmask.models.lm import Lm
from unmask.models.loading import find_checkpoint
from unmask.models.network import Network
from unmask.models.weights import namespace_of

GROUP = 32  # inputs that share a scale in int4; int8 has one scale for each output


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


def load_quantised(reference: str, how: Opening) -> ModelCheckpoint:
    """The checkpoint of a model whose weights are quantised once it is loaded."""
    original = find_checkpoint(reference, replace(how, dtype="fp32"))
    change = partial(quantise, dtype=how.dtype, name=original.name)
    return replace(original, how=how, changes=(*original.changes, change))


def quantise(model: Any, *_: Any, dtype: str, name: str) -> tuple[Any, dict[str, str]]:
    """Quantise the weights of the linear layers in place: a change of a checkpoint."""
    if find_spec("torchao") is None:
        raise ModelError(f"dtype is {dtype}, which needs torchao: run `pip install 'unmask[quantised]'`")
    head = model.get_output_embeddings()
    layers = {key: module for key, module in model.named_modules() if type(module) is nn.Linear and module is not head}
    if not layers:
        raise ModelError(
            f"{name} has no linear layers that torchao can quantise ({type(model).__name__}): use fp32, bf16 or fp16"
        )
    grouped = all(layer.in_features % GROUP == 0 for layer in layers.values())
    from torchao.quantization import quantize_

    quantize_(model, _config(dtype, grouped=grouped), filter_fn=lambda _, key: key in layers)
    for layer in layers.values():
        weight = layer.weight.dequantize().to(torch.float32)
        layer.weight = nn.Parameter(weight.contiguous(), requires_grad=False)
    scale = f"a scale for {GROUP} inputs" if grouped and dtype == "int4" else "a scale for each output"
    facts = f"{len(layers)} linear layers to {dtype}, {scale}, by torchao {version('torchao')}"
    return model, {"quantised": facts}


def _config(dtype: str, *, grouped: bool) -> Any:
    """The settings of torchao: symmetric, weights only."""
    from torchao.quantization import Int8WeightOnlyConfig, IntxWeightOnlyConfig
    from torchao.quantization.granularity import PerAxis, PerGroup

    if dtype == "int8":
        return Int8WeightOnlyConfig()
    four_bits: Any = vars(torch)["int4"]  # not in torch's stubs
    return IntxWeightOnlyConfig(weight_dtype=four_bits, granularity=PerGroup(GROUP) if grouped else PerAxis(0))
