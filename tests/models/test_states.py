"""Distributions after continued contexts equal those of whole sequences, and a context is run once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import zoo
from models.test_prefixes import ALONE, SHARING, build
from unmask.models import open_lm
from unmask.models.fast import selection
from unmask.models.fast.shortcuts import Shortcuts
from unmask.models.fill import top_words
from unmask.models.states import Continuations, distributions

RNG = np.random.default_rng(0)
CONTEXTS = [tuple(RNG.integers(5, 800, length).tolist()) for length in (3, 3, 3, 7, 40)]
ASKED = [(0, (5,)), (2, (6,)), (2, (7, 8)), (3, (9,)), (4, (10, 11)), (4, (12, 13))]


@pytest.mark.parametrize("name", [*zoo.NAMES_CAUSAL, *SHARING, *ALONE])
def test_a_continued_context_has_the_distribution_of_the_whole_sequence(name: str) -> None:
    lm = build(name)
    assert "key/value cache" in lm.network.shortcut_names
    continuations = Continuations(lm, CONTEXTS)
    rounds = [[(number, ()) for number in range(len(CONTEXTS))], ASKED, ASKED[::-2]]
    for asked in rounds:
        found = dict(continuations.distributions(asked))
        whole = [(*CONTEXTS[number], *added) for number, added in asked]
        for index, expected in distributions(lm, [(ids, len(ids) - 1) for ids in whole]):
            np.testing.assert_allclose(found[index], expected, atol=1e-6)


def test_a_context_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lm, run = open_lm(zoo.folder("gpt2")), Shortcuts.last_states
    lengths: list[int] = []

    def count(self: Shortcuts, ids: torch.Tensor, cache: object = None) -> object:
        lengths.append(ids.shape[1])
        return run(self, ids, cache)

    monkeypatch.setattr(Shortcuts, "last_states", count)
    text = "The nurse said that the old doctor was very {slot}."
    (found,) = top_words(lm, [text], 3)
    context = len(lm.encode(text.removesuffix(" {slot}.")).ids)
    assert lengths[0] == context
    assert len(lengths) == found.rows > 1
    assert max(lengths[1:]) < context


def test_a_wrong_cache_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "select_cache", lambda cache, rows: cache)  # the rows are those before
    lm = open_lm(zoo.folder("llama"))
    assert "key/value cache" not in lm.facts.shortcuts
    assert len(top_words(lm, ["The nurse said that {slot}."], 2)[0].words) == 2
