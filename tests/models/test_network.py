"""The network's shortcuts give the same numbers as the model itself."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from tests import zoo
from torch import nn

from unmask.models import open_lm
from unmask.models.eraser import Eraser, attach
from unmask.models.fast.shortcuts import PaddedOutputs


@pytest.mark.parametrize(("outputs", "bias"), [(5, True), (8, False), (13, False), (16, True)])
def test_a_padded_layer_equals_the_layer_itself(outputs: int, bias: bool) -> None:
    torch.manual_seed(0)
    layer, states = nn.Linear(6, outputs, bias=bias), torch.randn(2, 3, 6)
    padded = PaddedOutputs(layer)(states)
    assert padded.shape == (2, 3, outputs)
    torch.testing.assert_close(padded, layer(states))


def test_a_padded_layer_follows_its_weights() -> None:
    torch.manual_seed(0)
    layer, states = nn.Linear(6, 5), torch.randn(3, 6)
    padded = PaddedOutputs(layer)
    padded(states)
    with torch.no_grad():
        layer.weight.add_(1.0)
        layer.bias.add_(2.0)
    torch.testing.assert_close(padded(states), layer(states))


@pytest.mark.parametrize("name", ["bert-uncased", "roberta", "gpt2"])
@torch.inference_mode()
def test_the_padded_head_gives_the_models_logits(name: str) -> None:
    network = open_lm(zoo.folder(name)).network
    ids = torch.arange(5, 17).view(2, 6)
    whole = network.model(input_ids=ids).logits.flatten(0, 1)
    assert network.shortcuts is not None
    network.shortcuts.padded_head = PaddedOutputs(network.model.get_output_embeddings())
    torch.testing.assert_close(network.logits(network.run(ids, None).flatten(0, 1)), whole)
    torch.testing.assert_close(network.model(input_ids=ids).logits.flatten(0, 1), whole)


@pytest.mark.parametrize(
    ("name", "key_mask"), [("bert-uncased", True), ("roberta", True), ("modernbert", False), ("gpt2", False)]
)
@torch.inference_mode()
def test_padding_is_ignored_with_either_attention_mask(name: str, key_mask: bool) -> None:
    """A mask over keys alone is valid only where every layer attends globally in both directions."""
    network = open_lm(zoo.folder(name)).network
    assert network.shortcuts is not None
    assert network.shortcuts.key_mask == key_mask
    ids, attention_mask = torch.arange(5, 21).view(2, 8), torch.ones(2, 8, dtype=torch.long)
    attention_mask[1, 5:] = 0
    alone = network.model(input_ids=ids[1:, :5]).logits[0]
    logits = network.logits(network.run(ids, attention_mask)[1, :5])
    torch.testing.assert_close(logits, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        *product(("bert-uncased", "roberta", "distilbert", "gpt2"), (None, 0, -1)),
        *product(("albert",), (None, -1)),  # its layers share a module: an eraser can only follow the last
    ],
)
@torch.inference_mode()
def test_a_replica_calls_no_module_of_its_original(name: str, layer: int | None) -> None:
    network = open_lm(zoo.folder(name)).network
    if layer is not None:
        rows = torch.linalg.qr(torch.randn(32, 2, generator=torch.Generator().manual_seed(1)))[0].T
        attach(network.model, Eraser("projection", {"removed": rows}, layer, "a test"))
    replica = network.replicate()
    assert replica is not None
    called: list[str] = []
    for path, module in network.model.named_modules():
        module.register_forward_pre_hook(lambda *_, path=path: called.append(path))
    ids, positions = torch.arange(5, 17).view(2, 6), torch.tensor([1, 8])
    logits = replica.logits(replica.run(ids, None, positions=positions).flatten(0, 1)[positions])
    assert not called
    expected = network.logits(network.run(ids, None).flatten(0, 1)[positions])
    assert called
    torch.testing.assert_close(logits, expected)
    shared = zip(network.model.parameters(), replica.model.parameters(), strict=True)
    assert all(original is copied for original, copied in shared)
