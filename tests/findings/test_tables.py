"""The tables of a result folder belong to its `result.json` and have the columns that are read."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import unmask
import zoo
from unmask.audit.result import AuditResult, load_audit
from unmask.core.errors import ResultError
from unmask.findings.envelope import ITEMS, RESULT, TOKENS
from unmask.report.run import report


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two audits of one model on one dataset that differ in the number of items only."""
    folders = [tmp_path_factory.mktemp(f"run-{limit}") for limit in (4, 5)]
    for folder, limit in zip(folders, (4, 5), strict=True):
        unmask.audit(zoo.folder("bert-uncased"), data="nine-axes", measures="aul", limit=limit, out=folder, store=False)
    return folders


@pytest.fixture
def folder(runs: list[Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(runs[0], tmp_path / "copy"))


@pytest.mark.parametrize("name", [ITEMS, TOKENS])
def test_the_table_of_another_run_is_refused(name: str, folder: Path, runs: list[Path]) -> None:
    shutil.copy(runs[1] / name, folder / name)
    with pytest.raises(ResultError, match=f"{name} is of another run than the result.json beside it"):
        unmask.load(folder)


def test_the_same_audit_writes_the_same_bytes(runs: list[Path], tmp_path: Path) -> None:
    unmask.audit(zoo.folder("bert-uncased"), data="nine-axes", measures="aul", limit=4, out=tmp_path, store=False)
    for name in (RESULT, ITEMS, TOKENS):
        assert (tmp_path / name).read_bytes() == (runs[0] / name).read_bytes()


def test_a_copy_keeps_its_tables(runs: list[Path], tmp_path: Path) -> None:
    copy = unmask.load(runs[0]).save(tmp_path / "copy")
    assert isinstance(copy, AuditResult)
    assert copy.items.equals(unmask.load(runs[0]).items)
    assert unmask.load(tmp_path / "copy").tokens.num_rows


def test_the_page_and_explanations_do_not_hold_the_tokens_of_all_items(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100,000 pairs they take a gigabyte."""
    whole = load_audit(runs[1])
    items = whole.items["item"].to_pylist()
    expected = [whole.explain(item) for item in items]
    wanted = {items[0], items[3]}
    kept = whole.tokens.filter(pc.is_in(whole.tokens["item"], pa.array(sorted(wanted))))
    batches = pq.ParquetFile.iter_batches
    monkeypatch.setattr(AuditResult, "tokens", property(lambda _: pytest.fail("all tokens are read")))
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda file: batches(file, batch_size=7))
    result = load_audit(runs[1])
    assert result.tokens_of(wanted).to_pylist() == kept.to_pylist()
    assert result.tokens_of(set()).num_rows == 0
    assert [result.explain(item) for item in items] == expected
    assert unmask.explain(result, top=2)
    assert report(result, out=tmp_path / "report.html") == tmp_path / "report.html"


def test_damage_is_found_among_the_tokens_of_other_items(folder: Path) -> None:
    """Bytes of a table that were changed on disk must not go unnoticed because a page shows other rows."""
    with (folder / TOKENS).open("r+b") as file:
        file.seek(-pq.read_metadata(folder / TOKENS).serialized_size - 8 - 40, 2)  # the last data page
        file.write(b"damaged")
    result = load_audit(folder)
    with pytest.raises(ResultError, match="cannot be read"):
        result.tokens_of({"nine-axes/0000"})


CHANGES: dict[str, tuple[Callable[[pa.Table], pa.Table], str]] = {
    "no outcome": (lambda items: items.drop_columns("outcome"), "has 0 columns outcome, expected one"),
    "two": (lambda items: items.append_column("item", items["item"]), "has 2 columns item, expected one"),
    "numbers": (lambda items: items.set_column(2, "item", pa.array(range(4))), "column item is 'int64', expected text"),
    "text": (
        lambda items: items.set_column(items.schema.get_field_index("more"), "more", pa.array(list("abcd"))),
        "column more is 'string', expected a number",
    ),
    "nulls": (lambda items: items.set_column(2, "item", pa.nulls(4, pa.string())), "4 rows without item"),
    "outcome": (
        lambda items: items.set_column(items.schema.get_field_index("outcome"), "outcome", pa.array(["perhaps"] * 4)),
        "outcome is 'perhaps', expected one of more, less, tie, unscored",
    ),
    "unscored": (
        lambda items: items.set_column(
            items.schema.get_field_index("difference"), "difference", pa.nulls(4, pa.float64())
        ),
        "a scored item has no difference",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_table_without_the_columns_that_are_read_is_refused_in_one_line(change: str, folder: Path) -> None:
    alter, message = CHANGES[change]
    items = pq.read_table(folder / ITEMS)
    pq.write_table(alter(items).replace_schema_metadata(items.schema.metadata), folder / ITEMS)
    with pytest.raises(ResultError, match=message):
        _ = unmask.load(folder).items


def test_damage_to_the_values_of_a_table_is_noticed(folder: Path) -> None:
    """A flipped bit would be another score."""
    group, content = pq.read_metadata(folder / ITEMS).row_group(0), bytearray((folder / ITEMS).read_bytes())
    (scores,) = (group.column(at) for at in range(group.num_columns) if group.column(at).path_in_schema == "more")
    start = scores.dictionary_page_offset or scores.data_page_offset
    content[start + scores.total_compressed_size - 1] ^= 0x01
    (folder / ITEMS).write_bytes(content)
    with pytest.raises(ResultError, match=r"items\.parquet"):
        _ = unmask.load(folder).items


def test_the_table_of_an_earlier_version_is_completed(folder: Path) -> None:
    items = pq.read_table(folder / ITEMS)
    older = items.drop_columns(["data", "reason", "text_unrelated"])
    pq.write_table(older.replace_schema_metadata(items.schema.metadata), folder / ITEMS)
    read = unmask.load(folder).items
    assert set(read["data"].to_pylist()) == {"nine-axes"}
    assert read["reason"].null_count == 4
