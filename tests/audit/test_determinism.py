"""The same rows for any batch size, order of data, number of threads, hash seed and state of the store.

Matrix products of another shape add up in another order, so the last digits of a score depend on the batch it is in:
by at most `BOUND`. Outcomes are the same, ties included.
"""

from __future__ import annotations

import functools
import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

import zoo
from unmask.audit.checks import Evidence
from unmask.audit.scoring import score_items
from unmask.core.types import Pair
from unmask.measures import MEASURES, find
from unmask.models import Engine, Lm, open_lm
from unmask.models.store import Store

BOUND = 2e-5  # of a sentence score in fp32 on a CPU; documented in docs/results.md
SAID = ("He said that she slept", "The old man said", "My friend was told that everybody there knew")
Scores = dict[str, tuple[str, dict[str, float]]]  # by measure and item: outcome and scores


@functools.cache
def load(name: str) -> Lm:
    return open_lm(zoo.folder(name))


def pairs() -> tuple[Pair, ...]:
    """Pairs of CrowS-Pairs, and some that differ in their last word only: a causal model's shared words tie."""
    last = [Pair(f"last/{n}", f"{text} a man", f"{text} the women") for n, text in enumerate(SAID)]
    return (*zoo.crows_pairs()[:8], *last)


def score(lm: Lm, items: Sequence[Pair], *, tokens: int | None = None, store: Store | None = None) -> Scores:
    names = ("cps", "aul", "aula") if lm.kind == "masked" else ("ll", "cll")
    engine, measures = Engine(lm, store, tokens=tokens), [find(name) for name in names]
    chunks = score_items("made", items, measures, engine, evidence=Evidence(), progress=lambda _: None)
    rows = [item.row for chunk in chunks for item in chunk]
    return {f"{row.measure} {row.item}": (row.outcome, dict(row.scores)) for row in rows}


def assert_same(found: Scores, expected: Scores) -> None:
    assert found.keys() == expected.keys()
    for key, (outcome, scores) in expected.items():
        assert found[key][0] == outcome, key
        assert found[key][1] == pytest.approx(scores, abs=BOUND, rel=0), key


@functools.cache
def usual(name: str) -> Scores:
    return score(load(name), pairs())


MODELS = ("bert-uncased", "gpt2")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tokens", [64, 512, 4096])
def test_the_batch_size_decides_no_outcome(name: str, tokens: int) -> None:
    assert_same(score(load(name), pairs(), tokens=tokens), usual(name))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_order_of_rows_decides_no_outcome(name: str, seed: int) -> None:
    items = list(pairs())
    random.Random(seed).shuffle(items)
    assert_same(score(load(name), items, tokens=128), usual(name))


@pytest.mark.parametrize("name", MODELS)
def test_the_number_of_threads_changes_no_digit(name: str) -> None:
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(score(load(name), pairs()))
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("limit", [1, 5])
def test_a_store_filled_by_fewer_items_decides_no_outcome(name: str, limit: int, tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite")
    score(load(name), pairs()[-limit:], store=store)
    warm = score(load(name), pairs(), store=store)
    assert_same(warm, usual(name))
    assert score(load(name), pairs(), store=store, tokens=64) == warm  # what is stored is not computed again
    store.close()


def test_sentences_that_differ_after_their_shared_words_tie_in_every_batch() -> None:
    """Their shared words have the same context, so the scores are equal, not nearly equal."""
    for tokens in (8, 64, None):
        found = score(load("gpt2"), pairs()[::-1], tokens=tokens)
        for number in range(len(SAID)):
            outcome, scores = found[f"cll last/{number}"]
            assert (outcome, scores["more"]) == ("tie", scores["less"])


def test_one_input_for_two_sentences_is_what_two_inputs_give() -> None:
    lm = load("gpt2")
    tie, other = (MEASURES["cll"].probes(pair, lm) for pair in (pairs()[-1], pairs()[0]))
    assert tie["more"] == tie["less"]
    assert other["more"] != other["less"]
    turned = MEASURES["cll"].probes(Pair("turned", pairs()[-1].less, pairs()[-1].more), lm)
    first, second = (Engine(lm).read([probe])[probe].logprobs for (probe,) in (tie["more"], turned["more"]))
    assert first.tolist() == pytest.approx(second.tolist(), abs=BOUND)


PROGRAM = """
import json, sys
from audit.test_determinism import load, pairs, score
print(json.dumps(score(load("gpt2"), pairs())))
"""


@pytest.mark.thorough
def test_the_hash_seed_changes_no_digit() -> None:
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"  # another than that of this process
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, check=True)
    assert json.loads(done.stdout) == json.loads(json.dumps(usual("gpt2")))
