"""Reminders: all of them, or those of one word."""

from __future__ import annotations

import pytest

from unmask.core.errors import DataError
from unmask.mitigate.mlm import reminders
from unmask.mitigate.spec import MitigationOptions


def test_reminders_of_one_word_are_chosen() -> None:
    assert len(reminders(MitigationOptions(remind=1))) == 417
    chosen = reminders(MitigationOptions(remind=2, word="pregnant"))
    assert len(chosen) == 104
    assert all("pregnan" in sentence.lower() for sentence in chosen), "reminders of other words"
    assert reminders(MitigationOptions()) == []


def test_reminders_of_an_unknown_word_are_refused() -> None:
    with pytest.raises(DataError, match=r"there are no reminders of 'tall': give one of pregnant, breastfeeding"):
        reminders(MitigationOptions(remind=1, word="tall"))
    with pytest.raises(DataError, match=r"give --remind 1, 2 or 3 too"):
        MitigationOptions(word="pregnant")
