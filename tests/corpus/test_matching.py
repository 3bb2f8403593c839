"""Words found in bytes, against plain regular expressions over text."""

from __future__ import annotations

import pickle
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.core.errors import DataError
from unmask.corpus.matching import Matcher
from unmask.corpus.terms import term_pattern

TERMS = (
    "she", "he", "her", "woman", "mother", "mother-in-law", "first lady", "lady", "ma'am", "fiancée", "Miss",
    "policewoman", "countrymen", "countryman", "émigrée", "congresswoman",
)  # fmt: skip
START = np.array([0])


def reference(text: str) -> Counter[str]:
    """All terms as one alternation, longest first; capitals where the term has one."""
    order = sorted(TERMS, key=len, reverse=True)
    found: Counter[str] = Counter()
    for match in re.finditer("|".join(f"({term_pattern(term)})" for term in order), text, re.IGNORECASE):
        term = order[match.lastindex - 1]  # type: ignore[operator] - one of the groups matched
        if not term[0].isupper() or match.group()[0].isupper():
            found[term] += 1
    return found


def count_terms(text: str, **options: bool) -> Counter[str]:
    found = Matcher(TERMS, **options).find(text.encode(), START)
    return Counter(TERMS[one] for one in found.terms.tolist())


def test_words_by_hand() -> None:
    text = (
        "She's here; HER mother-in-law, the First Lady, isn't. “She” said: Ma’am! shed there Sher é she2\n"
        "Miss Lee will miss the policewoman's lady—the fiancée, FIANCÉE; the émigrée. countrymen _he_ heé éhe"
    )
    assert count_terms(text) == {
        "she": 2, "her": 1, "mother-in-law": 1, "first lady": 1, "ma'am": 1, "Miss": 1, "policewoman": 1,
        "lady": 1, "fiancée": 2, "émigrée": 1, "countrymen": 1, "he": 1,
    }  # fmt: skip
    assert count_terms(text) == reference(text)


PIECES = [*TERMS, "Lady", "FIRST", "law", "in", "mother", "mothers", "shE", "xx", "é", "2", "he’s", "émigré"]
GLUE = [" ", " ", "-", ". ", ", ", "\n", "—", "“", "’", "_", "", "é", "\t", "  "]


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(GLUE)), max_size=30))
def test_matches_equal_regular_expressions_on_any_text(parts: list[tuple[str, str]]) -> None:
    text = "".join(piece + glue for piece, glue in parts)
    assert count_terms(text) == reference(text)


def test_words_are_counted_before_each_position() -> None:
    text = "The first lady and her mother-in-law met the congresswoman. " * 60
    assert count_terms(text) == reference(text)
    asked = np.array([0, 20, 1007, len(text) + 5])
    found = Matcher(TERMS).find(text.encode(), asked)
    starts = [match.start() for match in re.finditer(r"[^\W_]+", text)]
    assert found.words == len(starts)
    assert found.before.tolist() == [sum(start < place for start in starts) for place in asked.tolist()]


def test_whitespace_only_matches_need_white_space_on_both_sides() -> None:
    assert count_terms("She met her. (her) her\nlady, he", whitespace_only=True) == {"she": 1, "her": 1, "he": 1}


def test_a_byte_that_is_no_character_ends_a_word() -> None:
    assert Matcher(("he",)).find(b"he\xe9t \xe9he x\xe9he", START).starts.tolist() == [0, 6, 11]


def test_a_matcher_in_use_can_be_sent_to_other_processes() -> None:
    matcher = Matcher(TERMS)
    matcher.find(b"she", START)
    assert pickle.loads(pickle.dumps(matcher)).find(b"she", START).terms.tolist() == [0]


def test_terms_without_ascii_letters_are_refused() -> None:
    with pytest.raises(DataError, match="no letter or digit of ASCII"):
        Matcher(("она",)).find(b"x", START)
