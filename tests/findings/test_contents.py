"""The hash of a table is that of its values: of nothing less, and of nothing more."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unmask.findings.contents import TableContent

TABLE = pa.table(
    {
        "name": pa.array(["ab", None, "", "c", "é"]).dictionary_encode(),
        "text": ["a", "bc", None, "", "d"],
        "number": [0.0, None, -1.5, float("inf"), 1e-300],
        "count": pa.array([1, 2, None, 4, 5], pa.int32()),
        "flag": [True, False, None, True, False],
        "nothing": pa.nulls(5, pa.string()),
    }
)


def facts(table: pa.Table) -> dict[str, object]:
    content = TableContent()
    for batch in table.to_batches():
        content.add(batch)
    return content.facts()


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_chunks_types_and_compression_are_no_part_of_it(rows: int, tmp_path: Path) -> None:
    """A result whose tables were only written again would be refused as changed."""
    pq.write_table(TABLE, tmp_path / "table", row_group_size=rows, compression="brotli")
    assert TableContent.of_file(tmp_path / "table").facts() == facts(TABLE)
    chunks = pa.concat_tables([TABLE.slice(start, rows) for start in range(0, 5, rows)])
    assert facts(chunks) == facts(TABLE)
    kinds = {"name": pa.large_string(), "count": pa.int64(), "nothing": pa.null()}
    other = pa.schema([(field.name, kinds.get(field.name, field.type)) for field in TABLE.schema])
    plain = TABLE.set_column(0, "name", TABLE["name"].cast(pa.string()))
    assert facts(plain.set_column(5, "nothing", pa.nulls(5)).cast(other)) == facts(TABLE)
    assert facts(TABLE.select(TABLE.column_names[::-1])) == facts(TABLE)


@pytest.mark.parametrize("name", TABLE.column_names)
def test_every_value_is_part_of_it(name: str) -> None:
    """A value that was exchanged with the next one, or removed, would go unnoticed."""
    values, at = TABLE[name].to_pylist(), TABLE.column_names.index(name)
    removed = [[*values[:row], None, *values[row + 1 :]] for row in range(5) if values[row] is not None]
    tables = [TABLE.set_column(at, name, pa.array(each)) for each in (*removed, values[::-1]) if each != values]
    tables += [TABLE, TABLE.drop_columns(name), TABLE.slice(0, 4)]
    assert len({str(facts(table)) for table in tables}) == len(tables)


def test_text_is_not_moved_from_one_row_to_the_next() -> None:
    """`ab`, `c` and `a`, `bc` are the same letters."""
    assert facts(pa.table({"text": ["ab", "c"]})) != facts(pa.table({"text": ["a", "bc"]}))


def test_a_missing_value_has_its_row() -> None:
    """A score would be that of the pair before it."""
    assert facts(pa.table({"score": [None, 1.0]})) != facts(pa.table({"score": [1.0, None]}))
