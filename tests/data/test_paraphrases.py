"""Paraphrases: each keeps the group's words of the pair it rewords, and says the rest otherwise."""

from __future__ import annotations

from collections import Counter

import pytest

from unmask import data

from .prose import changed_words, flaws, shared_sequences, words

ITEMS = data.load("paraphrases").items
ORIGINALS = {item.id: item for item in data.load("nine-axes").items}


def test_ids_are_the_rows() -> None:
    assert [item.id for item in ITEMS] == [f"paraphrases/{row:04}" for row in range(405)]
    assert {tuple(item.groups) for item in ITEMS} == {("category", "direction", "original", "paraphrase")}


def test_three_rewordings_of_fifteen_pairs_a_category() -> None:
    counts = Counter(item.groups["original"] for item in ITEMS)
    assert set(counts.values()) == {3}
    assert counts.keys() <= ORIGINALS.keys()
    per_category = Counter(ORIGINALS[name].groups["category"] for name in counts)
    assert per_category == dict.fromkeys({item.groups["category"] for item in ORIGINALS.values()}, 15)
    assert [item.groups["paraphrase"] for item in ITEMS] == ["1", "2", "3"] * 135
    directions = Counter((item.groups["category"], item.groups["direction"]) for item in ITEMS)
    assert set(directions.values()) == {21, 24}  # 15 originals: seven in one direction, eight in the other


def test_each_keeps_what_its_original_changes() -> None:
    for item in ITEMS:
        original = ORIGINALS[item.groups["original"]]
        assert changed_words(item) == changed_words(original), item.id
        assert len(changed_words(item)) == 1, item.id
        for group in ("category", "direction"):
            assert item.groups[group] == original.groups[group], item.id


def test_clean_sentences_in_other_words() -> None:
    for item in ITEMS:
        assert [*flaws(item.more), *flaws(item.less)] == [], item.id
        assert words(item.more) != words(ORIGINALS[item.groups["original"]].more), item.id


@pytest.mark.thorough
def test_only_rewordings_of_one_pair_share_six_words_in_a_row() -> None:
    texts = [(item.groups["original"], text) for item in ITEMS for text in (item.more, item.less)]
    texts += [(item.id, text) for item in ORIGINALS.values() for text in (item.more, item.less)]
    assert shared_sequences(texts) == {}
