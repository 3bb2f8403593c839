"""The tables of a result folder: what is written, and what is read back."""

from __future__ import annotations

import gc
import resource
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import zoo
from unmask.audit import parquet
from unmask.audit.parquet import Tables, column_names, rows_of
from unmask.audit.scoring import ScoredItem
from unmask.core.errors import OutputError
from unmask.core.types import Pair, Row, SentenceScore
from unmask.findings.tables import ITEM_COLUMNS
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
    tables = Tables(tmp_path / "items.parquet", tmp_path / "tokens.parquet", ["category"])
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


def test_a_full_disk_is_one_error_and_no_traceback_of_the_writers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = open_lm(zoo.folder("bert-uncased"))
    scored = ScoredItem(Row("lms", "own", "own/0000", {}, {}, "more"), Pair("own/0000", "he", "she"), {})
    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    tables = Tables(tmp_path / "items", tmp_path / "tokens", [])
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, unlimited[1]))
    try:
        tables.add([scored], lm)
        with pytest.raises(OutputError, match="File too large"):
            tables.close()
        del tables
        gc.collect()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert ignored == []


def test_chunks_are_written_as_few_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of 100,000 pairs had 800 row groups each, and took five times as long to read."""
    lm = open_lm(zoo.folder("bert-uncased"))
    read = SentenceScore(-1.0, (1,), np.array([-1.0]), np.ones(1))
    monkeypatch.setattr(parquet, "GROUP", 4)
    tables = Tables(tmp_path / "items", tmp_path / "tokens", [])
    for n in range(10):
        row = Row(("cps", "pll")[n % 2], "own", f"own/{n}", {}, {"more": -1.0, "less": -1.0}, "tie")
        tables.add([ScoredItem(row, Pair(row.item, "he", "she"), {"more": read, "less": read})], lm)
    tables.close()
    written = pq.ParquetFile(tmp_path / "items")
    assert [written.metadata.row_group(n).num_rows for n in range(written.num_row_groups)] == [4, 4, 2]
    assert written.read()["item"].to_pylist() == [f"own/{n}" for n in range(10)]
    assert written.read()["measure"].to_pylist() == ["cps", "pll"] * 5
    tokens = pq.read_table(tmp_path / "tokens")
    assert list(dict.fromkeys(tokens["item"].to_pylist())) == [f"own/{n}" for n in range(10)]


@pytest.mark.parametrize(
    "groups", [("item", "group_item"), ("group_item", "item"), ("item", "group_item", "group_group_item"), ("data",)]
)
def test_columns_are_unique_whatever_the_groups_are_called(groups: tuple[str, ...]) -> None:
    """Data with the columns `item` and `group_item` gave a folder that nothing could read."""
    columns = column_names(groups)
    assert tuple(columns) == groups
    taken = [*ITEM_COLUMNS, *columns.values()]
    assert len(set(taken)) == len(taken)
    assert all(columns[group] == group for group in groups if group not in ITEM_COLUMNS)
