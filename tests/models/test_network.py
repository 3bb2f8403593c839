"""Shortcuts of the network give what the model itself gives."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from tests import zoo
from torch import nn

from unmask.models import open_lm
from unmask.models.eraser import Eraser, attach
from unmask.models.network import pad_outputs


@pytest.mark.parametrize(("outputs", "bias"), [(5, True), (8, False), (13, False), (16, True)])
def test_an_evened_layer_is_the_layer_itself(outputs: int, bias: bool) -> None:
    torch.manual_seed(0)
    layer, states = nn.Linear(6, outputs, bias=bias), torch.randn(2, 3, 6)
    found = pad_outputs(layer)(states)
    assert found.shape == (2, 3, outputs)
    torch.testing.assert_close(found, layer(states))


def test_an_evened_layer_is_trained_and_follows_its_weights() -> None:
    torch.manual_seed(0)
    layer, states = nn.Linear(6, 5), torch.randn(3, 6)
    even = pad_outputs(layer)
    even(states).sum().backward()
    assert layer.weight.grad is not None
    torch.testing.assert_close(layer.weight.grad, states.sum(0).expand(5, 6))
    with torch.no_grad():
        layer.weight.add_(1.0)
    torch.testing.assert_close(even(states), layer(states))


@pytest.mark.parametrize("name", ["bert-uncased", "roberta", "gpt2"])
@torch.inference_mode()
def test_the_head_of_a_gpu_gives_the_models_logits(name: str) -> None:
    network = open_lm(zoo.folder(name)).network
    ids = torch.arange(5, 17).view(2, 6)
    whole = network.model(input_ids=ids).logits.flatten(0, 1)
    head = network.model.get_output_embeddings()
    network._padded_head = (head, pad_outputs(head))
    torch.testing.assert_close(network.logits(network.hidden_states(ids, None).flatten(0, 1)), whole)
    torch.testing.assert_close(network.model(input_ids=ids).logits.flatten(0, 1), whole)


@pytest.mark.parametrize(
    ("name", "quick"), [("bert-uncased", True), ("roberta", True), ("modernbert", False), ("gpt2", False)]
)
@torch.inference_mode()
def test_padding_is_not_seen_whichever_mask_is_given(name: str, quick: bool) -> None:
    """A mask over keys alone serves only where every layer sees the whole sentence in both directions."""
    network = open_lm(zoo.folder(name)).network
    assert network._key_mask == quick
    ids, kept = torch.arange(5, 21).view(2, 8), torch.ones(2, 8, dtype=torch.long)
    kept[1, 5:] = 0
    alone = network.model(input_ids=ids[1:, :5]).logits[0]
    found = network.logits(network.hidden_states(ids, kept)[1, :5])
    torch.testing.assert_close(found, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        *product(("bert-uncased", "roberta", "distilbert", "gpt2"), (None, 0, -1)),
        *product(("albert",), (None, -1)),  # its layers are one: an eraser fits behind the last alone
    ],
)
@torch.inference_mode()
def test_a_twin_calls_nothing_of_its_original(name: str, layer: int | None) -> None:
    network = open_lm(zoo.folder(name)).network
    if layer is not None:
        rows = torch.linalg.qr(torch.randn(32, 2, generator=torch.Generator().manual_seed(1)))[0].T
        attach(network.model, Eraser("projection", {"removed": rows}, layer, "a test"))
    replica = network.replicate()
    assert replica is not None
    called: list[str] = []
    for place, module in network.model.named_modules():
        module.register_forward_pre_hook(lambda *_, place=place: called.append(place))
    ids, places = torch.arange(5, 17).view(2, 6), torch.tensor([1, 8])
    found = replica.logits(replica.hidden_states(ids, None, positions=places).flatten(0, 1)[places])
    assert not called
    wanted = network.logits(network.hidden_states(ids, None).flatten(0, 1)[places])
    assert called
    torch.testing.assert_close(found, wanted)
    shared = zip(network.model.parameters(), replica.model.parameters(), strict=True)
    assert all(one is other for one, other in shared)
