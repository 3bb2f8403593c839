"""Checkpoints with an eraser that other programs load: folded into the head, or kept from being loaded without it.

An eraser at the last layer of a BERT-like model is followed by a linear layer, so that projection and LEACE can be
folded into its weights: any loader then gets the mitigated predictions. The eraser is still saved beside the weights,
because a classifier made from the model needs it; both maps are idempotent, so that applying it again changes nothing.
Where folding is not exact, the weights are saved under a name that only this package knows: other programs refuse the
folder, instead of loading the unmitigated model in silence.
"""

from __future__ import annotations

import tempfile
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
from torch import nn

from unmask.core.errors import ModelError
from unmask.core.files import writing
from unmask.models.eraser import FILE, attach, attached_eraser, detach

HELD = "erased.safetensors"  # weights that must not be used without their eraser
WEIGHTS = "model.safetensors"
# linear layers that take what leaves the last layer, by architecture
_HEADS = (
    "cls.predictions.transform.dense",  # BERT, DeBERTa
    "lm_head.dense",  # RoBERTa and its relatives, MPNet
    "predictions.dense",  # ALBERT
    "generator_predictions.dense",  # ELECTRA
    "vocab_transform",  # DistilBERT
)
_TOLERANCE = 1e-5  # of log-probabilities


def fold(model: Any) -> bool:
    """Fold the attached eraser into the head; False, and nothing changed, where that is not exact.

    Exact means: without the eraser the model now gives the log-probabilities that it gave with it.
    """
    eraser = attached_eraser(model)
    assert eraser is not None
    linear, affine = _head(model), eraser.affine
    if linear is None or affine is None or affine[0].shape[0] != linear.in_features:
        return False
    expected = _logprobs(model)
    matrix, offset = (tensor.to(linear.weight.device) for tensor in affine)
    before = linear.weight.detach().clone(), linear.bias.detach().clone()
    with torch.no_grad():
        wide = linear.weight.double()
        linear.bias.copy_(linear.bias.double() + wide @ offset)
        linear.weight.copy_(wide @ matrix.T)
    detach(model)
    found = _logprobs(model)
    attach(model, eraser)
    if bool((found - expected).abs().max() <= _TOLERANCE * expected.abs().max().clamp(min=1.0)):
        return True
    with torch.no_grad():
        linear.weight.copy_(before[0])
        linear.bias.copy_(before[1])
    return False


def _head(model: Any) -> nn.Linear | None:
    """The linear layer behind the last layer; None where it is not known."""
    for name in _HEADS:
        try:
            layer = attrgetter(name)(model)
        except AttributeError:
            continue
        if isinstance(layer, nn.Linear) and layer.bias is not None:
            return layer
    return None


@torch.inference_mode()
def _logprobs(model: Any) -> torch.Tensor:
    """Log-probabilities for some tokens of the vocabulary, in evaluation mode."""
    training, device = model.training, next(model.parameters()).device
    ids = torch.arange(24, device=device).reshape(2, 12) * 7 % model.config.vocab_size
    model.eval()
    try:
        return model(input_ids=ids).logits.double().log_softmax(-1)  # type: ignore[no-any-return]
    finally:
        model.train(training)


def hold(folder: Path) -> None:
    """Rename the weights of a saved checkpoint, so that only this package loads them, with their eraser."""
    weights = folder / WEIGHTS
    if not weights.is_file():
        raise ModelError(f"{folder.name} has its weights in several files, so its eraser cannot be saved: use layer -1")
    weights.replace(folder / HELD)


def release(folder: Path) -> Path:
    """A folder of links in which the weights of `hold` have their usual name."""
    if not (folder / FILE).is_file():
        raise ModelError(
            f"cannot open {folder.name}: its weights ({HELD}) must be used with {FILE}, which is not there; "
            "copy the folder again"
        )
    names = tuple(sorted(path.name for path in folder.iterdir() if path.is_file()))
    return Path(_linked(folder.resolve(), names).name)


@cache
def _linked(folder: Path, names: tuple[str, ...]) -> tempfile.TemporaryDirectory[str]:
    links = tempfile.TemporaryDirectory(prefix="unmask-erased-")
    with writing(Path(links.name)):
        for name in names:
            (Path(links.name) / (WEIGHTS if name == HELD else name)).symlink_to(folder / name)
    return links
