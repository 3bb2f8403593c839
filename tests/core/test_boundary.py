"""What comes from outside becomes typed values, or one line that says where and why not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from unmask.core.boundary import parse_json, read_json, read_text, validate
from unmask.core.errors import DataError, ResultError


@dataclass(frozen=True)
class Word:
    """A record of two fields."""

    text: str
    counts: list[int]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"text": "a", "counts": [1, "x"]}, "w.json: counts[1] is 'x': input should be a valid integer"),
        ({"text": "a"}, "w.json has no counts: field required"),
        ([], "w.json: the content is []: input should be a dictionary"),
        ({"text": "\x1b" * 500, "counts": 3}, "w.json: counts is 3: input should be a valid list"),
    ],
)
def test_a_value_of_another_shape_is_refused_with_its_place(value: Any, message: str) -> None:
    with pytest.raises(ResultError) as caught:
        validate(Word, value, "w.json", ResultError)
    assert str(caught.value).startswith(message)


def test_a_value_of_the_shape_becomes_the_type() -> None:
    assert validate(Word, {"text": "a", "counts": [1]}, "w.json") == Word("a", [1])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[NaN]", "NaN is not JSON"),
        ("-Infinity", "-Infinity is not JSON"),
        ('{"a": ["\\ud800"]}', "unpaired surrogate"),
        ('{"\\udfff": 1}', "unpaired surrogate"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "4300 digits"),
        ("{", "column 2"),
        ("", "column 1"),
    ],
)
def test_json_that_other_readers_would_refuse_is_refused(text: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        parse_json(text, "a.json")


def test_a_paired_surrogate_is_a_character() -> None:
    assert parse_json('"\\ud83d\\ude00"', "a.json") == "😀"


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_json(tmp_path / "none.json")
    with pytest.raises(DataError, match="Is a directory"):
        read_json(tmp_path)
    (tmp_path / "latin.json").write_bytes(b'"\xe9"')
    with pytest.raises(DataError, match=r"not UTF-8 \(byte 1\)"):
        read_json(tmp_path / "latin.json")
    (tmp_path / "large.txt").write_bytes(b"x" * 11)
    with pytest.raises(DataError, match="11 bytes, expected at most 10"):
        read_text(tmp_path / "large.txt", most=10)


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf[1]")
    assert read_json(tmp_path / "a.json") == [1]
