"""Linear layers with weights that torchao quantised to int8 or int4 (extra `quantised`).

Weight-only quantisation: a layer multiplies its input by its dequantised weights. These are kept here, in fp32, so that
a score is that of the quantised model and every shortcut works; no memory is saved. The LM head and the embeddings stay
as they are, as in transformers. The weights differ from the original's, and so does the fingerprint.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from unmask.core.errors import ModelError
from unmask.core.options import Opening
from unmask.models.checkpoint import ModelCheckpoint
from unmask.models.loading import find_checkpoint

GROUP = 32  # inputs that share a scale in int4; int8 has one scale for each output


def load_quantised(reference: str, how: Opening) -> ModelCheckpoint:
    """The checkpoint of a model whose weights are quantised once it is loaded."""
    original = find_checkpoint(reference, replace(how, dtype="fp32"))
    change = partial(quantise, dtype=how.dtype, name=original.name)
    return replace(original, how=how, changes=(*original.changes, change))


def quantise(model: Any, *_: Any, dtype: str, name: str) -> tuple[Any, dict[str, str]]:
    """Quantise the weights of the linear layers in place: a change of a checkpoint."""
    import torch

    if find_spec("torchao") is None:
        raise ModelError(f"dtype is {dtype}, which needs torchao: run `pip install 'unmask[quantised]'`")
    head = model.get_output_embeddings()
    layers = {
        key: module for key, module in model.named_modules() if type(module) is torch.nn.Linear and module is not head
    }
    if not layers:
        raise ModelError(
            f"{name} has no linear layers that torchao can quantise ({type(model).__name__}): use fp32, bf16 or fp16"
        )
    grouped = all(layer.in_features % GROUP == 0 for layer in layers.values())
    from torchao.quantization import quantize_

    quantize_(model, _config(dtype, grouped=grouped), filter_fn=lambda _, key: key in layers)
    for layer in layers.values():
        weight = layer.weight.dequantize().to(torch.float32)
        layer.weight = torch.nn.Parameter(weight.contiguous(), requires_grad=False)
    scale = f"a scale for {GROUP} inputs" if grouped and dtype == "int4" else "a scale for each output"
    facts = f"{len(layers)} linear layers to {dtype}, {scale}, by torchao {version('torchao')}"
    return model, {"quantised": facts}


def _config(dtype: str, *, grouped: bool) -> Any:
    """The settings of torchao: symmetric, weights only."""
    import torch
    from torchao.quantization import Int8WeightOnlyConfig, IntxWeightOnlyConfig
    from torchao.quantization.granularity import PerAxis, PerGroup

    if dtype == "int8":
        return Int8WeightOnlyConfig()
    four_bits: Any = vars(torch)["int4"]  # not in torch's stubs
    return IntxWeightOnlyConfig(weight_dtype=four_bits, granularity=PerGroup(GROUP) if grouped else PerAxis(0))
