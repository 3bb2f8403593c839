"""The eyes the tests of our data see with: each of them must be able to find a fault."""

from __future__ import annotations

import pytest

from unmask.core.types import Pair

from .prose import changed_words, flaws, shared_sequences, words, wrong_articles


def test_words() -> None:
    assert words('"He\'s well-known," she said: 40 people, {slot}.') == [
        "he's",
        "well-known",
        "she",
        "said",
        "people",
        "slot",
    ]


def test_what_a_pair_changes() -> None:
    assert changed_words(Pair("x/0", "The man left.", "The woman left.")) == [("man", "woman")]
    with pytest.raises(ValueError, match="shorter"):
        changed_words(Pair("x/0", "The man left early.", "The woman left."))


def test_a_shared_sequence_is_found_between_owners_only() -> None:
    texts = [("a", "one two three four five six seven"), ("b", "Zero, one two three four five six.")]
    assert shared_sequences(texts) == {"one two three four five six": {"a", "b"}}
    assert shared_sequences([("a", text) for _, text in texts]) == {}
    assert shared_sequences(texts, length=7) == {}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("An hour with a uniform, a European, an actor and a doctor.", []),
        ("a actor met an doctor for a hour", ["a actor", "an doctor", "a hour"]),
        ("She saw an unicorn once.", ["an unicorn"]),
    ],
)
def test_articles(text: str, wrong: list[str]) -> None:
    assert wrong_articles(text) == wrong


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("she left.", "no capital"),
        ("She left", "no end"),
        ("She left the café.", "odd characters"),
        ("She  left.", "stray space"),
        ("She left {object}.", "open slot"),
        ("She left a aunt.", "wrong article"),
    ],
)
def test_flaws(text: str, flaw: str) -> None:
    assert flaws(text) == [flaw]
    assert flaws('"She left," he said, "an hour ago."') == []
