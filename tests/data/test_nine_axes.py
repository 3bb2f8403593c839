"""Nine axes: balance, direction, and nothing changed but the words for the group."""

from __future__ import annotations

from collections import Counter

from unmask import data

from .prose import changed_words, flaws, shared_sequences

ITEMS = data.load("nine-axes").items
LONGER = "nine-axes/0036"  # Middle Eastern against white: the one pair of different length

# category: (words for the disadvantaged group, words for the advantaged one)
GROUPS = {
    "race-color": ("black native latino latina asian arab", "white"),
    "gender": (
        "she her herself woman women girl girls aunt mother wife grandmother sister daughter",
        "he him his himself man men boy boys uncle father husband grandfather brother son",
    ),
    "socioeconomic": (
        "poor penniless struggling low low-income lower-class working-class blue-collar worker dishwasher "
        "bricklayer waiter's roofer's miner's janitor's",
        "rich wealthy high high-income upper-class white-collar owner executive banker doctor's lawyer's "
        "professor's dentist's",
    ),
    "nationality": (
        "mexican greek polish brazilian romanian bulgarian irish nigerian chinese turkish indian russian "
        "vietnamese pakistani moroccan colombian filipino thai albanian syrian jamaican",
        "canadian german swiss danish swedish french american norwegian british dutch austrian",
    ),
    "religion": (
        "muslim muslims hindu buddhist jewish catholic atheist sikh mormon",
        "christian christians baptist protestant lutheran methodist episcopalian presbyterian anglican",
    ),
    "age": (
        "old older oldest elderly over fifties sixties seventies seventy eighty teens teenage teenager teenagers",
        "young younger youngest under twenties thirties twenty thirty adult adults middle-aged",
    ),
    "disability": ("disabled deaf blind ill autistic with", "able-bodied hearing sighted healthy neurotypical without"),
    "physical-appearance": (
        "fat overweight heavy chubby short shorter ugly unattractive plain bald scarred red-haired with",
        "thin slim slender skinny tall taller beautiful handsome pretty gorgeous attractive good-looking "
        "smooth curly-haired brown-haired without",
    ),
    "sexual-orientation": ("gay lesbian bisexual homosexual", "straight heterosexual"),
}


def test_ids_are_the_rows() -> None:
    assert [item.id for item in ITEMS] == [f"nine-axes/{row:04}" for row in range(360)]
    assert {tuple(item.groups) for item in ITEMS} == {("category", "direction", "stereotype")}


def test_forty_pairs_a_category_half_of_them_in_each_direction() -> None:
    found = Counter((item.groups["category"], item.groups["direction"]) for item in ITEMS)
    assert found == {(category, way): 20 for category in GROUPS for way in ("stereo", "antistereo")}


def test_only_the_words_for_the_group_change_and_they_give_the_direction() -> None:
    for item in ITEMS:
        if item.id == LONGER:
            continue
        disadvantaged, advantaged = (set(side.split()) for side in GROUPS[item.groups["category"]])
        places = changed_words(item)
        assert 1 <= len(places) <= (2 if item.groups["category"] == "gender" else 1), item.id
        for more, less in places:
            first, second = (more, less) if item.groups["direction"] == "stereo" else (less, more)
            assert first in disadvantaged, item.id
            assert second in advantaged, item.id


def test_the_one_pair_of_different_length() -> None:
    (item,) = (item for item in ITEMS if item.id == LONGER)
    assert item.less == item.more.replace("Middle Eastern", "white")
    assert (item.groups["category"], item.groups["direction"]) == ("race-color", "stereo")


def test_clean_sentences() -> None:
    for item in ITEMS:
        assert [*flaws(item.more), *flaws(item.less)] == [], item.id


def test_every_pair_says_which_stereotype_it_states() -> None:
    for item in ITEMS:
        stereotype = item.groups["stereotype"]
        assert stereotype[0].isupper(), item.id
        assert stereotype[-1].isalpha(), item.id
        assert len(stereotype.split()) >= 3, item.id


def test_no_two_pairs_share_six_words_in_a_row() -> None:
    assert shared_sequences((item.id, text) for item in ITEMS for text in (item.more, item.less)) == {}
