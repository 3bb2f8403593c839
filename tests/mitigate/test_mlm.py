"""Reminders: all of them, or those of one word."""

from __future__ import annotations

import pytest

from unmask.core.errors import DataError
from unmask.mitigate import TrainingOptions
from unmask.mitigate.mlm import reminders


def test_reminders_of_one_word_are_chosen() -> None:
    assert len(reminders(TrainingOptions(remind=1))) == 417
    chosen = reminders(TrainingOptions(remind=2, word="pregnant"))
    assert len(chosen) == 104
    assert all("pregnan" in sentence.lower() for sentence in chosen), "reminders of other words"
    assert reminders(TrainingOptions()) == []


def test_reminders_of_an_unknown_word_are_refused() -> None:
    with pytest.raises(DataError, match=r"there are no reminders of 'tall': give one of pregnant, breastfeeding"):
        reminders(TrainingOptions(remind=1, word="tall"))
    with pytest.raises(DataError, match=r"set it to 1, 2 or 3 too"):
        TrainingOptions(word="pregnant")
