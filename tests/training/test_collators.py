from __future__ import annotations

import numpy as np
import pytest
import torch

import zoo
from unmask.models.network import Network
from unmask.training.collators import (
    CausalLMCollator,
    MaskedLMCollator,
    MaskedTokenLoss,
    collator_for,
    encode_rows,
    pad_rows,
)

TEXT = "The nurse said that she was late, and the doctor said that he was on time."


@pytest.mark.parametrize("name", ["bert-uncased", "roberta", "gpt2", "llama"])
def test_a_long_text_is_split_into_rows_without_loss(name: str) -> None:
    _, tokenizer = zoo.make(name)
    causal = name in zoo.NAMES_CAUSAL
    special = set(tokenizer.all_special_ids)
    rows = encode_rows([TEXT, "A short one."], tokenizer, length=8, causal=causal)
    assert all(len(row) <= 8 for row in rows)
    whole = [token for row in rows for token in row.tolist() if token not in special]
    text, short = tokenizer([TEXT, "A short one."], add_special_tokens=False)["input_ids"]
    room = 8 - (len(rows[0]) - sum(token not in special for token in rows[0].tolist()))
    kept = text[: len(text) - len(text) % room] if len(text) % room < 3 else text
    assert whole == [*kept, *(short[: len(short) - len(short) % room] if 0 < len(short) % room < 3 else short)]
    if not causal:
        assert all(row[0] == tokenizer.cls_token_id and row[-1] == tokenizer.sep_token_id for row in rows)


def test_padding_is_masked() -> None:
    ids, attention_mask = pad_rows([[5, 6, 7], [8]], pad=9)
    assert ids.tolist() == [[5, 6, 7], [8, 9, 9]]
    assert attention_mask.tolist() == [[1, 1, 1], [1, 0, 0]]


def test_selected_tokens_are_masked_replaced_or_unchanged_80_10_10() -> None:
    _, tokenizer = zoo.make("bert-uncased")
    rows = encode_rows([TEXT] * 400, tokenizer) + encode_rows(["A short one."] * 3, tokenizer)
    batch = MaskedLMCollator(tokenizer)(rows, np.random.default_rng(0))
    truth, attention_mask = pad_rows(rows, tokenizer.pad_token_id)
    chosen = batch["labels"] != -100
    assert torch.equal(batch["labels"][chosen], truth[chosen])
    assert torch.equal(batch["input_ids"][~chosen], truth[~chosen])
    special = torch.isin(truth, torch.tensor(tokenizer.all_special_ids))
    assert not (chosen & (special | (attention_mask == 0))).any()
    inputs = batch["input_ids"][chosen]
    masked = (inputs == tokenizer.mask_token_id).float().mean()
    same = (inputs == truth[chosen]).float().mean()
    assert chosen.sum() / (~special & (attention_mask == 1)).sum() == pytest.approx(0.15, abs=0.02)
    assert masked == pytest.approx(0.8, abs=0.03)
    assert same == pytest.approx(0.1, abs=0.03)


def test_masking_depends_on_the_generator_alone() -> None:
    _, tokenizer = zoo.make("bert-uncased")
    rows = encode_rows([TEXT] * 4, tokenizer)
    first, again, other = (MaskedLMCollator(tokenizer)(rows, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(first["input_ids"], again["input_ids"])
    assert not torch.equal(first["labels"], other["labels"])


def test_causal_labels_are_the_inputs_except_padding() -> None:
    batch = CausalLMCollator(pad=3)([np.array([5, 6, 7]), np.array([8])], np.random.default_rng(0))
    assert batch["labels"].tolist() == [[5, 6, 7], [8, -100, -100]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]


@pytest.mark.parametrize("name", zoo.NAMES_CAUSAL)
def test_a_tokenizer_without_a_pad_token_works(name: str) -> None:
    _, tokenizer = zoo.make(name)
    collator = collator_for(tokenizer, causal=True)
    assert isinstance(collator, CausalLMCollator)
    assert collator.pad >= 0


def test_a_short_batch_has_at_least_one_label() -> None:
    _, tokenizer = zoo.make("bert-uncased")
    rows = encode_rows(["A short one."], tokenizer)
    for seed in range(40):
        batch = MaskedLMCollator(tokenizer)(rows, np.random.default_rng(seed))
        chosen = batch["labels"] != -100
        assert chosen.any()
        assert batch["labels"][chosen].tolist() == torch.tensor(rows[0])[None][chosen].tolist()
        assert not chosen[0, 0]
        assert not chosen[0, -1]


@pytest.mark.parametrize("name", [name for name in zoo.NAMES_MASKED if name != "bert-nsp"])
def test_masked_token_loss_equals_the_models_own_loss(name: str) -> None:
    model, tokenizer = zoo.make(name)
    batch = MaskedLMCollator(tokenizer)(encode_rows([TEXT, "A short one."] * 3, tokenizer), np.random.default_rng(3))
    model.eval()
    fast = MaskedTokenLoss(Network(model))(model, batch)
    slow = model(**batch).loss
    assert fast.item() == pytest.approx(slow.item(), rel=1e-5)
    gradients = []
    for loss in (fast, slow):
        model.zero_grad()
        loss.backward()
        gradients.append(
            {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
        )
    assert gradients[0].keys() == gradients[1].keys()
    assert all(torch.allclose(grad, gradients[1][name], atol=1e-4) for name, grad in gradients[0].items())
