"""Your own pairs: six formats, records from Python, and a clear word about every mistake."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unmask import data
from unmask.core.errors import DataError
from unmask.core.types import Dataset
from unmask.data import formats

Records = list[dict[str, str]]


def to_separated(records: Records, delimiter: str) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(records[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue().encode()


def parquet(records: Records) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(records), sink)
    return bytes(sink.getvalue().to_pybytes())


WRITERS: dict[str, Callable[[Records], bytes]] = {
    ".csv": lambda records: to_separated(records, ","),
    ".tsv": lambda records: to_separated(records, "\t"),
    ".json": lambda records: json.dumps(records).encode(),
    ".jsonl": lambda records: "\n".join(json.dumps(r, ensure_ascii=False) for r in records).encode(),
    ".parquet": parquet,
}

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip)
word = text.map(str.strip)


@st.composite
def tables(draw: st.DrawFn) -> Records:
    """Rows with all the columns we know and one we do not."""
    size = draw(st.integers(1, 6))
    ids = draw(st.lists(word, min_size=size, max_size=size, unique=True))
    return [
        {
            "id": ids[row],
            "more": draw(text),
            "less": draw(text),
            "category": draw(word),
            "direction": draw(st.sampled_from(["stereo", "antistereo", ""])),
            "context": draw(text | st.just("")),
            "unrelated": draw(text | st.just("")),
            "source": draw(word | st.just("")),
        }
        for row in range(size)
    ]


def as_records(loaded: Dataset) -> Records:
    prefix = len(loaded.card.name) + 1
    return [
        {
            "id": item.id[prefix:],
            "more": item.more,
            "less": item.less,
            "category": item.groups["category"],
            "direction": item.groups.get("direction", ""),
            "context": item.context or "",
            "unrelated": item.unrelated or "",
            "source": item.groups.get("source", ""),
        }
        for item in loaded.items
    ]


@pytest.mark.parametrize("suffix", WRITERS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=tables())
def test_what_is_written_is_read(suffix: str, records: Records, tmp_path: Path) -> None:
    path = tmp_path / f"My pairs{suffix}"
    path.write_bytes(WRITERS[suffix](records))
    loaded = data.load(path)
    assert loaded.card.name == "my-pairs"
    assert as_records(loaded) == records


@settings(max_examples=25, deadline=None)
@given(records=tables())
def test_files_records_and_frames_agree(records: Records) -> None:
    plain = data.from_records(records, name="my pairs")
    assert as_records(plain) == records
    frame = data.from_records(pd.DataFrame(records), name="my pairs")
    assert frame == plain  # the checksum too: it is of the content


@settings(max_examples=25, deadline=None)
@given(pairs=st.lists(st.tuples(text, text), min_size=1, max_size=5))
def test_tuples(pairs: list[tuple[str, str]]) -> None:
    loaded = data.from_records(pairs)
    assert [(item.more, item.less) for item in loaded.items] == pairs
    assert [item.id for item in loaded.items] == [f"pairs/{row:04}" for row in range(len(pairs))]


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_small_file(tmp_path: Path) -> None:
    header = "id,sent_more,sent_less,bias_type,stereo_antistereo,year\n"
    content = header + "n1,She cooks.,He cooks.,gender,stereo,2024\n"
    loaded = data.load(write(tmp_path, "Kitchen & Co.csv", content))
    (item,) = loaded.items
    assert item.id == "kitchen-co/n1"
    assert (item.more, item.less, item.unrelated, item.context) == ("She cooks.", "He cooks.", None, None)
    assert item.groups == {"category": "gender", "direction": "stereo", "year": "2024"}
    assert not loaded.verified
    assert loaded.card.source == "Kitchen & Co.csv"
    assert loaded.card.size == 1
    assert len(loaded.sha256) == 64


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl"])
def test_a_byte_order_mark_is_no_part_of_the_text(mark: bytes, suffix: str, tmp_path: Path) -> None:
    content = mark + WRITERS[suffix]([{"more": "é", "less": "è"}])
    assert data.load(write(tmp_path, f"p{suffix}", content)).items[0].more == "é"


@pytest.mark.parametrize(
    "columns", [("more", "less"), ("sent_more", "sent_less"), ("stereotype", "antistereotype"), (" More", "LESS ")]
)
def test_spellings_of_the_columns(columns: tuple[str, str]) -> None:
    item = data.from_records([dict(zip(columns, ("a", "b"), strict=True))]).items[0]
    assert (item.more, item.less, dict(item.groups)) == ("a", "b", {})


def test_values_that_are_not_text_become_text() -> None:
    record = {"more": "a", "less": "b", "id": 7, "n": 3, "x": 0.5, "none": None, "nan": float("nan"), "list": [1, "é"]}
    item = data.from_records([record]).items[0]
    assert item.id == "pairs/7"
    assert item.groups == {"n": "3", "x": "0.5", "list": '[1, "é"]'}


def test_missing_cells_of_a_frame() -> None:
    frame = pd.DataFrame(
        {"more": ["a", "b"], "less": ["c", "d"], "n": pd.array([1, None], "Int64"), "x": [np.nan, 2.5]}
    )
    first, second = data.from_records(frame).items
    assert (first.groups, second.groups) == ({"n": "1"}, {"x": "2.5"})


def test_parquet_numbers_and_nulls(tmp_path: Path) -> None:
    table = pa.table({"more": ["a", "b"], "less": ["c", "d"], "n": [1, None], "category": [None, "age"]})
    pq.write_table(table, tmp_path / "p.parquet")
    first, second = data.load(tmp_path / "p.parquet").items
    assert (first.groups, second.groups) == ({"n": "1"}, {"category": "age"})


def test_blank_lines_do_not_count(tmp_path: Path) -> None:
    for name, content in (("p.csv", "more,less\n\na,b\n\n"), ("p.jsonl", '\n{"more": "a", "less": "b"}\n\n')):
        assert [item.id for item in data.load(write(tmp_path, name, content)).items] == ["p/0000"]


def test_separators_inside_json_lines(tmp_path: Path) -> None:
    """U+2028 ends a line for some readers, not for JSON."""
    content = json.dumps({"more": "a\u2028b", "less": "c"}, ensure_ascii=False)
    assert data.load(write(tmp_path, "p.jsonl", content)).items[0].more == "a\u2028b"


# -------------------------------------------------------------------------------------------- warnings


def test_identical_sentences_are_kept_with_a_warning() -> None:
    loaded = data.from_records([("same", "same"), ("a", "b")])
    assert len(loaded.items) == 2
    assert loaded.warnings == ("1 pair has two identical sentences and can only tie (pairs/0000)",)


def test_long_lists_in_warnings_are_cut() -> None:
    (warning,) = data.from_records([(f"same {n}", f"same {n}") for n in range(7)]).warnings
    assert warning.startswith("7 pairs have two identical")
    assert warning.endswith("pairs/0004, …)")


def test_pairs_that_are_there_again_are_marked_and_told() -> None:
    """One pair 200 times would be 200 pairs, with the interval of 200."""
    again = [("She sat.", "He sat."), ("She  sat. ", "He sat."), ("He sat.", "She sat.")]
    accents = [("Zo\u00eb sat.", "He sat."), ("Zoe\u0308 sat.", "He sat.")]
    loaded = data.from_records([*again, *accents, ("She ran.", "He ran.")])
    assert [item.groups["same_as"].rpartition("/")[2] for item in loaded.items] == [
        *("0000", "0000", "0000"),
        *("0003", "0003", "0005"),
    ]
    again, exchanged = (line for line in loaded.warnings if "earlier pair" in line)
    assert again.startswith("2 pairs have")
    assert again.endswith("(pairs/0001, pairs/0004)")
    assert "exchanged" in exchanged
    assert exchanged.endswith("(pairs/0002)")


def test_a_context_makes_a_pair_another_one() -> None:
    """Pairs with equal sentences after different contexts would be taken for one."""
    pair = {"more": "She sat.", "less": "He sat."}
    loaded = data.from_records([{**pair, "context": "It rained."}, {**pair, "context": "It snowed."}])
    assert (loaded.warnings, [dict(item.groups) for item in loaded.items]) == ((), [{}, {}])


def test_white_space_on_one_side_only() -> None:
    loaded = data.from_records([("a ", "b"), (" c", " d"), ("e", "f\n")])
    assert [item.more for item in loaded.items] == ["a ", " c", "e"]  # as written
    (warning,) = loaded.warnings
    assert warning.startswith("2 pairs have white space around only one of the sentences")
    assert warning.endswith("(pairs/0000, pairs/0002)")


def test_a_column_without_a_name(tmp_path: Path) -> None:
    loaded = data.load(write(tmp_path, "p.csv", ",more,less\n0,a,b\n"))
    assert loaded.items[0].groups == {}
    assert loaded.warnings == ("a column without a name was left out",)


# ---------------------------------------------------------------------------------------------- errors

ROW = '{"more": "a", "less": "b"}'
MISTAKES = [
    ("p.csv", "", "p.csv: no rows"),
    ("p.csv", "more,less\n", "p.csv: no rows; expected at least one pair"),
    ("p.json", "[]", "p.json: no rows"),
    ("p.jsonl", "\n\n", "p.jsonl: no rows"),
    (
        "p.csv",
        "more,other\na,b\n",
        "p.csv, line 2: no column 'less' or 'sent_less' or 'antistereotype' or 'anti-stereotype'; found: more, other",
    ),
    ("p.json", f'[{ROW}, {{"more": "a"}}]', "p.json, row 1 (from 0): no column 'less'"),
    ("p.csv", "more,less\na,b\nc,  \n", "p.csv, line 3: empty sentence in column 'less'"),
    ("p.jsonl", '{"more": null, "less": "b"}', "p.jsonl, line 1: empty sentence in column 'more'"),
    ("p.csv", "id,more,less\nx,a,b\ny,c,d\nx,e,f\n", "p.csv, line 4: id 'p/x' was already given (p.csv, line 2)"),
    ("p.csv", "more,less,direction\na,b,anti\n", "p.csv, line 2: direction 'anti', expected 'stereo' or"),
    ("p.csv", b"more,less\na,\xe9\n", "p.csv, line 2: byte 12 is not valid UTF-8; expected UTF-8 text"),
    ("p.json", b'[{"more": "\xff"}]', "p.json, line 1: byte 11 is not valid UTF-8"),
    (
        "p.jsonl",
        f"{ROW}\n{{oops\n",
        "p.jsonl, line 2 is not JSON (Expecting property name enclosed in double quotes, column 2)",
    ),
    ("p.json", "[{", "p.json is not JSON"),
    ("p.json", "[" * 100_000, "p.json is nested too deeply"),
    ("p.json", '{"version": 1, "data": {}}', "found an object with keys ['version', 'data'], expected a list"),
    ("p.json", "3", "p.json: found 3, expected a list of objects"),
    ("p.json", '["a"]', "p.json, row 0 (from 0): found 'a', expected an object"),
    ("p.json", '[["a", "b", "c"]]', "row 0 (from 0): found ['a', 'b', 'c'], expected an object"),
    ("p.json", '[{"more": 3, "less": "b"}]', "row 0 (from 0): column 'more' holds int 3, expected text"),
    ("p.json", '[{"more": "a\\ud800", "less": "b"}]', "p.json is not JSON (a string has an unpaired surrogate"),
    ("p.csv", "more,less\na,b,c\n", "p.csv, line 2: 3 fields, expected 2 as in the header"),
    ("p.csv", 'more,less\na,b\n"a,b\nc,d\n', "p.csv, line 3: unexpected end of data"),
    ("p.tsv", 'more\tless\n"a" b\tc\n', "p.tsv, line 2: ' ' expected after '\"'"),
    ("p.csv", "more,less,more\na,b,c\n", "p.csv, line 1: column 'more' appears more than once in the header"),
    ("p.csv", "more,less,sent_more\na,b,c\n", "two columns for 'more'; keep one of 'more' or 'sent_more'"),
    ("p.parquet", b"PAR1 not really", "p.parquet: not a readable Parquet file"),
    ("p.ods", b"", "p.ods: unknown kind of file '.ods'; expected one of .csv, .tsv, .xlsx, .json, .jsonl, .parquet"),
    ("p.xlsx", b"PK not really", "p.xlsx: not a readable workbook"),
    ("p.csv", "more,less\n,b\na,b\na,\n", "2 mistakes: p.csv, line 2: empty sentence in column 'more'; fill it in or "),
    ("p.csv", "more,less\na,b\n,b\na,\n", " | p.csv, line 4: empty sentence in column 'less'"),
    ("p.csv", "more,less\n" + ",b\n" * 9, "9 mistakes: p.csv, line 2"),
    ("p.csv", "more,less\n" + ",b\n" * 9, " | and 4 more"),
]


def workbook(rows: list[list[object]]) -> bytes:
    import openpyxl

    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(stream)
    return stream.getvalue()


def test_a_table_with_semicolons_is_read_as_europe_writes_it(tmp_path: Path) -> None:
    loaded = data.load(write(tmp_path, "p.csv", 'more;less;category\n"He, too; sat.";She sat.;gender\n'))
    assert (loaded.items[0].more, loaded.items[0].less) == ("He, too; sat.", "She sat.")
    assert loaded.items[0].groups == {"category": "gender"}


def test_a_workbook_is_read_and_its_lines_are_those_that_excel_shows(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["more", "less", "year"],
        ["He sat.", "She sat.", 1990],
        [],
        ["He ate.", "She ate.", 1.5],
    ]
    loaded = data.load(write(tmp_path, "p.xlsx", workbook(rows)))
    assert [item.more for item in loaded.items] == ["He sat.", "He ate."]
    assert [item.groups["year"] for item in loaded.items] == ["1990", "1.5"]
    with pytest.raises(DataError, match=r"p.xlsx, line 5: empty sentence in column 'less'"):
        data.load(write(tmp_path, "p.xlsx", workbook([*rows, ["He slept.", None, 3]])))


def test_a_workbook_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MAX_SHEET", 1_000)
    with pytest.raises(DataError, match=r"bytes when decompressed, expected at most 1,000; save it as CSV"):
        data.load(write(tmp_path, "p.xlsx", workbook([["more", "less"], ["a", "b"]])))


@pytest.mark.parametrize(("name", "content", "message"), MISTAKES)
def test_mistakes(name: str, content: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        data.load(write(tmp_path, name, content))
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_mistakes_in_records_name_the_records() -> None:
    with pytest.raises(DataError, match=re.escape("my-list, row 1 (from 0): empty sentence in column 'less'")):
        data.from_records([("a", "b"), ("a", "")], name="My list")
    with pytest.raises(DataError, match="pairs: no rows"):
        data.from_records(pd.DataFrame({"more": [], "less": []}))
    with pytest.raises(DataError, match="found 'more', expected an object"):
        data.from_records({"more": ["a"], "less": ["b"]})  # type: ignore[arg-type]


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "p.csv", "more,less\na,b\n")

    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"p\.csv cannot be read \(Permission denied\)"):
        data.load(path)


def test_beside_more_a_column_stereotype_names_it() -> None:
    """Our own files have it so; alone it is the stereotyping sentence."""
    (named,) = data.from_records([{"more": "A b.", "less": "A c.", "stereotype": "b is so"}]).items
    assert (named.more, named.groups) == ("A b.", {"stereotype": "b is so"})
    (alone,) = data.from_records([{"stereotype": "A b.", "antistereotype": "A c."}]).items
    assert (alone.more, alone.groups) == ("A b.", {})


def test_pairs_of_one_direction_and_pairs_without_are_named() -> None:
    """A model that always prefers one group wins or loses them all: the score says nothing of stereotypes."""
    pairs = [{"more": f"she {n}", "less": f"he {n}", "direction": "stereo"} for n in range(9)]
    (warning,) = data.from_records(pairs).warnings
    assert warning.startswith("9 of 9 pairs have the direction stereo: a model that always prefers one group")
    mixed = [
        *pairs[:5],
        {"more": "he x", "less": "she x", "direction": "antistereo"},
        {"more": "he y", "less": "she y"},
    ]
    without, most = data.from_records(mixed).warnings
    assert without == "1 pair has no direction: the mean of both directions leaves them out (pairs/0006)"
    assert most.startswith("5 of 6 pairs have the direction stereo")
    even = [*pairs[:3], *({"more": f"he {n}", "less": f"she {n}", "direction": "antistereo"} for n in (7, 8))]
    assert data.from_records(even).warnings == ()
