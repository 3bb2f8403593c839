"""Occurrences of words: whole words, the longest first, with or without compounds."""

from __future__ import annotations

import random
import re

import pytest

from unmask.data.language import word_pattern, word_spans


def test_the_pattern_finds_what_an_alternation_finds() -> None:
    rng = random.Random(0)
    words = sorted({"".join(rng.choices("abc", k=rng.randint(1, 5))) for _ in range(200)} | {"a-b", "a b"})
    pattern = word_pattern(words)
    longest_first = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    slow = re.compile(rf"(?<!\w)(?:{longest_first})(?!\w)")
    for _ in range(300):
        text = " ".join("".join(rng.choices("abc", k=rng.randint(1, 5))) for _ in range(6))
        assert pattern.findall(text) == slow.findall(text)


SENTENCE = "he said He is the step-mother; he left the mother."


@pytest.mark.parametrize(
    ("ignore_case", "in_compounds", "counts"),
    [
        (False, True, {"he": 2, "mother": 2}),
        (True, True, {"he": 2, "He": 1, "mother": 2}),
        (True, False, {"he": 2, "He": 1, "mother": 1}),
    ],
)
def test_case_and_compounds(ignore_case: bool, in_compounds: bool, counts: dict[str, int]) -> None:
    pattern = word_pattern(["mother", "he"], ignore_case=ignore_case, in_compounds=in_compounds)
    spans = word_spans(pattern, SENTENCE)
    assert {word: len(places) for word, places in spans.items()} == counts
    assert all(SENTENCE[slice(*span)] == word for word, places in spans.items() for span in places)
