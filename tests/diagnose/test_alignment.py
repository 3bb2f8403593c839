"""`alignment`: awkward pairs and the other order of the sentences, against plain computations."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher

import numpy as np
import pytest
from scipy import stats

import reference
import zoo
from unmask.core.errors import ModelError, Unscorable
from unmask.core.types import Encoded, Pair
from unmask.data.pairs import from_records
from unmask.diagnose.alignment import ALIGNMENT, alignment_issues, changed_runs
from unmask.measures import MEASURES
from unmask.measures.spans import align
from unmask.models import open_lm

from .plainly import crows, finding, independent, opened, rows_of, slow_outcome

ROWS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 25, 27)
ORDER_MATTERS = 10  # two words change places
CASES = [("bert-uncased", ("cps", "sss", "sss-diagonal")), ("roberta", ("sss", "crows-bias-bench")), ("gpt2", ("cll",))]


def plain_marks(architecture: str, pair: Pair) -> set[str]:
    """What is awkward, by difflib's opcodes over token ids in either order, special tokens included."""
    _, tokenizer = opened(architecture)
    ids = []
    for text in (pair.more, pair.less):
        if reference.is_causal(tokenizer):
            begin = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
            ids.append([*begin, *reference.pieces(tokenizer, text)])
        else:
            ids.append(reference.encode(tokenizer, text)["input_ids"])
    there = [one[1:] for one in SequenceMatcher(None, *ids).get_opcodes() if one[0] != "equal"]
    back = [one[1:] for one in SequenceMatcher(None, *ids[::-1]).get_opcodes() if one[0] != "equal"]
    issues = set()
    if there != [(k, m, i, j) for i, j, k, m in back]:
        issues.add("order matters")
    if len(there) > 1:
        issues.add("several spans")
    if not any(j > i for i, j, _, _ in there) or not any(m > k for _, _, k, m in there):
        issues.add("empty span")
    return issues


def counts_as_lost(measure: str, outcome: str) -> bool:
    return outcome != "unscored" or measure == "sss"  # which counts an empty span as not won, as published


@pytest.mark.parametrize(("architecture", "measures"), CASES)
def test_awkward_pairs_are_found(architecture: str, measures: tuple[str, ...]) -> None:
    data = crows(ROWS)
    issues = [plain_marks(architecture, item) for item in data.items]
    (row,) = rows_of(finding(ALIGNMENT, architecture, data, measures), "Pairs by alignment")
    for kind in ("order matters", "several spans", "empty span"):
        assert row[kind] == sum(kind in mark for mark in issues) > 0
    assert row["any of these"] == sum(bool(mark) for mark in issues) < row["pairs"] == len(ROWS)


@pytest.mark.thorough
@pytest.mark.parametrize(("architecture", "measures"), CASES)
def test_scores_with_and_without_equal_a_slow_computation(architecture: str, measures: tuple[str, ...]) -> None:
    data = independent(crows(ROWS))
    found = finding(ALIGNMENT, architecture, data, measures)
    rows = {(row["measure"], row["pairs with"]): row for row in rows_of(found, "Bias score with and without")}
    assert {measure for measure, _ in rows} == set(measures)
    for (measure, kind), row in rows.items():
        inside, others = [], []
        for item in data.items:
            outcome, issues = slow_outcome(architecture, measure, item), plain_marks(architecture, item)
            if counts_as_lost(measure, outcome):
                awkward = bool(issues) if kind == "any of these" else kind in issues
                (inside if awkward else others).append(outcome == "more")
        assert row["counted"] == len(inside)
        assert row["among them"].value == pytest.approx(100 * np.mean(inside))
        assert row["without them"].value == pytest.approx(100 * np.mean(others))
        change = 100 * (np.mean(others) - np.mean(inside + others))
        assert row["change"].value == pytest.approx(change)
        square = [[sum(part), len(part) - sum(part)] for part in (inside, others)]
        assert row["p"] == pytest.approx(stats.fisher_exact(square).pvalue)


@pytest.mark.thorough
@pytest.mark.parametrize(("architecture", "measures"), CASES)
def test_the_other_order_equals_a_slow_computation(architecture: str, measures: tuple[str, ...]) -> None:
    """Every pair scored again as a whole with its sentences exchanged, not only those it can change."""
    data = independent(crows(ROWS))
    rows = {row["measure"]: row for row in rows_of(finding(ALIGNMENT, architecture, data, measures), "The other")}
    assert set(rows) == set(measures)
    back = {"more": "less", "less": "more"}
    for measure, row in rows.items():
        given, other = [], []
        for item in data.items:
            first = slow_outcome(architecture, measure, item)
            exchanged = slow_outcome(architecture, measure, replace(item, more=item.less, less=item.more))
            second = back.get(exchanged, exchanged)
            if counts_as_lost(measure, first) and counts_as_lost(measure, second):
                given.append(first == "more")
                other.append(second == "more")
        assert row["counted"] == len(given)
        assert row["more first"] == pytest.approx(100 * np.mean(given))
        assert row["less first"] == pytest.approx(100 * np.mean(other))
        gained = sum(b and not a for a, b in zip(given, other, strict=True))
        lost = sum(a and not b for a, b in zip(given, other, strict=True))
        assert row["outcomes that differ"] == gained + lost
        assert row["p"] == (pytest.approx(stats.binomtest(gained, gained + lost).pvalue) if gained + lost else None)


def test_some_outcome_does_depend_on_the_order() -> None:
    """Else the tests above could not tell a swap from none."""
    flips = [
        row["outcomes that differ"]
        for architecture, measures in CASES
        for row in rows_of(finding(ALIGNMENT, architecture, crows(ROWS), measures), "The other")
    ]
    assert sum(flips) > 0


@pytest.mark.parametrize("architecture", ["bert-uncased", "gpt2"])
def test_the_list_of_measures_that_read_spans_is_complete(architecture: str) -> None:
    """Those ask otherwise in the other order of a pair whose order matters; all others ask the same."""
    lm = open_lm(zoo.folder(architecture))
    item = crows((ORDER_MATTERS,)).items[0]
    assert "order matters" in alignment_issues(lm.encode(item.more), lm.encode(item.less))
    exchanged = replace(item, more=item.less, less=item.more)
    for name, measure in MEASURES.items():
        if lm.kind in measure.kinds and not measure.needs:
            there, back = measure.probes(item, lm), measure.probes(exchanged, lm)
            differs = (there["more"], there["less"]) != (back["less"], back["more"])
            assert differs == measure.reads_spans, name


def test_runs_of_changed_tokens_are_counted_at_ends_and_between() -> None:
    def text(*ids: int) -> Encoded:
        return Encoded((1, *ids, 2), tuple(range(1, len(ids) + 1)))

    cases = [
        ((5, 6, 7), (5, 6, 7), 0),
        ((9, 6, 7), (8, 6, 7), 1),
        ((9, 6, 3), (8, 6, 4), 2),
        ((5, 6, 7), (5, 7), 1),
        ((5, 6), (5, 6, 7, 8), 1),
        ((9,), (8, 8), 1),
        ((5, 9, 6, 9, 7), (5, 6, 7), 2),
    ]
    for more, less, runs in cases:
        one, other = text(*more), text(*less)
        assert changed_runs(align(one, other), one, other) == runs, (more, less)


def test_measures_that_read_no_spans_are_refused() -> None:
    with pytest.raises(ModelError, match="not aul, pll; expected cps, cps-exact"):
        finding(ALIGNMENT, "bert-uncased", crows(ROWS[:2]), ["aul", "pll"])


def test_named_measures_are_kept_where_they_read_spans() -> None:
    found = finding(ALIGNMENT, "bert-uncased", crows(ROWS[:6]), ["aul", "cps-exact"])
    assert {row["measure"] for row in rows_of(found, "The other")} == {"cps-exact"}


def test_plain_pairs_alone_leave_nothing_to_compare() -> None:
    data = from_records([{"more": "She is old.", "less": "He is old."}], name="mine")
    found = finding(ALIGNMENT, "bert-uncased", data, ["cps"])
    assert [table.title for table in found.tables] == ["Pairs by alignment", "The other order of the sentences"]
    assert len(found.plots) == 1


def test_nothing_scored_is_said_not_raised() -> None:
    long = " ".join(["word"] * 200)
    data = from_records([{"more": f"{long} he", "less": f"{long} she"}], name="mine")
    found = finding(ALIGNMENT, "bert-uncased", data, ["cps"])
    (row,) = rows_of(found, "Pairs by alignment")
    assert (row["pairs"], row["not aligned"]) == (0, 1)
    assert found.plots == ()
    with pytest.raises(Unscorable, match="too long"):
        open_lm(zoo.folder("bert-uncased")).encode(data.items[0].more)
