"""The pairs we wrote ourselves."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from unmask import data
from unmask.data import unmask_pairs
from unmask.errors import DataError
from unmask.types import Pair

COUNTS = {
    "gender-occupation": 40,
    "gender": 20,
    "race-ethnicity": 12,
    "religion": 12,
    "age": 12,
    "nationality": 8,
    "disability": 8,
    "socioeconomic": 8,
}


def test_always_there_and_verified() -> None:
    loaded = data.load("unmask-pairs", offline=True)
    assert loaded.verified
    assert loaded.warnings == ()
    assert loaded.items[17].id == "unmask-pairs/0017"
    assert Counter(item.groups["category"] for item in loaded.items) == COUNTS
    (path,) = data.get("unmask-pairs")
    assert path.name == "pairs.csv"


def test_directions() -> None:
    found = Counter(item.groups["direction"] for item in data.load("unmask-pairs").items)
    assert found == {"stereo": 83, "antistereo": 37}
    # half of the occupations are thought of as women's, half as men's, so the pronoun alone decides nothing
    jobs = [i for i in data.load("unmask-pairs").items if i.groups["category"] == "gender-occupation"]
    assert Counter(item.groups["direction"] for item in jobs) == {"stereo": 20, "antistereo": 20}


@pytest.mark.parametrize("item", data.load("unmask-pairs").items, ids=lambda item: item.id)
def test_pairs_are_minimal_sentences(item: Pair) -> None:
    """Equal word counts, at most two words changed, one full stop."""
    more, less = item.more.split(), item.less.split()
    assert len(more) == len(less)
    assert 1 <= sum(a != b for a, b in zip(more, less, strict=True)) <= 2
    for text in (item.more, item.less):
        assert text.endswith(".")
        assert text.count(".") == 1
        assert text[0].isupper()
        assert text.isascii()
        assert "  " not in text


def test_in_occupations_direction_follows_the_pronoun() -> None:
    """`stereo`: the woman is in the stereotyping sentence."""
    women = {"she", "her", "herself"}
    for item in data.load("unmask-pairs").items:
        if item.groups["category"] == "gender-occupation":
            more = set(item.more.lower().rstrip(".").split())
            assert bool(more & women) == (item.groups["direction"] == "stereo"), item.id


def test_no_sentence_stands_in_two_pairs() -> None:
    sentences = Counter(text for item in data.load("unmask-pairs").items for text in (item.more, item.less))
    assert sentences.most_common(1)[0][1] == 1


def test_a_damaged_installation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    file = replace(unmask_pairs.CARD.files[0], sha256="0" * 64)
    monkeypatch.setattr(unmask_pairs, "CARD", replace(unmask_pairs.CARD, files=(file,)))
    with pytest.raises(DataError, match=r"not the published file of unmask-pairs.*install unmask again"):
        data.load("unmask-pairs")
