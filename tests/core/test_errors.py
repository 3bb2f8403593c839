"""Messages: one line, short, and nothing in them that a terminal would obey."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.core.errors import MAX_MESSAGE, DataError, UnknownName, escape_controls, one_line, quote, shorten


@given(st.text(st.characters(codec=None), max_size=3000))
def test_a_message_is_one_short_line_whatever_it_quotes(text: str) -> None:
    message = str(DataError(f"column {quote(text)} and {text}: rename it"))
    assert len(message) <= MAX_MESSAGE + 3
    assert not set(message) & {"\n", "\r", "\x1b", "\x00", "\x07", "\u2028", "\u202e"}
    message.encode("utf-8")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
        ("\x85", "\\x85"),
        ("naïve 日本語 👩‍🚀 क्‍ष", "naïve 日本語 👩‍🚀 क्‍ष"),  # joiners of emoji and scripts stay
    ],
)
def test_only_what_controls_the_terminal_is_escaped(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


def test_line_breaks_become_spaces() -> None:
    assert one_line("  a\n\tb\r\nc ") == "a b c"


def test_a_long_value_keeps_its_begin_and_end() -> None:
    cut = shorten("begin" + "x" * 1000 + "end", 90)
    assert cut.startswith("begin")
    assert cut.endswith("end")
    assert len(cut) <= 90
    assert shorten("short", 90) == "short"


def test_an_unknown_name_is_quoted_safely_and_the_known_ones_listed() -> None:
    message = str(UnknownName("measure", "cp\x1bs", ["cps", "aul"]))
    assert message == "no measure named 'cp\\x1bs'. Did you mean cps? There are: aul, cps."
