"""Cells of CSV for people: never a formula, and the same when read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.core.files import escape, to_csv, unescape


@pytest.mark.parametrize("cell", ["=1+1", "+1+x", "-1-1", "-", "@x", " =1", "\t=1", "\tx", "\rx", "'=1", "''@x", "＝1"])
def test_a_cell_that_could_be_a_formula_begins_with_an_apostrophe(cell: str) -> None:
    assert escape(cell) == f"'{cell}"


@given(st.text(st.sampled_from("'=+-@ \t\rax1.＝")))
def test_what_was_escaped_comes_back(cell: str) -> None:
    assert unescape(escape(cell)) == cell


def test_other_cells_stay() -> None:
    assert [escape(cell) for cell in ("she", "'tis", "", "-1.5e-3", -1.5, None)] == [
        "she",
        "'tis",
        "",
        "-1.5e-3",
        -1.5,
        None,
    ]
    assert to_csv([("a", "=b"), (1, "c\nd")]) == 'a,\'=b\n1,"c\nd"\n'
