"""The contributions of tokens add up to the difference, and are the same wherever they are shown."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from report import fake
from unmask.audit.attribution import ARITHMETIC, Explanation, explain_rows, largest_differences, with_contributions
from unmask.core.types import Encoded
from unmask.measures.spans import align

Scored = tuple[str, float | None, float]  # token, log-probability, weight


def token_rows(side: str, tokens: list[Scored], changed: set[int], item: str = "x/0000") -> list[dict[str, Any]]:
    return [
        {"measure": "pll", "item": item, "side": side, "position": place + 1, "token": token,
         "logprob": logprob, "weight": weight, "in_span": place in changed}
        for place, (token, logprob, weight) in enumerate(tokens)
    ]  # fmt: skip


def explain_sentences(more: list[Scored], less: list[Scored]) -> Explanation:
    """Two sentences aligned as measures align them."""
    first, second = (
        Encoded(tuple(int.from_bytes(token.encode()) for token, _, _ in side), tuple(range(len(side))))
        for side in (more, less)
    )
    changed = align(first, second).changed
    rows = token_rows("more", more, set(changed[0])) + token_rows("less", less, set(changed[1]))
    totals = [math.fsum(lp * w for _, lp, w in side if lp is not None and math.isfinite(lp)) for side in (more, less)]
    item = fake.row("pll", "x/0000", *totals)
    return explain_rows([item], fake.token_table(rows))[0]


def by_token(found: Explanation) -> tuple[list[float | None], list[float | None]]:
    return [token.contribution for token in found.more], [token.contribution for token in found.less]


def test_a_shared_token_is_compared_with_its_counterpart_and_a_changed_one_with_its_replacement() -> None:
    more = [("the", -1.0, 1.0), ("nurse", -2.0, 1.0), ("she", -3.0, 1.0)]
    less = [("the", -1.5, 1.0), ("nurse", -5.0, 1.0), ("he", -1.0, 1.0)]
    # the: −1 against −1.5 gives +0.5; nurse: −2 against −5 gives +3; she against he: −2; half on each side
    found = explain_sentences(more, less)
    assert by_token(found) == ([0.25, 1.5, -1.0], [0.25, 1.5, -1.0])
    assert found.deciding() == [("nurse", 3.0, False), ("she / he", -2.0, True), ("the", 0.5, False)]
    assert found.difference == 1.5
    assert found.adds_up


def test_unequal_spans_and_insertions_by_hand() -> None:
    more = [("a", -1.0, 1.0), ("b", -3.0, 1.0), ("c", -1.0, 1.0), ("x", -4.0, 1.0)]
    less = [("d", -2.0, 1.0), ("c", -1.0, 1.0)]
    # a, b against d: sums −4 and −2, mean −3, so 0.5 and −1.5 here and −(−2 + 3) there; x stands alone
    found = explain_sentences(more, less)
    assert by_token(found) == ([0.5, -1.5, 0.0, -4.0], [-1.0, 0.0])
    assert [token.block for token in found.more] == [0, 0, 1, 2]
    assert [token.block for token in found.less] == [0, 1]
    assert found.deciding() == [("x / –", -4.0, True), ("a b / d", -2.0, True), ("c", 0.0, False)]


def test_tokens_that_were_not_scored_have_no_contribution() -> None:
    found = explain_sentences([("she", None, 0.0), ("said", -1.0, 1.0)], [("he", math.nan, 0.0), ("said", -2.0, 1.0)])
    assert by_token(found) == ([None, 0.5], [None, 0.5])
    assert found.deciding() == [("said", 1.0, False)]


def test_sentences_that_are_not_aligned_are_one_block() -> None:
    rows = token_rows("more", [("a", -1.0, 1.0), ("b", -2.0, 1.0)], set())
    rows += token_rows("less", [("c", -5.0, 1.0)], {0}) + token_rows("unrelated", [("d", -9.0, 1.0)], set())
    (found,) = explain_rows([fake.row("pll", "x/0000", -3.0, -5.0)], fake.token_table(rows))
    assert found.deciding() == [("a b / c", 2.0, True)]
    assert [(token.block, token.contribution) for token in found.unrelated] == [(None, None)]


LOGPROBS = st.one_of(st.none(), st.floats(-20, 0))
LETTERS = st.lists(st.tuples(st.sampled_from("abc"), LOGPROBS, st.floats(0, 1)), max_size=8)


@given(LETTERS, LETTERS)
def test_contributions_add_up_and_mirror(more: list[Scored], less: list[Scored]) -> None:
    found = explain_sentences(more, less)
    assert sum(found.blocks.values()) == pytest.approx(found.difference, abs=1e-9)
    assert found.adds_up == any(logprob is not None for _, logprob, _ in (*more, *less))
    for token in (*found.more, *found.less):
        assert (token.contribution is None) == (token.logprob is None)
        assert token.block is not None
    for tokens, others in ((found.more, found.less), (found.less, found.more)):
        for token in tokens:
            twins = [other for other in others if other.block == token.block]
            if not token.in_span:
                assert [twin.token for twin in twins] == [token.token]
            if twins and None not in (token.contribution, *(twin.contribution for twin in twins)):
                halves = [
                    math.fsum(part.contribution or 0.0 for part in side if part.block == token.block)
                    for side in (tokens, others)
                ]
                assert halves[0] == pytest.approx(halves[1], abs=1e-9)


def test_contributions_of_a_table_do_not_depend_on_the_other_pairs_in_it() -> None:
    tables = []
    for number, words in enumerate((["a", "b"], ["c"], ["d", "e", "f"])):
        more = [(word, -1.0 - place, 1.0) for place, word in enumerate(words)]
        rows = token_rows("more", more, {0}, f"x/{number}")
        tables.append(fake.token_table(rows + token_rows("less", [("z", -4.0, 1.0), *more[1:]], {0}, f"x/{number}")))
    together = with_contributions(pa.concat_tables(tables)).to_pylist()
    assert together == [row for table in tables for row in with_contributions(table).to_pylist()]
    interleaved = pa.Table.from_pylist(sorted(pa.concat_tables(tables).to_pylist(), key=lambda row: row["position"]))
    key = ("item", "side", "position")
    expected = sorted(together, key=lambda row: [row[name] for name in key])
    assert sorted(with_contributions(interleaved).to_pylist(), key=lambda row: [row[name] for name in key]) == expected


def test_an_empty_table_gets_the_columns() -> None:
    assert with_contributions(fake.token_table([])).column_names[-2:] == ["block", "contribution"]


@pytest.mark.parametrize(
    ("count", "chosen"),
    [
        (1, [5.0]),
        (2, [5.0, -4.0]),
        (3, [5.0, 1.0, -4.0]),
        (4, [5.0, 1.0, -4.0, -3.0]),
        (9, [5.0, 1.0, -4.0, -3.0, -2.0]),
    ],
)
def test_the_largest_differences_are_of_both_directions(count: int, chosen: list[float]) -> None:
    items = pa.table({"difference": [1.0, -2.0, -4.0, 0.0, 5.0, -3.0]})
    assert [row["difference"] for row in largest_differences(items, count)] == chosen


def test_neither_word_of_a_template_is_called_a_stereotype() -> None:
    rows = token_rows("more", [("the", -1.0, 1.0), ("turkish", -2.0, 1.0)], {1})
    rows += token_rows("less", [("the", -1.0, 1.0), ("german", -4.0, 1.0)], {1})
    for slot, winner in (("who", "“turkish” wins"), (None, "the stereotyping sentence wins")):
        item = fake.row("pll", "x/0000", -3.0, -5.0, slot=slot)
        (found,) = explain_rows([item], fake.token_table(rows))
        assert found.text().startswith(f"x/0000  pll: {winner} by 2.0000\n")


def test_contributions_are_not_called_a_cause() -> None:
    """A user would take the word that contributes most for the one that decided."""
    rows = token_rows("more", [("the", -1.0, 1.0), ("nurse", -2.0, 1.0)], {1})
    rows += token_rows("less", [("the", -1.0, 1.0), ("chef", -4.0, 1.0)], {1})
    (found,) = explain_rows([fake.row("pll", "x/0000", -3.0, -5.0)], fake.token_table(rows))
    assert ARITHMETIC in str(found)
    (other,) = explain_rows([fake.row("pll", "x/0000", -3.0, -9.0)], fake.token_table(rows))
    assert ARITHMETIC not in str(other), "these do not add up"
