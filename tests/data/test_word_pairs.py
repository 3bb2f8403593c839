"""Word pairs: every kind of record, each by the rules that make it usable."""

from __future__ import annotations

from collections import Counter

import pytest

from unmask import data
from unmask.data.templates import FORMS

WORDS = data.read("word-pairs")
GROUPS = {
    "race": ["black", "white", "asian", "latino"],
    "religion": ["muslim", "christian", "jewish", "hindu", "buddhist"],
}
CONTRASTS = [
    ("career", "family"),
    ("science", "arts"),
    ("math", "arts"),
    ("pleasant", "unpleasant"),
    ("strength", "weakness"),
    ("intelligence", "appearance"),
    ("male-terms", "female-terms"),
]


def test_every_record_is_there() -> None:
    counts = [len(part) for part in (WORDS.pairs, WORDS.names, WORDS.proper, WORDS.sets, WORDS.lists)]
    assert counts == [330, 241, 104, 46, 13]
    assert sum(counts) == data.card("word-pairs").size


# ---------------------------------------------------------------------------------------------- pairs


def test_pairs_are_unique_and_no_word_is_on_both_sides() -> None:
    keys = Counter((pair.masculine, pair.feminine, pair.pos, pair.case) for pair in WORDS.pairs)
    assert keys.most_common(1)[0][1] == 1
    assert not {pair.masculine for pair in WORDS.pairs} & {pair.feminine for pair in WORDS.pairs}


def test_parts_of_speech_and_cases() -> None:
    parts = {pair.pos for pair in WORDS.pairs}
    assert parts == {"pronoun", "title", "noun", "plural-noun", "adjective", "adverb", "verb"}
    assert all((pair.case is not None) == (pair.pos == "pronoun") for pair in WORDS.pairs)


def test_the_pronouns_are_those_the_templates_are_filled_with() -> None:
    first: dict[str, tuple[str, str]] = {}
    for pair in WORDS.pairs:
        if pair.case:
            first.setdefault(pair.case, (pair.masculine, pair.feminine))
    assert first == FORMS


def test_a_pair_that_may_not_be_exchanged_says_why() -> None:
    barred = [pair for pair in WORDS.pairs if not pair.swap]
    assert len(barred) == 48
    assert all(pair.note for pair in barred)
    assert {"host", "governor", "mankind"} <= {pair.masculine for pair in barred}
    assert all(pair.swap for pair in WORDS.pairs if pair.pos == "pronoun")


def test_a_word_with_several_counterparts_says_which_comes_when() -> None:
    """Pairs of the same part of speech and case that share a word: one of them must carry a note."""
    for side in ("masculine", "feminine"):
        times = Counter((getattr(pair, side), pair.pos, pair.case) for pair in WORDS.pairs)
        for (word, pos, case), count in times.items():
            same = [p for p in WORDS.pairs if (getattr(p, side), p.pos, p.case) == (word, pos, case)]
            assert count == 1 or all(pair.note for pair in same[1:]), word


# ---------------------------------------------------------------------------------------------- names


def test_names_are_unique_and_ranked() -> None:
    assert [pair.rank for pair in WORDS.names] == list(range(1, 242))
    both = Counter(name for pair in WORDS.names for name in (pair.masculine, pair.feminine))
    assert both.most_common(1)[0][1] == 1
    assert all(name.isalpha() and name.istitle() for name in both)


def test_an_ambiguous_name_is_named_in_the_note() -> None:
    assert sum(pair.ambiguous for pair in WORDS.names) == 73
    for pair in WORDS.names:
        assert pair.ambiguous == bool(pair.note)
        assert not pair.note or pair.masculine in pair.note or pair.feminine in pair.note


# ------------------------------------------------------------------------- proper words, sets and lists


def test_proper_words_have_one_gender_and_it_agrees_with_the_pairs() -> None:
    assert Counter(one.gender for one in WORDS.proper) == {"female": 52, "male": 52}
    assert len({one.word for one in WORDS.proper}) == 104
    masculine, feminine = {p.masculine for p in WORDS.pairs}, {p.feminine for p in WORDS.pairs}
    for one in WORDS.proper:
        assert one.word not in (masculine if one.gender == "female" else feminine)


def test_gender_words_of_the_templates_are_proper_words() -> None:
    """Otherwise augmentation would make untrue what the templates then ask."""
    proper = {one.word: one.gender for one in WORDS.proper}
    for item in data.load("pronoun-templates").items:
        if item.groups["category"] == "gender-word":
            assert proper[item.groups["word"]] == item.groups["goal"]


def test_sets_give_every_group_of_their_axis_another_term() -> None:
    assert len({(one.axis, one.id) for one in WORDS.sets}) == 46
    assert {one.axis for one in WORDS.sets} == GROUPS.keys()
    for one in WORDS.sets:
        assert list(one.terms) == GROUPS[one.axis]
        assert len(set(one.terms.values())) == len(one.terms), one.id


def test_lists_are_of_one_length() -> None:
    assert {len(words) for words in WORDS.lists.values()} == {16}
    assert all(len(set(words)) == 16 for words in WORDS.lists.values())


@pytest.mark.parametrize(("one", "other"), CONTRASTS)
def test_contrasted_lists_share_no_word(one: str, other: str) -> None:
    assert not set(WORDS.lists[one]) & set(WORDS.lists[other])


def test_only_the_lists_of_terms_hold_words_that_have_a_gender() -> None:
    masculine, feminine = {p.masculine for p in WORDS.pairs}, {p.feminine for p in WORDS.pairs}
    assert set(WORDS.lists["male-terms"]) <= masculine
    assert set(WORDS.lists["female-terms"]) <= feminine
    for name, words in WORDS.lists.items():
        assert "terms" in name or not set(words) & (masculine | feminine), name
