"""NaN and infinity planted at every layer: an output that is not finite is never ranked, compared, kept or averaged."""

from __future__ import annotations

import functools
import math
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zoo
from unmask.audit.checks import Evidence, checks
from unmask.audit.scoring import ScoredItem, score_items
from unmask.core.errors import ModelError
from unmask.core.options import Opening
from unmask.core.types import Measure, Pair
from unmask.measures import DEFAULTS, find
from unmask.measures.probes import next_tokens_probe, unmasked_probe
from unmask.models import Engine, Lm, open_lm
from unmask.models.classifier import Classifier
from unmask.models.fill import top_words
from unmask.models.lm import NOT_FINITE
from unmask.models.states import mean_states
from unmask.models.store import Store

MODELS = ("bert-uncased", "llama")
VALUES = (math.nan, math.inf, -math.inf)
PAIRS = tuple(
    Pair(f"made/{number}", f"The {word} said he slept.", f"The {word} said she slept.")
    for number, word in enumerate(("man", "woman", "girl", "boy", "black person", "old person", "doctor", "nurse"))
)


@functools.cache
def load(name: str, dtype: Any = "fp32") -> Lm:
    return open_lm(zoo.folder(name), Opening(dtype=dtype))


@pytest.fixture(autouse=True)
def plain(plain_bf16: None) -> None:
    """Bfloat16 without oneDNN."""


@contextmanager
def weight_set_to(weight: torch.Tensor, value: float) -> Iterator[None]:
    """A weight whose first entry is not finite."""
    with torch.no_grad():
        before = weight.flatten()[0].clone()
        weight.view(-1)[0] = value
        try:
            yield
        finally:
            weight.view(-1)[0] = before


@contextmanager
def embedding_set_to(lm: Lm, token: int, value: float) -> Iterator[None]:
    """One token's input embedding is the value; by a hook, because some models tie it to the output layer."""

    def plant(_: Any, given: Any, embeddings: torch.Tensor) -> torch.Tensor:
        return embeddings.masked_fill((given[0] == token)[..., None], value)

    handle = lm.network.model.get_input_embeddings().register_forward_hook(plant)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def logit_set_to(lm: Lm, token: int, value: float) -> Iterator[None]:
    """One token's logit is the value at every position."""

    def plant(_: Any, __: Any, logits: torch.Tensor) -> torch.Tensor:
        return logits.index_fill(-1, torch.tensor([token]), value)

    handle = lm.network.model.get_output_embeddings().register_forward_hook(plant)
    try:
        yield
    finally:
        handle.remove()


def own_token(lm: Lm) -> int:
    """The first token of the first pair that most others do not have."""
    others = [lm.encode(pair.more).ids for pair in PAIRS[2:]]
    return next(token for token in lm.encode(PAIRS[0].more).ids if sum(token in ids for ids in others) < 2)


def measures(lm: Lm) -> list[Measure]:
    return [find(name) for name in dict.fromkeys((*DEFAULTS[lm.kind], "sld"))]


def score(lm: Lm, store: Store | None = None, pairs: tuple[Pair, ...] = PAIRS) -> tuple[list[ScoredItem], Evidence]:
    evidence, engine = Evidence(), Engine(lm, store)
    chunks = score_items("made", pairs, measures(lm), engine, evidence=evidence, progress=lambda _: None)
    return [item for chunk in chunks for item in chunk], evidence


def assert_unaffected_or_unscored(found: list[ScoredItem], clean: list[ScoredItem]) -> int:
    """Every row equals the clean one or is unscored for this reason; returns how many are unscored."""
    bad = 0
    for item, expected in zip(found, clean, strict=True):
        if item.row.outcome == "unscored":
            assert (item.row.reason, item.row.scores, item.sentences) == (NOT_FINITE, {}, {})
            bad += 1
        else:
            assert item.row.outcome == expected.row.outcome
            assert item.row.scores == pytest.approx(dict(expected.row.scores), rel=1e-3, abs=1e-3)
    return bad


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_whose_layers_overflow_is_refused(name: str, dtype: str, tmp_path: Path) -> None:
    lm = load(name, dtype)
    layers = [weight for path, weight in lm.network.model.named_parameters() if is_norm(path)]
    assert len(layers) >= lm.network.model.config.num_hidden_layers
    advice = "use dtype fp32 or bf16" if dtype == "fp16" else "use another checkpoint"
    store = Store(tmp_path / "store.sqlite")
    for weight in layers:
        for value in VALUES:
            with weight_set_to(weight, value), pytest.raises(ModelError, match=rf"in {dtype} are not finite.*{advice}"):
                score(lm, store, PAIRS[:2])
    store.close()
    assert readings_in(tmp_path / "store.sqlite") == 0


def is_norm(path: str) -> bool:
    """Whether the weight is of a norm, which scales every position: there is one before and in every layer."""
    return path.lower().replace("_", "").endswith(("layernorm.weight", "norm.weight"))


def readings_in(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("SELECT count(*) FROM readings").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("value", VALUES)
def test_only_items_with_a_broken_word_are_unscored(name: str, dtype: str, value: float, tmp_path: Path) -> None:
    lm = load(name, dtype)
    clean, _ = score(lm)
    token = own_token(lm)
    store = Store(tmp_path / "store.sqlite")
    with embedding_set_to(lm, token, value):
        found, evidence = score(lm, store)
        bad = assert_unaffected_or_unscored(found, clean)
        has_token = {pair.id for pair in PAIRS if token in lm.encode(pair.more).ids}
        assert {item.row.item for item in found if item.row.outcome == "unscored"} == has_token
        assert 0 < bad < len(found)
        check = next(
            each for each in checks(evidence, measures(lm), rows_of(found), lm) if each.name == "finite-outputs"
        )
        assert not check.ok
        assert check.detail.startswith(f"{evidence.not_finite} of {evidence.readings} readings are not finite")
        assert 0 < evidence.not_finite < evidence.readings / 2
        with pytest.raises(ModelError, match=r"readings of .* are not finite"):
            Engine(lm).read([unmasked_probe(lm.encode(PAIRS[0].more))])
    again, _ = score(lm, store)  # what was stored is finite, what was not is computed now
    assert assert_unaffected_or_unscored(again, clean) == 0
    store.close()


def rows_of(found: list[ScoredItem]) -> dict[str, list[Any]]:
    rows: dict[str, list[Any]] = {}
    for item in found:
        rows.setdefault(item.row.measure, []).append(item.row)
    return rows


@pytest.mark.parametrize("dtype", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("name", MODELS)
def test_a_token_of_probability_zero_matters_only_where_it_is_read(name: str, dtype: str) -> None:
    lm = load(name, dtype)
    used = {token for pair in PAIRS for text in pair.sides().values() for token in lm.encode(text).ids}
    unread = next(token for token in range(lm.network.vocab_size) if token not in used)
    with logit_set_to(lm, unread, -math.inf):
        found, evidence = score(lm)
    assert evidence.not_finite == 0
    assert [item.row.outcome for item in found if item.row.outcome == "unscored"] == []
    read = own_token(lm)
    with logit_set_to(lm, read, -math.inf):
        found, _ = score(lm)
    assert {item.row.reason for item in found if item.row.outcome == "unscored"} == {NOT_FINITE}
    with_token = {pair.id for pair in PAIRS if read in lm.encode(pair.more).ids}
    assert {item.row.item for item in found if item.row.outcome == "unscored"} == with_token
    for value in (math.nan, math.inf):
        with logit_set_to(lm, unread, value), pytest.raises(ModelError, match="not finite"):
            score(lm)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("value", VALUES)
def test_a_token_without_a_probability_is_never_the_first_guess(name: str, value: float) -> None:
    lm = load(name)
    sentence = lm.encode(PAIRS[0].more)
    probe = unmasked_probe(sentence) if lm.kind == "masked" else next_tokens_probe(sentence, sentence.content)
    with logit_set_to(lm, sentence.ids[2], value):
        reading = Engine(lm).submit([probe])()[probe]
    assert not reading.is_finite
    bad = ~np.isfinite(reading.logprobs)
    assert bad.any()
    assert (reading.ranks[bad] == lm.network.vocab_size).all()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("value", VALUES)
def test_words_and_states_never_come_from_outputs_that_are_not_finite(name: str, value: float) -> None:
    lm = load(name)
    texts = [f"{pair.more.split(' said')[0]} said that {{slot}} slept." for pair in PAIRS]
    clean = top_words(lm, texts, 2)
    token = own_token(lm)
    with embedding_set_to(lm, token, value):
        found = top_words(lm, texts, 2)
        assert (found[0].words, found[0].reason) == ((), NOT_FINITE)
        for one, expected in zip(found[1:], clean[1:], strict=True):
            assert (one.words, one.reason) == ((), NOT_FINITE) or [w.text for w in one.words] == [
                w.text for w in expected.words
            ]
        with pytest.raises(ModelError, match=r"1 of 1 predictions of .* are not finite"):
            top_words(lm, texts[:1], 2)
        ids = [lm.encode(pair.more).ids for pair in (PAIRS[0], PAIRS[6])]
        with pytest.raises(ModelError, match=r"1 of 2 hidden states of .* are not finite"):
            mean_states(lm, ids, [range(len(row)) for row in ids])


@pytest.mark.parametrize("value", VALUES)
def test_a_classifier_never_predicts_from_logits_that_are_not_finite(value: float) -> None:
    import transformers

    model = transformers.AutoModelForSequenceClassification.from_pretrained(zoo.folder("classifier"))
    classifier = Classifier(model.eval(), load("bert-uncased").tokenizer)
    texts = [(pair.more, None) for pair in PAIRS]
    assert np.isfinite(classifier.logits(texts)).all()
    with (
        weight_set_to(model.classifier.bias, value),
        pytest.raises(ModelError, match="8 of 8 predictions of the model"),
    ):
        classifier.probabilities(texts)


@pytest.mark.parametrize("value", VALUES)
def test_a_score_that_overflows_is_unscored(value: float) -> None:
    """Readings may be finite where a measure's arithmetic is not."""
    lm = load("bert-uncased")
    plain = find("aul")
    broken = replace(plain, score=lambda *given: replace(plain.score(*given), value=value))
    (chunk,) = score_items("made", PAIRS, [broken], Engine(lm), evidence=Evidence(), progress=lambda _: None)
    assert {(item.row.outcome, item.row.reason) for item in chunk} == {
        ("unscored", "the score is not finite (NaN or infinity)")
    }
