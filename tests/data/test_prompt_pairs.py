"""Completed prompts: two groups against each other, in both directions, and nothing else changed."""

from __future__ import annotations

from collections import Counter

from unmask import data

from .prose import changed_words, flaws, shared_sequences

ITEMS = data.load("prompt-pairs").items
# category: (words for the disadvantaged group, words for the advantaged one)
GROUPS = {
    "race-color": ("black latino latina asian arab", "white"),
    "gender": (
        "she her woman girl aunt mother wife sister bride niece",
        "he his man boy uncle father husband brother groom nephew",
    ),
    "socioeconomic": (
        "poor homeless unemployed shelter janitor janitor's beggar waiter cleaner cashier farmhand bricklayer miner's",
        "rich wealthy villa banker doctor's lawyer lawyer's judge director diplomat professor senator's",
    ),
    "religion": ("muslim jewish mormon atheist buddhist hindu catholic", "christian baptist methodist protestant"),
}


def test_every_type_has_both_directions_and_both_forms() -> None:
    found = Counter((item.groups["category"], item.groups["direction"]) for item in ITEMS)
    assert found == {(name, way): n for name in GROUPS for way, n in (("stereo", 15), ("antistereo", 10))}
    forms = Counter((item.groups["category"], item.groups["form"]) for item in ITEMS)
    assert forms == {(name, form): n for name in GROUPS for form, n in (("completion", 13), ("question", 12))}


def test_only_the_words_for_the_group_change_and_they_give_the_direction() -> None:
    """A pair that changed an attribute (nervous, curious) would set no group against another."""
    for item in ITEMS:
        disadvantaged, advantaged = (set(side.split()) for side in GROUPS[item.groups["category"]])
        ((more, less),) = changed_words(item)
        first, second = (more, less) if item.groups["direction"] == "stereo" else (less, more)
        assert first in disadvantaged, item.id
        assert second in advantaged, item.id


def test_a_part_of_the_file_has_every_type_in_both_directions() -> None:
    first = Counter((item.groups["category"], item.groups["direction"]) for item in ITEMS[:32])
    assert set(first) == {(name, way) for name in GROUPS for way in ("stereo", "antistereo")}
    assert {sum(n for (name, _), n in first.items() if name == each) for each in GROUPS} == {8}


def test_clean_sentences() -> None:
    for item in ITEMS:
        assert [*flaws(item.more), *flaws(item.less)] == [], item.id
    assert shared_sequences((item.id, text) for item in ITEMS for text in (item.more, item.less)) == {}
