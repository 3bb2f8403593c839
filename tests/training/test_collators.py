"""Batches: lost text, unmasked padding or wrong labels would train another objective."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification

import zoo
from unmask.models.network import Network
from unmask.training.collators import (
    CausalLMCollator,
    MaskedLMCollator,
    MaskedTokenLoss,
    collator_for,
    encode_rows,
    pad_rows,
    split_batch,
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
    ids, attention_mask = pad_rows([[5, 6, 7], [8]], pad=9, multiple=4)
    assert ids.tolist() == [[5, 6, 7, 9], [8, 9, 9, 9]]
    assert attention_mask.tolist() == [[1, 1, 1, 0], [1, 0, 0, 0]]


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
    collate, rows = MaskedLMCollator(tokenizer, positions=True), encode_rows([TEXT, "A short one."] * 3, tokenizer)
    batch = dict(collate(rows, np.random.default_rng(3)))
    model.eval()
    fast = MaskedTokenLoss(Network(model))(model, batch)
    del batch["positions"]
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


def varied_rows(tokenizer: Any, *, causal: bool = False) -> list[np.ndarray[Any, Any]]:
    """24 rows of 5 to about 60 tokens, in random order."""
    texts = [TEXT + " The doctor" * (n * n // 24) if n % 2 else "A short one." for n in range(24)]
    return [encode_rows(texts, tokenizer, causal=causal)[n] for n in np.random.default_rng(1).permutation(24)]


def results(model: Any, loss: Any, parts: Any) -> tuple[float, dict[str, Any]]:
    """The loss of the parts together, and its gradients."""
    model.zero_grad()
    total = sum(share * loss(model, part) for share, part in parts)
    total.backward()
    return total.item(), {
        name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None
    }


@pytest.mark.parametrize("kind", ["masked", "own loss of a masked LM", "causal", "classifier", "regression"])
def test_the_parts_of_a_batch_have_the_loss_and_gradient_of_the_whole(kind: str) -> None:
    """Otherwise a training in parts of batches would be another training."""
    name = "gpt2" if kind == "causal" else "bert-uncased"
    model, tokenizer = zoo.make(name)
    rng = np.random.default_rng(2)
    collate = collator_for(tokenizer, causal=kind == "causal", positions=kind == "masked")
    batch, count = dict(collate(varied_rows(tokenizer, causal=kind == "causal"), rng)), collate.count
    if kind in ("classifier", "regression"):
        labels = 3 if kind == "classifier" else 1
        model = AutoModelForSequenceClassification.from_pretrained(zoo.folder(name), num_labels=labels)
        batch["labels"] = torch.tensor(rng.integers(0, 3, 24)) if labels == 3 else torch.tensor(rng.normal(size=24))
        count = lambda batch: len(batch["labels"])  # noqa: E731
    model = model.double().eval()
    loss = MaskedTokenLoss(Network(model)) if kind == "masked" else lambda model, batch: model(**batch).loss
    parts = split_batch(batch, count, gpu=False)
    assert len(parts) > 1
    assert sum(len(part["input_ids"]) for _, part in parts) == 24
    whole, gradients = results(model, loss, [(1.0, batch)])
    added, its_gradients = results(model, loss, parts)
    assert added == pytest.approx(whole, abs=1e-6)
    assert gradients.keys() == its_gradients.keys()
    assert all(torch.allclose(each, its_gradients[name], rtol=0, atol=1e-6) for name, each in gradients.items())


def test_parts_are_made_where_they_save_padding() -> None:
    lengths = [3, 90, 4, 5, 100, 4, 3, 5, 95, 4, 3, 5, 91, 4, 3, 5]
    batch = CausalLMCollator(pad=0)([np.arange(1, n + 1) for n in lengths], np.random.default_rng(0))
    parts = split_batch(batch, len, gpu=False)
    assert [tuple(part["input_ids"].shape) for _, part in parts] == [(12, 5), (4, 100)]
    assert [part["attention_mask"].sum(1).tolist() for _, part in parts] == [sorted(lengths)[:12], sorted(lengths)[12:]]
    for gpu, rows in ((True, 16), (False, 7), (False, 1)):  # a GPU computes it at once; too few rows for two parts
        few = {name: values[:rows] for name, values in batch.items()}
        ((share, whole),) = split_batch(few, len, gpu=gpu)
        assert (share, whole) == (1.0, few)
    many = {name: values.repeat(32, 1) for name, values in batch.items()}
    assert [part["input_ids"].shape[1] for _, part in split_batch(many, len, gpu=True)] == [8, 100]


def test_padding_before_a_text_is_not_removed() -> None:
    """Otherwise the positions of its tokens would change."""
    batch = CausalLMCollator(pad=0)([np.arange(1, n) for n in (4, 90) * 8], np.random.default_rng(0))
    assert len(split_batch(batch, len, gpu=False)) == 2
    left = {name: values.flip(1) for name, values in batch.items()}
    assert len(split_batch(left, len, gpu=False)) == 1


def test_a_part_that_predicts_nothing_is_left_out() -> None:
    """Otherwise its loss, the mean of no tokens, makes that of the batch NaN."""
    _, tokenizer = zoo.make("bert-uncased")
    collate = MaskedLMCollator(tokenizer, positions=True)
    batch = dict(collate(varied_rows(tokenizer), np.random.default_rng(2)))
    batch["labels"][batch["attention_mask"].sum(1) < 10] = -100
    parts = split_batch(batch, collate.count, gpu=False)
    assert sum(share for share, _ in parts) == pytest.approx(1)
    assert all(len(part["positions"]) for _, part in parts)
