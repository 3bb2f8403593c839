"""The size of the leans of words: leans in opposite directions must not cancel each other."""

from __future__ import annotations

import pytest

from unmask.core.types import Row
from unmask.stats.differences import word_leans


def rows(shift: float) -> list[Row]:
    """Three words in four templates."""
    return [row(word, t, lean * shift) for word, lean in LEANS.items() for t in range(4)]


LEANS = {"nurse": -0.4, "plumber": 0.6, "clerk": 0.2}


def row(word: str, template: int, lean: float) -> Row:
    groups = {"word": word, "category": "work", "template": f"t{template}"}
    scores = {"more": 0.5 + lean / 2, "less": 0.5 - lean / 2}
    return Row("ppd", "words", f"{word}-{template}", groups, scores, "more" if lean > 0 else "less")  # type: ignore[arg-type]


def test_leans_match_hand_computed_values() -> None:
    found = word_leans(rows(1.0), rows(0.5))
    assert found.words == ("nurse", "plumber", "clerk")
    assert found.before.tolist() == pytest.approx([-0.4, 0.6, 0.2])
    assert found.after.tolist() == pytest.approx([-0.2, 0.3, 0.1])


def test_only_what_both_have_scored_counts() -> None:
    after = [one for one in rows(0.5) if one.item != "clerk-0"]
    unscored = Row("ppd", "words", "nurse-0", {"word": "nurse", "template": "t0"}, {}, "unscored", "too long")
    found = word_leans([unscored, *rows(1.0)[1:]], after)
    assert found.words == ("nurse", "plumber", "clerk")
    assert found.categories == ("work", "work", "work")
    assert found.before.tolist() == pytest.approx([-0.4, 0.6, 0.2])
