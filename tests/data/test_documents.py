"""Documents from files of every format, and the errors for unreadable ones."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unmask.core.errors import DataError
from unmask.core.options import TextLayout
from unmask.data.documents import Problems, read_documents
from unmask.data.language import split_sentences

TEXTS = ["She is a nurse.", "Él y ella — “no”.", "The last one."]


def texts_of(path: Path, layout: TextLayout | None = None, problems: Problems | None = None) -> list[str]:
    return [one.text for one in read_documents([path], layout, problems)]


def write_packed(path: Path, raw: bytes) -> Path:
    """Write bytes, compressed as the suffix says."""
    match path.suffix:
        case ".gz":
            path.write_bytes(gzip.compress(raw))
        case ".xz":
            path.write_bytes(lzma.compress(raw))
        case ".bz2":
            path.write_bytes(bz2.compress(raw))
        case ".zst":
            path.write_bytes(pa.compress(raw, codec="zstd", asbytes=True))
        case _:
            path.write_bytes(raw)
    return path


@pytest.mark.parametrize("tail", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_every_format_gives_the_same_documents_whatever_its_compression(tmp_path: Path, tail: str) -> None:
    rows = "\n".join(json.dumps({"id": n, "text": text}) for n, text in enumerate(TEXTS))
    cells = "id,text\n" + "\n".join(f'{n},"{text}"' for n, text in enumerate(TEXTS))
    tabs = "id\ttext\n" + "\n".join(f"{n}\t{text}" for n, text in enumerate(TEXTS))
    files = {"a.txt": "\n\n".join(TEXTS), "a.jsonl": rows, "a.csv": cells, "a.tsv": tabs}
    for name, whole in files.items():
        assert texts_of(write_packed(tmp_path / f"{name}{tail}", whole.encode())) == TEXTS


def test_parquet_reads_only_its_text(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": [TEXTS[0], None, TEXTS[1]], "n": [1, 2, 3]}), tmp_path / "a.parquet")
    problems = Problems()
    assert texts_of(tmp_path / "a.parquet", problems=problems) == TEXTS[:2]
    assert problems.first == ["a.parquet, row 1 (from 0): no text"]


def test_lines_blocks_and_whole_files(tmp_path: Path) -> None:
    path = write_packed(tmp_path / "a.txt", b"one\ntwo\n\n \nthree\r\n")
    assert texts_of(path) == ["one", "two", "three"]
    assert texts_of(path, TextLayout(unit="block")) == ["one\ntwo", "three"]
    assert texts_of(path, TextLayout(unit="file")) == ["one\ntwo\nthree"]
    assert [one.row for one in read_documents([path])] == [0, 1, 2]


def test_several_columns_make_one_document_and_numbers_name_them_without_a_header(tmp_path: Path) -> None:
    path = write_packed(tmp_path / "a.csv", b'x\t1\tA "man.\tA woman.\nx\t2\tHe.\tShe.\textra\nshort\n')
    problems = Problems()
    assert texts_of(path, TextLayout(("3", "4"), header=False), problems) == ['A "man.\nA woman.', "He.\nShe."]
    assert problems.first == ["a.csv, row 2 (from 0): 1 fields, expected 4"]


def test_bad_rows_are_skipped_and_recorded(tmp_path: Path) -> None:
    problems = Problems()
    raw = b'{"text": "a"}\nnot json\n{"other": 1, "more": 2, "text": 3}\n[1]\n"b"\n'
    assert texts_of(write_packed(tmp_path / "a.jsonl", raw), TextLayout(("text",)), problems) == ["a", "b"]
    assert problems.count == 3
    assert [one.split(":")[0] for one in problems.first] == [f"a.jsonl, row {n} (from 0)" for n in (1, 2, 3)]
    assert texts_of(write_packed(tmp_path / "b.csv", b"id,text\n1,a\n2\n3,c\n"), problems=problems) == ["a", "c"]
    assert "2 (from 0)" not in problems.first[-1]
    assert problems.first[-1].startswith("b.csv, row 1 (from 0): 1 fields, expected 2")


def test_bytes_that_are_not_utf8_are_replaced_and_recorded(tmp_path: Path) -> None:
    problems = Problems()
    assert texts_of(write_packed(tmp_path / "a.txt", b"ok\n caf\xe9 she\n"), problems=problems) == [
        "ok",
        " caf\ufffd she",
    ]
    assert problems.first == ["a.txt, row 1 (from 0): byte 4 is not UTF-8; it was replaced"]


@pytest.mark.parametrize(
    ("name", "raw", "layout", "said"),
    [
        ("a.csv", b"x,y\n1,2\n", TextLayout(), "no column is clearly the text; name one of x, y"),
        ("a.csv", b"x,y\n1,2\n", TextLayout(("text",)), "no column 'text'; it has x, y"),
        ("a.txt", "Hé".encode("utf-16"), TextLayout(), "is UTF-16; expected UTF-8"),
        ("a.txt.xz", b"not packed", TextLayout(), "cannot be read to its end"),
        ("a.parquet", b"not parquet", TextLayout(), "not a readable Parquet file"),
    ],
)
def test_unreadable_files_give_a_one_line_error(
    tmp_path: Path, name: str, raw: bytes, layout: TextLayout, said: str
) -> None:
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(DataError, match=r"\A[^\n]*\Z") as error:
        texts_of(tmp_path / name, layout)
    assert said in str(error.value)


def test_missing_files_units_and_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file"):
        list(read_documents([tmp_path / "none.txt"]))
    with pytest.raises(DataError, match="no files given"):
        list(read_documents([]))
    with pytest.raises(DataError, match="unit is 'page', expected line, block or file"):
        TextLayout(unit="page")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="a number from 1"):
        TextLayout(("text",), header=False)


def test_problems_beyond_the_limit_are_counted() -> None:
    many = Problems()
    for row in range(50):
        many.add("f", row, "bad")
    other = Problems()
    other.merge(many)
    assert (other.count, len(other.first)) == (50, 20)


def test_sentences_end_at_marks_but_not_at_titles_and_initials() -> None:
    text = 'Mr. Smith met J. R. Jones. "Why?" she asked. He said "No." Then it ended!\nNew line, e.g. this one'
    assert split_sentences(text) == [
        "Mr. Smith met J. R. Jones.",
        '"Why?" she asked.',
        'He said "No."',
        "Then it ended!",
        "New line, e.g. this one",
    ]
    assert split_sentences("  \n") == []
