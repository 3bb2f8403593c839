"""Initialise a new head: scale its pooler to its inputs, and its bias to the mean target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unmask.data.examples import Example
from unmask.models.classifier import Classifier

SCALING_EXAMPLES = 256  # examples from which the scale of a pooler's inputs is estimated


def rescale_pooler(classifier: Classifier, examples: Sequence[Example]) -> None:
    """Scale a randomly initialised pooler as if its inputs had unit RMS, which the initialisation assumes.

    The last hidden states of a language model may be a hundredth of that: the pooler's output would be almost
    constant and training slow to start. A pretrained pooler is left as it is.
    """
    import torch

    for name, layer in classifier.model.named_modules():
        if "pooler" not in name or not isinstance(layer, torch.nn.Linear):
            continue
        if f"{name}.weight" not in classifier.new_weights:
            continue
        inputs: list[Any] = []
        hook = layer.register_forward_pre_hook(lambda _, args, inputs=inputs: inputs.append(args[0]))
        classifier.logits([(example.text, example.second) for example in examples[:SCALING_EXAMPLES]])
        hook.remove()
        rms = float(torch.cat([states.flatten() for states in inputs]).square().mean().sqrt())
        with torch.no_grad():
            layer.weight /= rms


def init_regression_bias(model: Any, mean: float) -> None:
    """Set a regression head's bias to the mean target: learning it would take most of the steps."""
    import torch

    heads = [
        module
        for module in model.modules()
        if isinstance(module, torch.nn.Linear) and module.out_features == 1
    ]
    if heads and heads[-1].bias is not None:
        torch.nn.init.constant_(heads[-1].bias, mean)
