"""Control versions: grammatical, of known originals, balanced, and changing only what their control says."""

from __future__ import annotations

from collections import Counter

from unmask import data
from unmask.diagnose.controls import CONTROLS

from .prose import flaws, words

ITEMS = data.load("controls").items
ORIGINALS = {item.id: item for name in ("nine-axes", "triple-gender") for item in data.load(name).items}
DENIALS = {"not", "never", "no", "nobody", "neither", "nothing", "cannot"}


def group_words(more: str, less: str) -> set[frozenset[str]]:
    """The words that differ, place by place."""
    pairs = zip(words(more), words(less), strict=True)
    return {frozenset(pair) for pair in pairs if pair[0] != pair[1]}


def test_every_original_has_every_control_once() -> None:
    found = Counter((item.groups["original"], item.groups["control"]) for item in ITEMS)
    assert set(found.values()) == {1}
    assert set(found) == {(original, control) for original, _ in found for control in CONTROLS}
    assert {original for original, _ in found} <= set(ORIGINALS)


def test_half_of_the_originals_of_each_category_speak_of_each_direction() -> None:
    """A plain preference for the words of one group would otherwise look like a reaction."""
    past = [item.groups for item in ITEMS if item.groups["control"] == "past"]
    counts = Counter((groups["category"], groups["direction"]) for groups in past)
    assert len(counts) == 20
    for (category, _), n in counts.items():
        assert n == (20 if category == "occupation" else 5)


def test_category_and_direction_are_those_of_the_original() -> None:
    for item in ITEMS:
        original = ORIGINALS[item.groups["original"]]
        assert [item.groups[name] for name in ("category", "direction")] == [
            original.groups[name] for name in ("category", "direction")
        ]


def test_the_words_for_the_groups_stay_and_are_exchanged_in_one_control_only() -> None:
    for item in ITEMS:
        original = ORIGINALS[item.groups["original"]]
        own, known = group_words(item.more, item.less), group_words(original.more, original.less)
        assert own, item.id
        if item.groups["control"] == "exchanged":
            assert len(own) == 1, item.id
            assert not own & known, item.id
        else:
            assert own <= known, item.id


def test_exchanged_groups_are_on_both_sides_equally_often() -> None:
    """Otherwise a preference for one of the two words would look like a preference for stereotypes."""
    sides: Counter[tuple[str, str]] = Counter()
    for item in ITEMS:
        if item.groups["control"] == "exchanged":
            (pair,) = [p for p in zip(words(item.more), words(item.less), strict=True) if p[0] != p[1]]
            sides[pair] += 1
    for (more, less), n in sides.items():
        assert abs(n - sides[less, more]) <= 1, (more, less)


def test_frames_hold_the_whole_original_and_negations_deny() -> None:
    for item in ITEMS:
        control, original = item.groups["control"], ORIGINALS[item.groups["original"]]
        if control in ("past", "future"):
            year = "1955" if control == "past" else "2055"
            frame = f"This sentence is from a book about the year {year}: "
            assert (item.more, item.less) == (frame + original.more, frame + original.less)
        if control == "negated":
            assert DENIALS & {*words(item.more)}, item.more
            assert item.more != original.more


def test_clean_sentences() -> None:
    for item in ITEMS:
        assert [*flaws(item.more), *flaws(item.less)] == [], item.id
