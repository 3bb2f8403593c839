"""Encoders called layer by layer give the states of the model itself, or are not used."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import zoo
from unmask.models import open_lm
from unmask.models.encoder import Encoder
from unmask.models.fast import selection
from unmask.models.fast import shortcuts as fast_shortcuts
from unmask.models.fast.shortcuts import Shortcuts

LIKE_BERT = ("bert-uncased", "roberta", "electra-generator")


def shortcuts_of(name: str) -> Shortcuts:
    found = open_lm(zoo.folder(name)).network.shortcuts
    assert found is not None
    return found


def a_batch() -> tuple[Tensor, Tensor]:
    """Masked copies of two sentences, padded, with the padding token in the middle of a sentence too."""
    ids = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12, 13], [5, 14, 7, 15, 9, 16, 17, 18, 0]]).repeat_interleave(4, 0)
    ids[torch.arange(8), torch.arange(8) % 4 + 1] = 4
    ids[7, 3] = 0  # a position that RoBERTa does not count
    ids[7, 4] = 1
    mask = torch.ones_like(ids)
    mask[4:, 8:] = 0
    return ids, mask


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("reads", ["all", "few", "many"])
@pytest.mark.parametrize("name", LIKE_BERT)
@torch.inference_mode()
def test_states_are_those_of_the_model(name: str, reads: str, padded: bool) -> None:
    shortcuts, (ids, mask) = shortcuts_of(name), a_batch()
    assert shortcuts.encoder is not None
    segments = (torch.arange(9) > 4).long().expand(8, 9)
    inputs: dict[str, Tensor] = {"token_type_ids": segments} if name != "roberta" else {}
    usual = shortcuts.body(input_ids=ids, attention_mask=mask if padded else None, **inputs)[0].flatten(0, 1)
    few = torch.arange(8) * 9 + torch.arange(8) % 4 + 1
    real = (mask if padded else torch.ones_like(ids)).flatten().nonzero()[:, 0]
    positions = {"all": None, "few": few, "many": real}[reads]
    found = shortcuts.states(ids, mask if padded else None, positions, **inputs).flatten(0, 1)
    chosen = few if reads == "few" else real
    torch.testing.assert_close(found[chosen], usual[chosen], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", LIKE_BERT)
@torch.inference_mode()
def test_attention_is_that_of_the_model(name: str, padded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    network, (ids, mask) = open_lm(zoo.folder(name)).network, a_batch()
    given = ids, mask if padded else None
    called: list[Tensor] = []
    monkeypatch.setattr(network.model, "set_attn_implementation", called.append)
    states, received = network.run_with_attention(*given)
    assert not called
    monkeypatch.undo()
    network.shortcuts = None
    logits, expected = network.run_with_attention(*given)
    assert states.shape[:2] == logits.shape[:2]
    torch.testing.assert_close(received, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["albert", "distilbert", "mpnet", "deberta-v2", "modernbert", "gpt2"])
def test_other_architectures_are_left_to_their_own_code(name: str) -> None:
    assert shortcuts_of(name).encoder is None


@pytest.mark.parametrize("part", ["_attend", "_attend_from", "_project_once", "_feed_forward", "states_with_attention"])
def test_an_encoder_that_disagrees_is_not_used(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = getattr(Encoder, part)

    def wrong(*args: Any) -> Any:
        found = right(*args)
        return tuple(1.01 * each for each in found) if isinstance(found, tuple) else found + 0.01 * found.flip(-1)

    monkeypatch.setattr(Encoder, part, wrong)
    assert shortcuts_of("bert-uncased").encoder is None


@pytest.mark.parametrize("module", ["bert", "bert.encoder.layer.0", "bert.encoder.layer.1.attention.self"])
@torch.inference_mode()
def test_what_hooks_change_is_not_passed_over(module: str) -> None:
    shortcuts, (ids, _) = shortcuts_of("bert-uncased"), a_batch()
    before, called = shortcuts.states(ids, None), []
    hook = shortcuts.model.get_submodule(module).register_forward_hook(lambda *_: called.append(module))
    torch.testing.assert_close(shortcuts.states(ids, None), before)
    assert called
    hook.remove()
    with torch.enable_grad():
        assert not Encoder(shortcuts.body).is_usable()
    shortcuts.body.train()
    assert not Encoder(shortcuts.body).is_usable()


@torch.inference_mode()
def test_digits_do_not_depend_on_whether_attention_was_read_before() -> None:
    """transformers leaves hooks on a model that returned attention weights; the encoder was not used after that."""
    lm, (ids, _) = open_lm(zoo.folder("bert-uncased")), a_batch()
    shortcuts = lm.network.shortcuts
    assert shortcuts is not None
    few = torch.arange(8) * 9 + 2
    before = shortcuts.states(ids, None, few)
    lm.network.run_with_attention(ids, None)
    assert shortcuts.encoder is not None
    assert shortcuts.encoder.is_usable()
    assert torch.equal(shortcuts.states(ids, None, few), before)


@pytest.mark.parametrize("name", ["bert-uncased", "electra-generator", "gpt2", "albert"])
@torch.inference_mode()
def test_reading_by_parts_of_the_vocabulary_gives_the_same_answers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_shortcuts, "VOCABULARY_PART", 37)
    shortcuts = shortcuts_of(name)
    assert shortcuts.reads_in_parts()
    states = shortcuts.states(torch.arange(5, 11)[None], None)[0]
    logits = shortcuts.logits(states)
    size = logits.shape[-1]
    rows, tokens = torch.tensor([0, 1, 1, 1, 3, 5]), torch.tensor([0, 36, 37, size - 1, int(logits[3].argmax()), 40])
    logprobs, ranks = shortcuts.read(states, rows, tokens)
    expected = logits.log_softmax(-1)[rows, tokens]
    torch.testing.assert_close(logprobs, expected, rtol=1e-5, atol=1e-5)
    assert ranks.tolist() == (logits[rows] > logits[rows, tokens][:, None]).sum(-1).tolist()
    output = shortcuts.output
    assert output is not None
    output.weight.zero_()
    if output.bias is not None:
        output.bias.zero_()
    _, ranks = shortcuts.read(states, rows, tokens)
    assert ranks.tolist() == [size - 1] * len(rows), "of tokens that are all alike none is the first guess"


def test_logits_changed_after_the_output_layer_are_not_read_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    shortcuts = shortcuts_of("bert-uncased")
    hook = shortcuts.model.get_output_embeddings().register_forward_hook(lambda _, __, logits: 2 * logits)
    assert not shortcuts.reads_in_parts()
    hook.remove()
    assert shortcuts.reads_in_parts()
    head = shortcuts.model.cls
    original = head.forward
    monkeypatch.setattr(head, "forward", lambda states: torch.tanh(original(states)))
    found = selection.find_shortcuts(shortcuts.model)
    assert found is not None
    assert found.output is None
