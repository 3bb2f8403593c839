"""Three kinds of gender bias: balance, direction, and nothing changed but words that have a gender."""

from __future__ import annotations

from collections import Counter

from unmask import data

from .prose import changed_words, flaws, shared_sequences

ITEMS = data.load("triple-gender").items

# feminine: the masculine words it may be exchanged with
MASCULINE = {
    "she": "he",
    "her": "him his",
    "hers": "his",
    "herself": "himself",
    "woman": "man",
    "women": "men",
    "girl": "boy",
    "girls": "boys",
    "lady": "gentleman",
    "ladies": "gentlemen",
    "ma'am": "sir",
    "wife": "husband",
    "wives": "husbands",
    "widow": "widower",
    "bride": "groom",
    "girlfriend": "boyfriend",
    "girlfriends": "boyfriends",
    "mother": "father",
    "mothers": "fathers",
    "mom": "dad",
    "daughter": "son",
    "daughters": "sons",
    "sister": "brother",
    "aunt": "uncle",
    "grandmother": "grandfather",
    "queen": "king",
}


def test_ids_are_the_rows() -> None:
    assert [item.id for item in ITEMS] == [f"triple-gender/{row:04}" for row in range(360)]
    assert {tuple(item.groups) for item in ITEMS} == {("category", "direction", "stereotype")}


def test_counts() -> None:
    """Half of the occupations are thought of as women's, half as men's; sexism is mostly about women."""
    found = Counter((item.groups["category"], item.groups["direction"]) for item in ITEMS)
    assert found == {
        ("occupation", "stereo"): 60,
        ("occupation", "antistereo"): 60,
        ("benevolent-sexism", "stereo"): 94,
        ("benevolent-sexism", "antistereo"): 26,
        ("hostile-sexism", "stereo"): 94,
        ("hostile-sexism", "antistereo"): 26,
    }


def test_only_words_that_have_a_gender_change_and_they_give_the_direction() -> None:
    """`stereo`: the woman is in the stereotyping sentence."""
    for item in ITEMS:
        places = changed_words(item)
        assert 1 <= len(places) <= 3, item.id
        for more, less in places:
            feminine, masculine = (more, less) if item.groups["direction"] == "stereo" else (less, more)
            owner = "'s" if feminine.endswith("'s") else "'" if feminine.endswith("'") else ""
            assert masculine.endswith(owner), item.id
            assert masculine.removesuffix(owner) in MASCULINE[feminine.removesuffix(owner)].split(), item.id


def test_the_stereotype_names_those_the_stereotyping_sentence_is_about() -> None:
    for item in ITEMS:
        about = set(item.groups["stereotype"].split())
        found = bool(about & {"women", "woman", "mothers"}), bool(about & {"men", "man", "fathers"})
        assert found == ((True, False) if item.groups["direction"] == "stereo" else (False, True)), item.id


def test_no_occupation_is_asked_twice() -> None:
    jobs = [item.groups["stereotype"] for item in ITEMS if item.groups["category"] == "occupation"]
    assert len(set(jobs)) == 120


def test_clean_sentences() -> None:
    for item in ITEMS:
        assert [*flaws(item.more), *flaws(item.less)] == [], item.id


def test_no_two_pairs_share_six_words_in_a_row() -> None:
    assert shared_sequences((item.id, text) for item in ITEMS for text in (item.more, item.less)) == {}
