"""The shortcuts for speed do not change results, and one switch turns all of them off."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest
import torch

import zoo
from models.test_engine import sample_pairs
from unmask.audit.checks import Evidence
from unmask.audit.scoring import ScoredItem, score_items
from unmask.core import environment
from unmask.core.options import Opening
from unmask.core.types import Measure
from unmask.measures import MEASURES
from unmask.models import Engine, Lm, fast, open_lm
from unmask.models.fast import selection
from unmask.models.fast.shortcuts import PaddedOutputs, Shortcuts
from unmask.models.states import all_layers, distributions

MODELS = ("bert-uncased", "roberta", "albert", "gpt2")


@pytest.fixture(params=MODELS)
def both(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[Lm, Lm]:
    """A model with the shortcuts and without; they are off in the rest of the test."""
    with_shortcuts = open_lm(zoo.folder(request.param))
    monkeypatch.setenv(environment.FAST, "0")
    return with_shortcuts, open_lm(zoo.folder(request.param))


def test_the_switch_turns_every_shortcut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def state() -> tuple[bool, int, bool, bool]:
        with fast.tune_interpreter():
            short_turns = sys.getswitchinterval() == pytest.approx(fast.THREAD_TURN)
            return (open_lm(zoo.folder("gpt2")).network.shortcuts is None, fast.workers(8), gc.isenabled(), short_turns)

    trims: list[int] = []
    monkeypatch.setattr(fast, "_malloc_trim", lambda: trims.append)
    monkeypatch.setattr(fast, "SLACK", -(1 << 50))
    monkeypatch.setenv(environment.FAST, "1")
    assert state() == (False, fast.WORKERS, False, True)
    fast.HeapTrimmer().trim()
    assert trims == [0]
    fast.set_enabled(False)
    assert state() == (True, 1, True, False)
    fast.HeapTrimmer().trim()
    assert trims == [0]


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
@pytest.mark.parametrize("name", MODELS)
def test_models_in_low_precision_are_split_too(name: str, dtype: str) -> None:
    """Rounding alone must not make the checks of the shortcuts fail: scoring would be several times slower."""
    how = Opening(dtype=dtype)  # type: ignore[arg-type]
    found, exact = (open_lm(zoo.folder(name), each) for each in (how, Opening()))
    assert found.facts.shortcuts == exact.facts.shortcuts != ()


def test_a_head_that_cannot_be_run_apart_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "logits_agree", lambda _: False)
    with pytest.warns(UserWarning, match="whole network at every position"):
        lm = open_lm(zoo.folder("gpt2"))
    assert lm.facts.shortcuts == ()


@pytest.mark.parametrize("scale", [1.0, 1.5])
def test_a_wrong_head_is_noticed_in_low_precision(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    model = open_lm(zoo.folder("bert-uncased"), Opening(dtype="bf16")).network.model
    logits = Shortcuts.logits
    monkeypatch.setattr(Shortcuts, "logits", lambda self, states: scale * logits(self, states))
    assert (selection.find_shortcuts(model) is not None) == (scale == 1.0)


def test_gradients_reach_the_weights_of_a_padded_head() -> None:
    """Otherwise training on a GPU would leave an output layer of odd size, such as RoBERTa's, as it was."""
    linear, states = torch.nn.Linear(4, 11), torch.randn(3, 4)
    padded = PaddedOutputs(linear)
    with torch.inference_mode():
        assert torch.allclose(padded(states), linear(states))
    gradients = []
    for layer in (padded, linear):
        linear.zero_grad()
        layer(states).square().sum().backward()
        gradients.append([weight.grad for weight in linear.parameters()])
    torch.testing.assert_close(*gradients)


def test_scores_and_decisions_are_equal_without_the_shortcuts(both: tuple[Lm, Lm]) -> None:
    first, second = (scores(lm) for lm in both)
    assert len(first) == len(second) > 20
    for item, other in zip(first, second, strict=True):
        assert item.row.outcome == other.row.outcome
        assert item.row.scores == pytest.approx(other.row.scores, abs=1e-4)


@torch.inference_mode()
def test_hidden_states_are_equal_without_the_shortcuts(both: tuple[Lm, Lm]) -> None:
    ids, attention_mask = torch.arange(5, 21).view(2, 8), torch.ones(2, 8, dtype=torch.long)
    attention_mask[1, 5:] = 0
    shortcuts = both[0].network.shortcuts
    assert shortcuts is not None
    plain = all_layers(both[1].network.model, ids, attention_mask)[-1][attention_mask.bool()]
    for found in (shortcuts.states(ids, attention_mask), all_layers(shortcuts.model, ids, attention_mask)[-1]):
        torch.testing.assert_close(found[attention_mask.bool()], plain, rtol=1e-4, atol=1e-5)


def test_distributions_and_attention_are_equal_without_the_shortcuts(both: tuple[Lm, Lm]) -> None:
    slots = [((5, 6, 7, 8, 9), 2), ((5, 6, 7), 0)]
    first, second = (dict(distributions(lm, slots)) for lm in both)
    for index in range(len(slots)):
        np.testing.assert_allclose(first[index], second[index], atol=1e-6)
    ids = torch.arange(5, 21).view(2, 8)
    with torch.inference_mode():
        received = [lm.network.run_with_attention(ids, None)[1] for lm in both]
    torch.testing.assert_close(*received)


def scores(lm: Lm) -> list[ScoredItem]:
    """Every measure that the model can answer, over some pairs."""
    measures: list[Measure] = [measure for measure in MEASURES.values() if lm.kind in measure.kinds]
    chunks = score_items(
        "pairs", sample_pairs()[:6], measures, Engine(lm), evidence=Evidence(), progress=lambda _: None
    )
    return [item for chunk in chunks for item in chunk]
