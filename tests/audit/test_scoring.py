"""Scoring chunk by chunk: what is held at once does not depend on the number of items."""

from __future__ import annotations

import functools
import itertools
import math
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

import zoo
from unmask.audit import scoring
from unmask.audit.checks import Evidence
from unmask.audit.parquet import Tables
from unmask.audit.scoring import score_items
from unmask.core.errors import ModelError
from unmask.core.types import Pair
from unmask.measures import find
from unmask.models import Engine, Lm, Store, open_lm

CHUNK, FEW, MANY = 8, 32, 96
MEASURES = tuple(find(name) for name in ("cps", "aul", "aula"))


@functools.cache
def load(name: str) -> Lm:
    return open_lm(zoo.folder(name))


@pytest.fixture(scope="module")
def lm() -> Lm:
    return load("bert-uncased")


@pytest.fixture(scope="module")
def pairs() -> tuple[Pair, ...]:
    """Distinct pairs of one length."""
    names = itertools.product("abcdefghij", repeat=2)
    texts = [f"{' '.join(name)} was here" for name in itertools.islice(names, MANY)]
    return tuple(Pair(f"own/{n}", f"he and {text}.", f"she and {text}.") for n, text in enumerate(texts))


def peak(lm: Lm, items: tuple[Pair, ...], folder: Path) -> int:
    """Bytes held at most while items are scored, stored and written, beyond those held before."""
    store = Store(folder / "readings.sqlite")
    tables = Tables(folder / "items.parquet", folder / "tokens.parquet", [])
    engine = Engine(lm, store)
    engine.limits = replace(engine.limits, items=CHUNK)
    evidence = Evidence()
    tracemalloc.start()
    try:
        for chunk in score_items("own", items, MEASURES, engine, evidence=evidence, progress=lambda _: None):
            tables.add(chunk, lm)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        tables.close()
        store.close()
        (folder / "readings.sqlite").unlink()


def test_memory_for_model_outputs_does_not_grow_with_the_number_of_items(
    lm: Lm, pairs: tuple[Pair, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readings that are kept would double it here."""
    monkeypatch.setattr(scoring, "FIRST", CHUNK)
    peak(lm, pairs, tmp_path)  # fills the caches of encodings and alignments, which are limited
    few, many = (peak(lm, pairs[:count], tmp_path) for count in (FEW, MANY))
    assert many < 1.6 * few


@pytest.mark.parametrize(
    ("name", "token", "measure"),
    [
        ("bert-uncased", "[MASK]", "aul"),
        ("bert-uncased", "[SEP]", "cps"),
        ("roberta", "<mask>", "aul"),
        ("gpt2", "<|endoftext|>", "ll"),
    ],
)
def test_a_special_token_in_a_sentence_is_not_scored(name: str, token: str, measure: str) -> None:
    """The model reads it as a mask or an end, not as what stands there: the score would be that of another sentence."""
    items = [
        Pair("own/0", f"The {token} nurse said she slept.", "The nurse said he slept."),
        Pair("own/1", "The [mask nurse said she slept.", "The nurse said he slept."),
    ]
    scored = score_items(
        "own", items, [find(measure)], Engine(load(name)), evidence=Evidence(), progress=lambda _: None
    )
    spelt, plain = (item.row for chunk in scored for item in chunk)
    assert (spelt.outcome, plain.outcome == "unscored") == ("unscored", False)
    assert token in spelt.reason


def test_differences_per_token_are_those_of_sums_only(lm: Lm) -> None:
    """The sentences have unequal numbers of tokens: the difference of the sums over any number would be wrong."""
    item = Pair(
        "own/0", "The nurse said that he was very tired today.", "The nurse said that the young woman was tired."
    )
    (chunk,) = score_items("own", [item], MEASURES, Engine(lm), evidence=Evidence(), progress=lambda _: None)
    cps, aul, aula = chunk
    more, less = (cps.sentences[side] for side in ("more", "less"))
    assert cps.difference_per_token == pytest.approx(more.logprobs.mean() - less.logprobs.mean())
    assert cps.difference_per_token != pytest.approx(cps.row.difference)
    assert math.isnan(aul.difference_per_token)
    assert math.isnan(aula.difference_per_token)


def score_with_bad_readings(
    lm: Lm, pairs: tuple[Pair, ...], shares: list[float], monkeypatch: pytest.MonkeyPatch
) -> int:
    """Score in chunks of which these shares of the readings are not finite; the number of rows."""
    submit, left = Engine.submit, iter(shares)

    def spoil(engine, probes, progress=None):
        finish = submit(engine, probes, progress)

        def readings():
            found = finish()
            bad = int(next(left) * len(found))
            found.asked.logprobs[: int(found.asked.count[:bad].sum())] = math.nan
            return found

        return readings

    monkeypatch.setattr(Engine, "submit", spoil)
    monkeypatch.setattr(scoring, "FIRST", CHUNK)
    engine = Engine(lm)
    engine.limits = replace(engine.limits, items=CHUNK)
    aul = [find("aul")]
    items, evidence = pairs[: CHUNK * len(shares)], Evidence(asked={"masked", "unmasked"})
    return sum(map(len, score_items("own", items, aul, engine, evidence=evidence, progress=lambda _: None)))


def test_a_bad_beginning_does_not_stop_a_run(lm: Lm, pairs: tuple[Pair, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    assert score_with_bad_readings(lm, pairs, [0.75, 0.0, 0.0], monkeypatch) == 3 * CHUNK


def test_a_model_most_of_whose_readings_are_bad_is_refused_at_the_end(
    lm: Lm, pairs: tuple[Pair, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match="readings of bert-uncased in fp32 are not finite"):
        score_with_bad_readings(lm, pairs, [0.0, 0.9, 0.9], monkeypatch)
