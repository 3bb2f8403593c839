"""The tables of a result folder: what is written, and what is read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import zoo
from unmask.audit.parquet import Tables, rows_of
from unmask.audit.scoring import ScoredItem
from unmask.core.types import Pair, Row, SentenceScore
from unmask.models import open_lm


def test_tokens_read_in_place_of_the_sentence_are_aligned_too(tmp_path: Path) -> None:
    """Marked as changed as a whole, shared tokens would not be compared with their counterparts."""
    lm = open_lm(zoo.folder("bert-uncased"))
    item = Pair("own/0000", "he said so.", "she said so.")
    so, he, she = (lm.pieces(word)[0] for word in ("so", "he", "she"))
    more = SentenceScore(-3.0, (5, 6), np.array([-1.0, -2.0]), np.ones(2), (so, he))
    less = SentenceScore(-7.0, (5, 6), np.array([-3.0, -4.0]), np.ones(2), (so, she))
    scores = {"more": more.value, "less": less.value}
    row = Row("lms", "own", item.id, {"category": "gender"}, scores, "more")  # type: ignore[arg-type]
    tables = Tables(tmp_path, ["category"])
    tables.add([ScoredItem(row, item, {"more": more, "less": less})], lm)
    tables.close()
    tokens = pq.read_table(tmp_path / "tokens.parquet")
    assert tokens["position"].to_pylist() == [5, 6, 5, 6]
    assert tokens["in_span"].to_pylist() == [False, True, False, True]
    assert tokens["block"].to_pylist() == [0, 1, 0, 1]
    assert tokens["contribution"].to_pylist() == [1.0, 1.0, 1.0, 1.0]
    assert rows_of(pq.read_table(tmp_path / "items.parquet")) == {("lms", "own"): [row]}


def test_rows_have_groups_but_no_texts_and_no_missing_scores() -> None:
    record = {
        "measure": "pll", "data": "own", "item": "own/0000", "category": "age", "text_more": "a",
        "text_less": "b", "text_unrelated": None, "more": -1.0, "less": -2.0, "unrelated": None,
        "difference": 1.0, "outcome": "more", "reason": "", "text_kind": "letter", "year": None,
    }  # fmt: skip
    row = Row(
        "pll", "own", "own/0000", {"category": "age", "text_kind": "letter"}, {"more": -1.0, "less": -2.0}, "more"
    )
    assert rows_of(pa.Table.from_pylist([record])) == {("pll", "own"): [row]}
