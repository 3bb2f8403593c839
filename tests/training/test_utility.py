"""Perplexity and accuracy on held-out text equal plain loops: a mitigation's cost would be wrong otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import zoo
from unmask.core.errors import DataError
from unmask.models import Engine, open_lm
from unmask.training.utility import Ability, accuracy, accuracy_change, measure_ability, perplexity, perplexity_change

TEXTS = [
    f"The {who} came home because {pronoun} had lost the key."
    for who in ("nurse", "king", "clerk")
    for pronoun in ("he", "she")
]


def test_masked_scores_equal_a_plain_loop() -> None:
    lm = open_lm(zoo.folder("bert-uncased"))
    ability = measure_ability(Engine(lm), TEXTS, seed=2)
    lost = tokens = 0.0
    for text in TEXTS:
        ids = torch.tensor([lm.tokenizer(text)["input_ids"]])
        for at in range(1, ids.shape[1] - 1):
            masked = ids.clone()
            masked[0, at] = lm.mask_id
            with torch.no_grad():
                scores = lm.network.model(input_ids=masked).logits[0, at].log_softmax(-1)
            lost -= scores[ids[0, at]].item()
            tokens += 1
    assert ability.perplexity == pytest.approx(math.exp(lost / tokens), rel=1e-4)
    assert len(ability.tokens) == len(TEXTS)
    n = [len(lm.encode(text).content) for text in TEXTS]
    assert sorted(ability.tries.tolist()) == sorted(float(max(1, round(0.15 * k))) for k in n)


def test_causal_scores_equal_a_plain_loop() -> None:
    lm = open_lm(zoo.folder("gpt2"))
    ability = measure_ability(Engine(lm), TEXTS)
    lost = tokens = hits = 0.0
    for text in TEXTS:
        ids = torch.tensor([lm.encode(text).ids])
        with torch.no_grad():
            scores = lm.network.model(input_ids=ids).logits[0].log_softmax(-1)
        for at in lm.encode(text).content:
            if at:
                lost -= scores[at - 1, ids[0, at]].item()
                hits += scores[at - 1].argmax().item() == ids[0, at].item()
                tokens += 1
    assert ability.perplexity == pytest.approx(math.exp(lost / tokens), rel=1e-4)
    assert ability.accuracy == pytest.approx(100 * hits / tokens)


def test_the_sampled_texts_depend_on_the_seed_alone() -> None:
    engine = Engine(open_lm(zoo.folder("bert-uncased")))
    first, again = measure_ability(engine, TEXTS, seed=1), measure_ability(engine, [*TEXTS, *TEXTS], seed=1)
    assert first.lost.tolist() == again.lost.tolist()


def make_ability(hits: list[int], tries: list[int], lost: list[float], tokens: list[int]) -> Ability:
    return Ability(*(np.array(values, dtype=float) for values in (hits, tries, lost, tokens)))


def test_changes_by_hand() -> None:
    before = make_ability([2, 1, 0, 1], [2, 2, 2, 2], [2.0, 4.0, 3.0, 3.0], [2, 4, 3, 3])
    after = make_ability([1, 1, 0, 0], [2, 2, 2, 2], [4.0, 8.0, 5.0, 7.0], [2, 4, 3, 3])
    assert accuracy(before).value == 50.0
    assert accuracy_change(before, after).value == -25.0
    assert perplexity(before).value == pytest.approx(math.e)
    assert perplexity_change(before, after).value == pytest.approx(math.e**2 - math.e)
    low, high = perplexity_change(before, after).low, perplexity_change(before, after).high
    assert low <= math.e**2 - math.e <= high


def test_no_change_has_an_interval_of_zero_width() -> None:
    same = make_ability([2, 1], [2, 2], [2.0, 4.0], [2, 4])
    assert (accuracy_change(same, same).low, accuracy_change(same, same).high) == (0.0, 0.0)


def test_too_little_text_is_refused() -> None:
    with pytest.raises(DataError, match="0 of 1 texts"):
        measure_ability(Engine(open_lm(zoo.folder("bert-uncased"))), ["Too short."])
