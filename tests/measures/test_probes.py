"""The few ways of asking and of adding up, on sentences whose tokens can be counted."""

from __future__ import annotations

import numpy as np
import pytest

from unmask.core.types import Encoded, Probe
from unmask.measures import probes

from .hand import Hand, reading

SENTENCE = Encoded((0, 7, 8, 9, 1), (1, 2, 3), split=2)
PROBE = Probe((0, 7, 8, 9, 1), ((1, 7), (3, 9)))


def test_each_place_masked_alone_and_its_own_token_read() -> None:
    probe = probes.each_masked_probe(SENTENCE, (1, 3))
    assert probe == Probe((0, 7, 8, 9, 1), ((1, 7), (3, 9)), (1, 3), one_at_a_time=True, split=2)
    assert probes.each_masked_probe(Encoded((0, 7, 1), (1,)), (1,)).split == 0  # one text


def test_nothing_masked_and_every_content_token_read() -> None:
    plain, attentive = probes.unmasked_probe(SENTENCE), probes.unmasked_probe(SENTENCE, attention=True)
    assert plain == Probe((0, 7, 8, 9, 1), ((1, 7), (2, 8), (3, 9)))
    assert (plain.masked, plain.one_at_a_time, plain.attention, plain.split) == ((), False, False, 0)
    assert attentive.attention
    assert attentive.reads == plain.reads


def test_all_content_masked_at_once() -> None:
    probe = probes.all_masked_probe(SENTENCE)
    assert probe.masked == (1, 2, 3)
    assert probe.reads == ((1, 7), (2, 8), (3, 9))
    assert not probe.one_at_a_time


def test_a_causal_token_is_read_one_place_earlier_and_the_first_of_all_nowhere() -> None:
    probe = probes.next_tokens_probe(SENTENCE, (0, 1, 3))
    assert probe.reads == ((0, 7), (2, 9))
    assert probe.masked == ()


def test_the_sum_of_log_probabilities() -> None:
    score = probes.sum_score([PROBE], [reading(-1.0, -2.5)])
    assert score.value == -3.5
    assert score.positions == (1, 3)
    assert score.weights.tolist() == [1.0, 1.0]
    assert score.logprobs.tolist() == [-1.0, -2.5]


def test_the_mean_of_log_probabilities() -> None:
    score = probes.mean_score([PROBE], [reading(-1.0, -2.5)])
    assert score.value == pytest.approx(-1.75)
    assert score.positions == (1, 3)
    assert score.weights.tolist() == [0.5, 0.5]


def test_the_causal_sum_names_the_token_after_the_place_read() -> None:
    score = probes.next_tokens_score([PROBE], [reading(-1.0, -2.5)])
    assert score.value == -3.5
    assert score.positions == (2, 4)
    assert score.weights.tolist() == [1.0, 1.0]


def test_a_weighted_sum() -> None:
    score = probes.weighted_score([4, 5], np.array([-1.0, -2.0]), np.array([0.5, 2.0]))
    assert (score.value, score.positions, score.tokens) == (-4.5, (4, 5), None)


def test_the_reader_made_by_hand_does_what_it_says() -> None:
    """Everything below rests on it."""
    lm = Hand()
    assert lm.tokens(lm.encode("the doctor.").ids) == ["[CLS]", "the", "doct", "##or", ".", "[SEP]"]
    assert lm.text(lm.pieces("the doctor")) == "the doctor"
    assert lm.token_positions("the doctor.", 4, 10) == (2, 3)
    two = lm.encode("a cat", "it ran")
    assert lm.tokens(two.ids) == ["[CLS]", "a", "cat", "[SEP]", "it", "ran", "[SEP]"]
    assert (two.content, two.split) == ((4, 5), 4)
    causal = Hand("causal", spaced=True)
    assert causal.tokens(causal.encode("a man").ids) == ["[BOS]", "a", "_man"]
    assert causal.token_positions("a man", 2, 5) == (2,)
