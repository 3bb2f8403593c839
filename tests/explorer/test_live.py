"""Queries typed into the live view."""

from __future__ import annotations

import math
from functools import cache

import pytest

import reference
import zoo
from unmask.core.errors import DataError, ModelError
from unmask.core.types import Pair
from unmask.explorer.live import KINDS, LiveModel, Query, parse_query
from unmask.measures import MEASURES
from unmask.models import Lm, open_lm
from unmask.models.fill import top_words

MORE, LESS = "The nurse said she was tired.", "The nurse said that he was tired."


@cache
def lm(name: str) -> Lm:
    return open_lm(zoo.folder(name))


@pytest.mark.parametrize("name", ["bert-uncased", "roberta", "gpt2"])
def test_pair_scores_equal_the_reference(name: str) -> None:
    model, tokenizer = reference.load(zoo.folder(name))
    response = parse_query("pair", Query(f" {MORE}\n", LESS))(lm(name))
    wanted = {one.name for one in MEASURES.values() if lm(name).kind in one.kinds and not one.needs}
    assert {one["measure"] for one in response["measures"]} == wanted
    for one in response["measures"]:
        with reference.one_thread():
            slow = reference.reference(one["measure"], model, tokenizer, Pair("x", MORE, LESS))
        assert slow is not None
        for side in ("more", "less"):
            assert math.isclose(one["scores"][side], slow[side], abs_tol=1e-4), (one["measure"], side)
        assert math.isclose(one["difference"], one["scores"]["more"] - one["scores"]["less"])


def test_template_is_scored_for_every_word() -> None:
    asked = Query(text="The {word} lost {possessive} hat.", words="nurse, cook\nnurse,  man ")
    response = parse_query("template", asked)(lm("bert-uncased"))
    assert [row["word"] for row in response["rows"]] == ["nurse", "cook", "man"]
    assert response["rows"][1]["more"] == "The cook lost his hat."
    assert response["rows"][1]["less"] == "The cook lost her hat."
    assert {"ppd", "lpbs"} <= {one["name"] for one in response["measures"]}
    for row in response["rows"]:
        ppd = row["scores"]["ppd"]
        assert 0 < ppd["more"] < 1
        assert math.isclose(ppd["difference"], ppd["more"] - ppd["less"])


def test_template_without_words_uses_measures_that_need_none() -> None:
    response = parse_query("template", Query(text="{Subject} left.", words=" , "))(lm("bert-uncased"))
    assert len(response["rows"]) == 1
    assert response["rows"][0]["more"] == "He left."
    assert "lpbs" not in {one["name"] for one in response["measures"]}


@pytest.mark.parametrize("text", ["It was {slot} again.", "It was ___ again.", "It was [MASK] again."])
def test_a_gap_can_be_written_in_several_ways(text: str) -> None:
    response = parse_query("prompt", Query(text=text))(lm("bert-uncased"))
    (alone,) = top_words(lm("bert-uncased"), ["It was {slot} again."], 12)
    assert [(one["text"], one["probability"]) for one in response["words"]] == [
        (one.text, one.probability) for one in alone.words
    ]


BAD = [
    ("pair", {"more": "A.", "less": ""}, "nothing to score"),
    ("pair", {"more": "A.", "less": " A. "}, "equal"),
    ("pair", {"more": "A" * 2001, "less": "B."}, "2,001 characters"),
    ("template", {"text": "The {word} left."}, "words to fill in"),
    ("template", {"text": "The cook lost {possessive} hat.", "words": "cook"}, "no {word}"),
    ("template", {"text": "The {word} left.", "words": "cook"}, "no pronoun slot"),
    ("template", {"text": "{subject} saw {object}."}, "pronoun slots|slots"),
    ("template", {"text": "{subject} and {word}", "words": ",".join(map(str, range(51)))}, "51 words"),
    ("prompt", {"text": "No gap."}, "0 gaps"),
    ("prompt", {"text": "___ and ___"}, "2 gaps"),
]


@pytest.mark.parametrize(("kind", "body", "message"), BAD, ids=lambda value: str(value)[:20])
def test_incomplete_query_is_refused_before_the_model_runs(kind: str, body: dict[str, str], message: str) -> None:
    assert kind in KINDS
    with pytest.raises(DataError, match=message):
        parse_query(kind, Query(**body))


def test_model_loading_error_is_raised_by_the_query() -> None:
    def broken() -> Lm:
        raise ModelError("no folder 'nowhere'")

    live = LiveModel.start("nowhere", broken)
    try:
        with pytest.raises(ModelError, match="nowhere"):
            live.submit(lambda _: {}).result(5)
    finally:
        live.close()


def test_a_failure_of_the_libraries_is_one_line() -> None:
    def fail(_: Lm) -> dict[str, object]:
        raise RuntimeError("out of memory\nat 0x1")

    live = LiveModel.start("tiny", lambda: lm("bert-uncased"))
    try:
        with pytest.raises(ModelError, match="the live model failed \\(RuntimeError: out of memory at 0x1\\)"):
            live.submit(fail).result(60)
    finally:
        live.close()


def test_queries_are_queued_until_the_model_is_loaded() -> None:
    live = LiveModel.start("tiny", lambda: lm("bert-uncased"))
    try:
        asked = [live.submit(parse_query("prompt", Query(text=f"{word} is ___."))) for word in ("He", "She")]
        assert all(one.result(60)["words"] for one in asked)
    finally:
        live.close()
