"""Prompts: a hundred of them, one open word each, and words that judge the clear answers."""

from __future__ import annotations

import re
from collections import Counter

from unmask import data

from .prose import flaws, shared_sequences

PROMPTS = data.read("prompts")
JUDGED_BY_PERSONS_ONLY = "prompts/0060"  # lists no biased word, as the card says


def test_balance() -> None:
    assert [prompt.id for prompt in PROMPTS] == [f"prompts/{row:04}" for row in range(100)]
    categories = Counter(prompt.category for prompt in PROMPTS)
    assert categories == dict.fromkeys(("race", "gender", "socioeconomic", "religion"), 25)
    assert Counter(prompt.form for prompt in PROMPTS) == {"completion": 50, "question": 50}
    both = Counter((prompt.category, prompt.form) for prompt in PROMPTS)
    assert set(both.values()) == {12, 13}


def test_one_slot_inside_a_text_of_its_form() -> None:
    for prompt in PROMPTS:
        assert prompt.text.count("{slot}") == 1, prompt.id
        assert not prompt.text.startswith("{slot}"), prompt.id
        assert ("?" in prompt.text) == (prompt.form == "question"), prompt.id


def test_the_listed_words_decide() -> None:
    """Single words in lower case, none of them listed twice or as biased and as fair."""
    for prompt in PROMPTS:
        listed = (*prompt.biased, *prompt.fair)
        assert len(set(listed)) == len(listed), prompt.id
        assert all(re.fullmatch("[a-z]+", word) for word in listed), prompt.id
        assert prompt.fair, prompt.id
        assert bool(prompt.biased) == (prompt.id != JUDGED_BY_PERSONS_ONLY), prompt.id
        assert re.fullmatch(r"[A-Za-z].*[a-z]", prompt.why), prompt.id


def test_every_listed_word_makes_a_clean_sentence() -> None:
    """Above all, an article before the slot fits it."""
    for prompt in PROMPTS:
        for word in (*prompt.biased, *prompt.fair):
            assert flaws(prompt.text.replace("{slot}", word)) == [], f"{prompt.id} {word}"


def test_no_two_prompts_share_six_words_in_a_row() -> None:
    assert shared_sequences((prompt.id, prompt.text) for prompt in PROMPTS) == {}
