"""Files from outside that are damaged, hostile or very large: one line, or accepted and harmless."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unmask import data
from unmask.core.errors import DataError
from unmask.core.files import to_json
from unmask.data import documents, formats
from unmask.data.documents import read_documents
from unmask.data.formats import read_bytes, read_lines, read_table

PAIR = '"more": "A b.", "less": "A c."'
FINSPECTOR = '{"bias_type": "x", "sent_index": 1, "para_index": 0, "more_or_less": "sent_more", "sent": "A."}'
REFUSED = {
    "lone surrogate in an id": ("p.jsonl", f'{{{PAIR}}}\n{{{PAIR}, "id": "\\ud800"}}', "p.jsonl, line 2 is not JSON"),
    "lone surrogate in a category": ("p.jsonl", f'{{{PAIR}, "category": "\\udfff"}}', "p.jsonl, line 1 is not JSON"),
    "lone surrogate in a column": ("p.jsonl", f'{{{PAIR}, "\\ud800": "x"}}', "p.jsonl, line 1 is not JSON"),
    "lone surrogate in a template": ("t.yaml", 'templates:\n- "{subject} \\ud800"\n', "t.yaml, line 2: not YAML"),
    "5,000 digits": ("p.jsonl", f'{{{PAIR}, "n": {"9" * 5000}}}', "p.jsonl, line 1 is not JSON (Exceeds the limit"),
    "5,000 digits in YAML": ("t.yaml", f"words:\n- {'9' * 5000}\n", "t.yaml, line 2: not YAML"),
    "a number of a date's form": ("t.yaml", "words: [2024-99-99]\n", "t.yaml, line 1: no template with {word}"),
    "a tag for dates": ("t.yaml", "words:\n- !!timestamp x\n", "t.yaml, line 2: not YAML"),
    "deep YAML": ("t.yaml", "[" * 2000, "t.yaml, line 1: not YAML (more than 30 levels)"),
    "deep JSON": ("p.json", "[" * 100_000, "p.json is nested too deeply"),
    "a slot without a name": (
        "t.yaml",
        "slots: {'': [a, b]}\ntemplates: ['{} x']\n",
        "t.yaml, slots: found '', expected",
    ),
    "a slot called word": ("t.yaml", "slots: {word: [a, b]}\ntemplates: ['{word}']\n", "slots: found 'word', expected"),
    "a string among Finspector's rows": ("f.json", f'[{FINSPECTOR}, "x"]', "f.json, row 1 (from 0): found 'x'"),
    "a template that is a list": (
        "t.jsonl",
        '{"template": ["{subject}"]}',
        "t.jsonl, line 1: template is ['{subject}']",
    ),
    "a word that is an object": (
        "t.yaml",
        "words:\n- word: {a: b}\n",
        "t.yaml, line 2: word is {'a': 'b'}, expected text",
    ),
    "an unclosed quote": ("p.csv", 'more,less\n\nA b.,"A c.\nx\n', "p.csv, line 3: unexpected end of data"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_no_text_can_hold_is_refused_with_file_and_line(case: str, tmp_path: Path) -> None:
    name, content, message = REFUSED[case]
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=f"^.*{re.escape(message)}") as caught:
        data.load(tmp_path / name)
    assert len(str(caught.value)) < 800


@pytest.mark.parametrize("strange", ["\x0b", "\x1b[31m", "\x00", "\ufffe", "\u202e", "😀" * 30, "=1+1"])
def test_control_characters_are_data(strange: str, tmp_path: Path) -> None:
    row = {"more": f"A {strange}.", "less": "A c.", "category": f"a{strange}b"}
    (tmp_path / "p.jsonl").write_text(json.dumps(row), encoding="utf-8")
    (tmp_path / "p.csv").write_text(f"more,less,category\nA {strange}.,A c.,a{strange}b\n", encoding="utf-8")
    for name in ("p.jsonl", "p.csv"):
        (item,) = data.load(tmp_path / name).items
        assert item.groups["category"] == row["category"]
        to_json(item).encode()


def test_records_from_python_with_half_a_character_are_refused() -> None:
    for bad in (
        {"more": "a", "less": "b", "category": "\ud800"},
        {"more": "a", "less": "b", "\ud800": "x"},
        ("a", "\udfff"),
    ):
        with pytest.raises(DataError, match=r"mine, row 1 \(from 0\): half a character"):
            data.from_records([("a", "b"), bad], name="mine")


def test_a_cell_of_any_usual_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(f'more,less\n"{"a " * 100_000}b.",c\n', encoding="utf-8")
    assert len(data.load(tmp_path / "p.csv").items[0].more) == 200_002


def test_a_cell_that_is_too_large_is_not_told_to_close_its_quotes(tmp_path: Path) -> None:
    limit = csv.field_size_limit(1000)
    try:
        (tmp_path / "p.csv").write_text(f"more,less\na,b\n{'a' * 2000},c\n", encoding="utf-8")
        with pytest.raises(DataError, match=r"p\.csv, line 3: field larger than field limit .*expected at most"):
            data.load(tmp_path / "p.csv")
    finally:
        csv.field_size_limit(limit)


def test_messages_do_not_repeat_long_cells(tmp_path: Path) -> None:
    long = "x" * 70_000
    for name, text in (
        ("p.csv", f"more,less,direction\na,b,{long}\n"),
        ("p.csv", f"more,{long}\na,b\n"),
        ("t.csv", f"template\n{long}\n"),
        ("p.json", json.dumps([long])),
        ("p.json", json.dumps({long: 1})),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(DataError) as caught:
            data.load(tmp_path / name)
        assert len(str(caught.value)) < 700


def test_a_small_parquet_file_of_many_rows_is_refused_before_it_is_all_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "MAX_ROWS", 10_000)
    pq.write_table(pa.table({"more": ["a"] * 1_000_000, "less": ["b"] * 1_000_000}), tmp_path / "p.parquet")
    assert (tmp_path / "p.parquet").stat().st_size < 100_000
    with pytest.raises(DataError, match=r"p\.parquet: more than 10,000 rows"):
        data.load(tmp_path / "p.parquet")


def test_two_columns_of_one_name_in_parquet_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"])] * 3, names=["more", "less", "more"])
    pq.write_table(table, tmp_path / "p.parquet")
    with pytest.raises(DataError, match="two columns have one name"):
        data.load(tmp_path / "p.parquet")
    with pytest.raises(DataError, match="two columns are called 'more'"):
        list(read_documents([tmp_path / "p.parquet"], documents.TextLayout(column="more")))


def test_sizes_are_limited(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("12345")
    assert read_bytes(tmp_path / "a.txt", "text", most=5) == b"12345"
    with pytest.raises(DataError, match="has more than 4 bytes"):
        read_bytes(tmp_path / "a.txt", "text", most=4)


def test_a_small_file_reserves_no_more_memory_than_it_has(tmp_path: Path) -> None:
    """Reading at most 2 GB reserved 2 GB, which a process with limited memory does not get."""
    (tmp_path / "small.csv").write_text("more,less\nA b.,A c.\n", encoding="utf-8")
    tracemalloc.start()
    try:
        assert len(read_bytes(tmp_path / "small.csv", "a file")) == 20
        assert tracemalloc.get_traced_memory()[1] < 1e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl"])
def test_a_compressed_line_without_end_is_refused_before_it_fills_the_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_LINE", 1000)
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(b"text\n" + b"a" * 100_000))
    with pytest.raises(DataError, match=r"line 2: more than 1,000 bytes"):
        list(read_documents([path]))


def test_a_document_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_DOCUMENT", 1000)
    (tmp_path / "a.txt").write_text("some words\n" * 1000)
    with pytest.raises(DataError, match="a document of more than 1,000 characters"):
        list(read_documents([tmp_path / "a.txt"], documents.TextLayout(unit="file")))


@pytest.mark.parametrize("path", ["n" * 5000 + ".csv", "~nobody-of-this-name/p.csv", "a\x00b.csv", "/dev/zero", "."])
def test_a_path_that_is_no_file_is_one_line(path: str) -> None:
    with pytest.raises(DataError):
        data.load(path)


def test_devices_and_pipes_are_not_read() -> None:
    with pytest.raises(DataError, match="/dev/zero does not exist"):
        read_bytes(Path("/dev/zero"), "a file")


def test_lines_are_numbered_as_in_an_editor(tmp_path: Path) -> None:
    path = tmp_path / "w.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\n\r\n two \x0bx\nthree")
    lines = read_lines(path, "words")
    assert list(lines) == ["one", "two \x0bx", "three"]
    assert [lines.at(row) for row in range(3)] == ["w.txt, line 1", "w.txt, line 3", "w.txt, line 4"]
    (tmp_path / "t.csv").write_text('a,b\n1,"x\ny"\n\n2,z\n')
    rows = read_table(tmp_path / "t.csv", "a table")
    assert [rows.at(row) for row in range(2)] == ["t.csv, line 2", "t.csv, line 5"]


def test_a_file_whose_name_is_not_utf_8_can_be_loaded_and_recorded(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.csv")
    path.write_text("more,less\nA b.,A c.\n")
    loaded = data.load(path)
    assert loaded.card.source == "caf?.csv"
    to_json(loaded.facts()).encode()
