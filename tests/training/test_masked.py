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
def test_a_long_text_is_cut_into_rows_that_hold_all_of_it(name: str) -> None:
    _, tokenizer = zoo.make(name)
    causal = name in zoo.NAMES_CAUSAL
    special = set(tokenizer.all_special_ids)
    rows = encode_rows([TEXT, "A short one."], tokenizer, length=8, causal=causal)
    assert all(len(row) <= 8 for row in rows)
    whole = [token for row in rows for token in row.tolist() if token not in special]
    text, short = tokenizer([TEXT, "A short one."], add_special_tokens=False)["input_ids"]
    room = 8 - (len(rows[0]) - sum(token not in special for token in rows[0].tolist()))
    kept = text[: len(text) - len(text) % room] if len(text) % room < 3 else text
    assert whole == [
        *kept,
        *(short[: len(short) - len(short) % room] if 0 < len(short) % room < 3 else short),
    ]
    if not causal:
        assert all(row[0] == tokenizer.cls_token_id and row[-1] == tokenizer.sep_token_id for row in rows)


def test_padding_is_marked() -> None:
    ids, kept = pad_rows([[5, 6, 7], [8]], pad=9)
    assert ids.tolist() == [[5, 6, 7], [8, 9, 9]]
    assert kept.tolist() == [[1, 1, 1], [1, 0, 0]]


def test_of_the_tokens_chosen_most_are_masked_some_exchanged_some_left() -> None:
    _, tokenizer = zoo.make("bert-uncased")
    rows = encode_rows([TEXT] * 400, tokenizer) + encode_rows(["A short one."] * 3, tokenizer)
    batch = MaskedLMCollator(tokenizer)(rows, np.random.default_rng(0))
    truth, kept = pad_rows(rows, tokenizer.pad_token_id)
    chosen = batch["labels"] != -100
    assert torch.equal(batch["labels"][chosen], truth[chosen])
    assert torch.equal(batch["input_ids"][~chosen], truth[~chosen])
    special = torch.isin(truth, torch.tensor(tokenizer.all_special_ids))
    assert not (chosen & (special | (kept == 0))).any()
    shown = batch["input_ids"][chosen]
    masked = (shown == tokenizer.mask_token_id).float().mean()
    same = (shown == truth[chosen]).float().mean()
    assert chosen.sum() / (~special & (kept == 1)).sum() == pytest.approx(0.15, abs=0.02)
    assert masked == pytest.approx(0.8, abs=0.03)
    assert same == pytest.approx(0.1, abs=0.03)


def test_what_is_hidden_depends_on_the_dice_alone() -> None:
    _, tokenizer = zoo.make("bert-uncased")
    rows = encode_rows([TEXT] * 4, tokenizer)
    first, again, other = (
        MaskedLMCollator(tokenizer)(rows, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(first["input_ids"], again["input_ids"])
    assert not torch.equal(first["labels"], other["labels"])


def test_causal_models_foresee_every_token_but_no_padding() -> None:
    batch = CausalLMCollator(pad=3)([np.array([5, 6, 7]), np.array([8])], np.random.default_rng(0))
    assert batch["labels"].tolist() == [[5, 6, 7], [8, -100, -100]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]


@pytest.mark.parametrize("name", zoo.NAMES_CAUSAL)
def test_a_tokenizer_without_padding_gets_by(name: str) -> None:
    _, tokenizer = zoo.make(name)
    made = collator_for(tokenizer, causal=True)
    assert isinstance(made, CausalLMCollator)
    assert made.pad >= 0


def test_a_short_batch_has_something_to_guess() -> None:
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
def test_the_loss_of_guessed_tokens_is_the_models_own(name: str) -> None:
    model, tokenizer = zoo.make(name)
    batch = MaskedLMCollator(tokenizer)(
        encode_rows([TEXT, "A short one."] * 3, tokenizer), np.random.default_rng(3)
    )
    model.eval()
    fast = MaskedTokenLoss(Network(model))(model, batch)
    slow = model(**batch).loss
    assert fast.item() == pytest.approx(slow.item(), rel=1e-5)
    gradients = []
    for loss in (fast, slow):
        model.zero_grad()
        loss.backward()
        gradients.append(
            {key: one.grad.clone() for key, one in model.named_parameters() if one.grad is not None}
        )
    assert gradients[0].keys() == gradients[1].keys()
    assert all(torch.allclose(one, gradients[1][key], atol=1e-4) for key, one in gradients[0].items())
