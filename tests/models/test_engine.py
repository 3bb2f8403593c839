"""The engine: equal inputs run once, and batching does not change readings."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import zoo
from unmask.core.errors import ModelError, Unscorable
from unmask.core.types import Pair, Probe
from unmask.measures import MEASURES
from unmask.measures.probes import all_masked_probe, each_masked_probe, next_tokens_probe, unmasked_probe
from unmask.models import Engine, Lm, open_lm
from unmask.models.batches import Batch, Readings
from unmask.models.engine import _BatchOutput

ALL_MODELS = (*zoo.NAMES_MASKED, *zoo.NAMES_CAUSAL)


@functools.cache
def load(name: str) -> Lm:
    return open_lm(zoo.folder(name))


@functools.cache
def sample_pairs() -> tuple[Pair, ...]:
    return zoo.crows_pairs()[:6]


def probes_of(names: Sequence[str], lm: Lm, pairs: Sequence[Pair]) -> list[Probe]:
    """All probes of some measures; pairs that a measure cannot score are left out."""
    probes = []
    for pair in pairs:
        for name in names:
            try:
                by_side = MEASURES[name].probes(pair, lm)
            except Unscorable:
                continue
            probes += [probe for side in by_side.values() for probe in side]
    return probes


def rows_run(names: Sequence[str], pairs: Sequence[Pair] | None = None, model: str = "bert-uncased") -> int:
    engine = Engine(load(model))
    engine.read(probes_of(names, engine.lm, pairs or sample_pairs()))
    return engine.rows_run


def assert_same(first: Readings, second: Readings) -> None:
    for probe, reading in first.items():
        np.testing.assert_allclose(second[probe].logprobs, reading.logprobs, atol=1e-5, rtol=0)
        if reading.attention_received is not None:
            received = second[probe].attention_received
            np.testing.assert_allclose(received, reading.attention_received, atol=1e-6, rtol=0)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------- equal inputs run once


def test_measures_share_forward_passes() -> None:
    assert rows_run(["pll", "cps", "sld", "crows-bias-bench"]) == rows_run(["pll"])
    assert rows_run(["aul", "aula", "aula-normalised"]) == rows_run(["aul"]) == 2 * len(sample_pairs())
    assert rows_run(["sss", "sss-diagonal"]) == rows_run(["sss"])
    assert rows_run(["ll", "sld", "cll"], model="gpt2") == rows_run(["ll"], model="gpt2")


def test_a_pair_that_differs_in_one_token_shares_the_masked_input() -> None:
    pair = Pair("p/0", "he said so.", "she said so.")
    lm = load("bert-uncased")
    more, less = lm.encode(pair.more), lm.encode(pair.less)
    assert sum(a != b for a, b in zip(more.ids, less.ids, strict=True)) == 1
    assert rows_run(["pll"], [pair]) == len(more.content) + len(less.content) - 1
    assert rows_run(["crows-bias-bench"], [pair]) == 1
    assert rows_run(["sss"], [pair]) == 1


def test_a_repeated_sentence_costs_nothing() -> None:
    pairs = [Pair("p/0", "he said so.", "she said so."), Pair("p/1", "she said so.", "he said so.")]
    assert rows_run(["pll", "aula"], pairs) == rows_run(["pll", "aula"], pairs[:1])


def test_without_a_store_a_second_read_runs_again() -> None:
    engine = Engine(load("gpt2"))
    probes = probes_of(["ll"], engine.lm, sample_pairs())
    first = engine.read(probes)
    rows = engine.rows_run
    assert_same(first, engine.read(probes))
    assert engine.rows_run == 2 * rows


def test_no_probes_give_no_readings() -> None:
    assert Engine(load("bert-uncased")).read([]) == {}


# --------------------------------------------------------------------------- readings are correct


@pytest.mark.parametrize("name", ALL_MODELS)
def test_the_model_splits_into_body_and_head(name: str) -> None:
    assert load(name).network.shortcuts is not None


@pytest.mark.parametrize("name", ALL_MODELS)
def test_readings_equal_the_models_own_output(name: str) -> None:
    lm = load(name)
    content = np.random.default_rng(5).integers(10, lm.network.vocab_size - 20, size=11)
    ids = (lm.encode("He said so.").ids[0], *map(int, content))
    position, token = 6, int(content[2])
    inputs = list(ids)
    if lm.kind == "masked":
        inputs[position] = lm.mask_id
    probe = Probe(ids, ((position, token),), (position,) if lm.kind == "masked" else ())
    reading = Engine(lm).read([probe])[probe]
    with torch.inference_mode():
        logits = lm.network.model(input_ids=torch.tensor([inputs])).logits[0, position].double()
    assert reading.logprobs[0] == pytest.approx(float(logits.log_softmax(-1)[token]), abs=1e-5)
    assert reading.ranks[0] == int((logits > logits[token]).sum())


def test_of_tokens_that_are_all_alike_none_is_the_first_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose logits are constant would pass every check of accuracy, with 100%."""
    lm = load("roberta")
    monkeypatch.setattr(type(lm.network), "logits", lambda *_: torch.zeros(len(_[1]), lm.network.vocab_size))
    monkeypatch.setattr(type(lm.network), "parts_reader", lambda _: None)
    ids = lm.encode("He said so.").ids
    probe = Probe(ids, tuple(enumerate(ids)))
    assert set(Engine(lm).read([probe])[probe].ranks) == {lm.network.vocab_size - 1}


@functools.cache
def pool(name: str) -> tuple[tuple[Probe, ...], Readings]:
    """Probes of every form, and the reading of each when it is run alone."""
    lm = load(name)
    sentences = [lm.encode(text) for pair in sample_pairs()[:3] for text in (pair.more, pair.less)]
    probes: list[Probe] = []
    for encoded in sentences:
        if lm.kind == "causal":
            probes += [next_tokens_probe(encoded, encoded.content), next_tokens_probe(encoded, encoded.content[2:4])]
        else:
            probes += [
                each_masked_probe(encoded, encoded.content),
                each_masked_probe(encoded, encoded.content[1:3]),
                unmasked_probe(encoded),
            ]
            probes += [unmasked_probe(encoded, attention=True), all_masked_probe(encoded)]
    return tuple(probes), {probe: Engine(lm).read([probe])[probe] for probe in probes}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["roberta", "deberta-v2", "modernbert", "llama"])
@settings(max_examples=15, deadline=None)
@given(data=st.data(), tokens=st.sampled_from([32, 100, 4096]))
def test_readings_do_not_depend_on_the_other_probes(name: str, data: st.DataObject, tokens: int) -> None:
    probes, alone = pool(name)
    sample = data.draw(st.lists(st.sampled_from(probes), min_size=1, max_size=len(probes)))
    together = Engine(load(name), tokens=tokens).read(sample)
    assert set(together) == set(sample)
    assert_same(together, alone)


# -------------------------------------------------------------------------------- out of memory


def as_on_a_gpu(lm: Lm, monkeypatch: pytest.MonkeyPatch, tokens: int | None = None) -> Engine:
    """An engine that schedules batches as on a GPU."""
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor)
    engine = Engine(lm, tokens=tokens)
    engine.on_gpu = True
    return engine


def only_room_for(rows: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let batches of more rows run out of memory; the list fills with the sizes that ran."""
    run, sizes = Engine._run, []

    def limited(self: Engine, batch: Batch) -> object:
        if len(batch.ids) > rows:
            raise torch.cuda.OutOfMemoryError
        sizes.append(len(batch.ids))
        return run(self, batch)

    monkeypatch.setattr(Engine, "_run", limited)
    return sizes


@pytest.mark.thorough
@pytest.mark.parametrize("rows", [1, 3, 10])
def test_a_batch_that_does_not_fit_is_halved(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = load("bert-uncased")
    probes = probes_of(["pll", "aula", "sss"], lm, sample_pairs())
    expected = Engine(lm).read(probes)
    sizes = only_room_for(rows, monkeypatch)
    engine = as_on_a_gpu(lm, monkeypatch)
    budget = engine.limits.tokens
    assert_same(expected, engine.read(probes))
    assert engine.limits.tokens < budget
    assert max(sizes) <= rows


def test_one_row_that_does_not_fit_gives_a_one_line_error(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = load("bert-uncased")
    only_room_for(0, monkeypatch)
    with pytest.raises(ModelError, match="does not fit on cpu") as caught:
        as_on_a_gpu(lm, monkeypatch).read(probes_of(["pll"], lm, sample_pairs()))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["bert-uncased", "gpt2"])
def test_batches_collected_late_as_on_a_gpu_give_the_same_readings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """GPU scheduling on a CPU: a batch is collected after the next is launched."""
    lm = load(name)
    names = ("pll", "aul", "sss") if lm.kind == "masked" else ("ll", "cll")
    probes = probes_of(names, lm, sample_pairs())
    expected = Engine(lm).read(probes)
    engine = as_on_a_gpu(lm, monkeypatch, tokens=200)
    first, second = engine.submit(probes[: len(probes) // 2]), engine.submit(probes[len(probes) // 2 :])
    assert_same(expected, {**first(), **second()})
    assert_same(expected, {**first(), **second()})  # calling again costs nothing


def test_a_gpu_is_given_all_batches_before_the_outputs_of_any_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it stands still while the host plans the next probes."""
    happened: list[str] = []

    class Event:
        def query(self) -> bool:
            return False

        def synchronize(self) -> None:
            happened.append("waited")

    def launch(_: Engine, __: Any, batch: Batch) -> Any:
        happened.append("launched")
        zeros = torch.zeros(len(batch.places))
        return _BatchOutput(batch, zeros, zeros.long(), None, Event())  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "_forward", launch)
    engine = Engine(load("bert-uncased"), tokens=64)
    engine.on_gpu = True
    probes = [unmasked_probe(engine.lm.encode(pair.more)) for pair in sample_pairs()]
    readings = engine.submit(probes)
    assert set(happened) == {"launched"}
    count = len(happened)
    assert count > 4
    assert len(readings()) == len(set(probes))
    assert happened[count:] == ["waited"] * count
