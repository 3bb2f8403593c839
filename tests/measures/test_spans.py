"""Which tokens two sentences share: by hand, with the asymmetry of the published alignment."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.core.errors import Unscorable
from unmask.core.types import Encoded
from unmask.measures import spans
from unmask.measures.spans import align, align_changed, align_pair, order_matters

from .hand import Hand, pair


def sentence(letters: str) -> Encoded:
    """A token for every letter, between two special ones."""
    return Encoded((0, *map(ord, letters), 1), tuple(range(1, len(letters) + 1)))


def test_shared_and_changed_positions() -> None:
    """[CLS] a b c d [SEP] / [CLS] a x y c d [SEP]."""
    found = align(sentence("abcd"), sentence("axycd"))
    assert found.shared == ((1, 3, 4), (1, 4, 5))
    assert found.changed == ((2,), (2, 3))


def test_special_tokens_help_to_align_but_are_never_shared() -> None:
    found = align(sentence("a"), sentence("b"))
    assert found.shared == ((), ())
    assert found.changed == ((1,), (1,))


def test_content_that_is_special_in_the_other_sentence_is_not_shared() -> None:
    """The same id is text here and special there."""
    one, other = Encoded((5, 6, 7), (0, 1)), Encoded((5, 6, 7), (1, 2))
    assert align(one, other).shared == ((1,), (1,))
    assert align(one, other).changed == ((0,), (2,))


def test_which_sentence_comes_first_can_matter() -> None:
    one, other = sentence("abab"), sentence("ba")
    assert order_matters(one, other) == (align(one, other).shared != align(other, one).shared[::-1])
    ambiguous = [
        (a, b)
        for a in ("ab", "ba", "aab", "abb", "bab", "bba")
        for b in ("ab", "ba", "aab", "abb", "bab", "bba")
        if align(sentence(a), sentence(b)).shared != align(sentence(b), sentence(a)).shared[::-1]
    ]
    assert ambiguous
    for a, b in ambiguous:
        assert order_matters(sentence(a), sentence(b))
    assert not order_matters(sentence("abcd"), sentence("axycd"))


def test_a_pair_is_aligned_as_more_and_less() -> None:
    lm = Hand()
    more, less, found = align_pair(pair("the man ran", "the old lady ran"), lm)
    assert lm.tokens(more.ids[at] for at in found.changed[0]) == ["man"]
    assert lm.tokens(less.ids[at] for at in found.changed[1]) == ["old", "lady"]
    assert lm.tokens(more.ids[at] for at in found.shared[0]) == ["the", "ran"]


@pytest.mark.parametrize(("more", "less", "side"), [("he ran", "he ran far", "more"), ("he ran far", "he ran", "less")])
def test_a_sentence_inside_the_other_has_no_changed_token(more: str, less: str, side: str) -> None:
    with pytest.raises(Unscorable) as refused:
        align_changed(pair(more, less), Hand())
    assert refused.value.reason.startswith("empty span")
    assert f"of the {side} sentence" in refused.value.reason


@given(st.lists(st.integers(0, 4), max_size=30), st.lists(st.integers(0, 4), max_size=30))
def test_the_compiled_matcher_equals_the_published_one(first: list[int], second: list[int]) -> None:
    """Scores rest on difflib's choices among equally long blocks; the compiled one must make the same."""
    assert [tuple(block) for block in spans.SequenceMatcher(None, first, second).get_matching_blocks()] == [
        tuple(block) for block in difflib.SequenceMatcher(None, first, second).get_matching_blocks()
    ]
