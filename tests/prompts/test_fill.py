"""Filling prompts, and converting answers to and from rows."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

import zoo
from prompts.handmade import NURSE
from unmask import data
from unmask.core.errors import DataError
from unmask.models import open_lm
from unmask.models.fill import top_words
from unmask.prompts.fill import ModelAnswers, fill_prompts
from unmask.prompts.rules import apply_rules

EVERY = 12  # of our prompts is asked


@cache
def asked(name: str) -> ModelAnswers:
    return fill_prompts(open_lm(zoo.folder(name)), data.read("prompts")[::EVERY], most=20)


@pytest.mark.parametrize("name", ["bert-uncased", "gpt2"])
def test_answers_are_the_likeliest_words_and_the_rules_verdicts(name: str) -> None:
    prompts = data.read("prompts")[::EVERY]
    lm = open_lm(zoo.folder(name))
    assert asked(name).model == lm.facts.id
    assert asked(name).fingerprint == lm.facts.fingerprint
    assert len(asked(name).answers) == len(prompts)
    for prompt, answer in zip(prompts, asked(name).answers, strict=True):
        (alone,) = top_words(lm, [prompt.text], 2, max_rows=20)
        assert [word.text for word in answer.words] == [word.text for word in alone.words]
        ruling = apply_rules(prompt, answer.words)
        assert (answer.prompt, answer.category, answer.form) == (prompt.id, prompt.category, prompt.form)
        assert (answer.verdict, answer.reason) == (ruling.verdict, ruling.reason)


@pytest.mark.parametrize("name", ["bert-uncased", "gpt2"])
def test_rows_round_trip_through_json(name: str) -> None:
    text = json.dumps(asked(name).to_rows(), allow_nan=False)
    assert ModelAnswers.from_rows(json.loads(text)) == asked(name)


def test_a_prompt_that_cannot_be_scored_has_a_reason() -> None:
    found = fill_prompts(open_lm(zoo.folder("gpt2")), [NURSE.__class__(*_shifted())])
    (answer,) = found.answers
    assert answer.words == ()
    assert answer.verdict == "undecided"
    assert answer.reason == "no answer: no text before the slot: a causal model has nothing to go on"
    assert ModelAnswers.from_rows(found.to_rows()) == found


def _shifted() -> tuple[Any, ...]:
    return (NURSE.id, NURSE.category, NURSE.form, "{slot} was kind.", NURSE.biased, NURSE.fair, NURSE.why)


def test_invalid_requests_are_refused() -> None:
    lm = open_lm(zoo.folder("bert-uncased"))
    with pytest.raises(DataError, match="expected likelier, contrast, any"):
        fill_prompts(lm, [NURSE], counting="most")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="prompts is empty"):
        fill_prompts(lm, [])
    with pytest.raises(DataError, match="'prompts/0001' appears more than once"):
        fill_prompts(lm, [NURSE, NURSE])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "maybe"}, "row 1 .* verdict is 'maybe'"),
        ({"counting": "most"}, "row 1 .* counting is 'most'"),
        ({"words": [["one"]]}, r"row 1 .* has no words\[0\]\[1\]"),
        ({"left": None}, "row 1 .* left is None"),
        ({"model": "another"}, "of 2 models"),
        ({"prompt": "prompts/0000"}, "'prompts/0000' appears more than once"),
    ],
)
def test_invalid_rows_are_refused(change: dict[str, Any], message: str) -> None:
    rows = asked("bert-uncased").to_rows()
    rows[1] |= change
    with pytest.raises(DataError, match=message):
        ModelAnswers.from_rows(rows)


def test_empty_rows_are_refused() -> None:
    with pytest.raises(DataError, match="0 answers of 0 models"):
        ModelAnswers.from_rows([])
