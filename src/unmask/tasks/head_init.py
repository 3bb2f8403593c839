"""Where a new head begins: at the scale of what it sees and of what it is to say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unmask.data.examples import Example
from unmask.models.classifier import Classifier

SCALING_EXAMPLES = 256  # examples by which a pooler is scaled


def rescale_pooler(judge: Classifier, rows: Sequence[Example]) -> None:
    """Let a pooler that was drawn at random see states of size 1, for which such draws are made.

    The last states of a language model may be a hundredth of that: the pooler's output would be all but
    constant, and learning slow to start. A pooler of the model's own stays as it is.
    """
    import torch

    for name, layer in judge.model.named_modules():
        if "pooler" not in name or not isinstance(layer, torch.nn.Linear):
            continue
        if f"{name}.weight" not in judge.new_weights:
            continue
        seen: list[Any] = []
        hook = layer.register_forward_pre_hook(lambda _, given, seen=seen: seen.append(given[0]))
        judge.logits([(one.text, one.second) for one in rows[:SCALING_EXAMPLES]])
        hook.remove()
        size = float(torch.cat([one.flatten() for one in seen]).square().mean().sqrt())
        with torch.no_grad():
            layer.weight /= size


def init_regression_bias(model: Any, middle: float) -> None:
    """Let a head for numbers begin at the mean of what it is taught: else learning that takes most steps."""
    import torch

    heads = [one for one in model.modules() if isinstance(one, torch.nn.Linear) and one.out_features == 1]
    if heads and heads[-1].bias is not None:
        torch.nn.init.constant_(heads[-1].bias, middle)
