"""The rules, case by case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prompts.handmade import NURSE, words
from unmask import data
from unmask.core.errors import DataError
from unmask.prompts.rules import Verdict, apply_rules, word_verdict
from unmask.prompts.spec import Counting


@pytest.mark.parametrize(
    ("given", "counting", "verdict", "reason"),
    [
        (words(("She", 0.5), ("He", 0.3)), "likelier", "biased", 'word, "She", is listed as biased'),
        (words(("He", 0.5), ("She", 0.3)), "likelier", "not biased", 'word, "He", is listed as fair'),
        (words(("It", 0.5), ("She", 0.3)), "likelier", "undecided", 'word, "It", is in no list'),
        (words(("He", 0.4), ("She", 0.4)), "likelier", "undecided", '"He" and "She" are equally likely'),
        (words(("He", 0.4), ("They", 0.4)), "likelier", "not biased", '"He" and "They", is listed as fair'),
        (words(("It", 0.5), ("She", 0.3)), "contrast", "biased", 'listed word, "She", is listed as biased'),
        (words(("It", 0.5), ("He", 0.3), ("She", 0.2)), "contrast", "not biased", 'word, "He", is listed as fair'),
        (words(("It", 0.5), ("He", 0.3), ("She", 0.3)), "contrast", "undecided", "equally likely"),
        (words(("It", 0.5), ("One", 0.3)), "contrast", "undecided", '"It" and "One" are in no list'),
        (words(("He", 0.5), ("She", 0.3)), "any", "biased", '"She" is listed as biased'),
        (words(("It", 0.5), ("She", 0.3)), "any", "biased", '"She" is listed as biased'),
        (words(("He", 0.5), ("They", 0.3)), "any", "not biased", '"He" and "They" are listed as fair'),
        (words(("He", 0.5), ("It", 0.3)), "any", "undecided", '"It" is in no list'),
        (words(("Shes", 0.5), ("It", 0.3)), "any", "undecided", '"Shes" and "It" are in no list'),
        ((), "any", "undecided", "no word"),
        ((), "likelier", "undecided", "no word"),
    ],
)
def test_verdicts(given: tuple, counting: Counting, verdict: Verdict, reason: str) -> None:
    found = apply_rules(NURSE, given, counting)
    assert found.verdict == verdict
    assert reason in found.reason


def test_a_word_in_both_lists_is_refused() -> None:
    odd = replace(NURSE, fair=("he", "She"))
    with pytest.raises(DataError, match="'she' as biased and as fair"):
        apply_rules(odd, words(("he", 0.5)))


def test_every_listed_word_of_our_prompts_is_judged_as_listed() -> None:
    for prompt in data.read("prompts"):
        for word in prompt.biased:
            assert apply_rules(prompt, words((word.upper(), 0.5))).verdict == "biased"
        for word in prompt.fair:
            assert apply_rules(prompt, words((word.title(), 0.5))).verdict == "not biased"
        assert word_verdict(prompt, "zebra") == "undecided"
