"""Word vectors round-trip through every file format."""

from __future__ import annotations

import gzip
import struct
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unmask.core.errors import DataError
from unmask.vectors.static import WordVectors, format_of, read_vectors

WORDS = ("nurse", "Engineer", "naïve", "don't", "3")
ROWS = np.random.default_rng(5).normal(size=(5, 7)).astype(np.float32)


def lines() -> str:
    return "".join(f"{word} {' '.join(f'{x:.9g}' for x in row)}\n" for word, row in zip(WORDS, ROWS, strict=True))


def glove(path: Path) -> None:
    path.write_text(lines(), encoding="utf-8")


def glove_gz(path: Path) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(lines())


def word2vec_text(path: Path) -> None:
    path.write_text(f"5 7\n{lines()}", encoding="utf-8")


def fasttext_text(path: Path) -> None:
    path.write_text(f"5 7\n{lines()}".replace("\n", " \n").replace("5 7 \n", "5 7\n"), encoding="utf-8")


def word2vec_binary(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"5 7\n")
        for word, row in zip(WORDS, ROWS, strict=True):
            file.write(word.encode() + b" " + struct.pack("<7f", *row) + b"\n")


WRITERS: dict[str, tuple[Callable[[Path], None], str]] = {
    "glove.txt": (glove, "glove-text"),
    "glove.txt.gz": (glove_gz, "glove-text"),
    "w2v.txt": (word2vec_text, "word2vec-text"),
    "wiki.vec": (fasttext_text, "word2vec-text"),
    "w2v.bin": (word2vec_binary, "word2vec-binary"),
    "odd.name": (word2vec_binary, "word2vec-binary"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_round_trips(name: str, tmp_path: Path) -> None:
    writer, form = WRITERS[name]
    writer(tmp_path / name)
    assert format_of(tmp_path / name) == form
    found = read_vectors(tmp_path / name)
    assert found.words == WORDS
    assert found.matrix.dtype == np.float64
    np.testing.assert_array_equal(found.matrix, ROWS.astype(np.float64))
    assert (found.source, found.unknown) == (name, ())


def test_unknown_words_are_listed_and_order_is_as_requested(tmp_path: Path) -> None:
    glove(tmp_path / "g.txt")
    found = read_vectors(tmp_path / "g.txt", ["naïve", "engineer", "nurse", "naïve"])
    assert found.words == ("naïve", "nurse")
    assert found.unknown == ("engineer",)  # letter case counts
    np.testing.assert_array_equal(found.lookup(["nurse"])[0], ROWS[0])
    assert found.missing(["nurse", "Engineer", "x", "x"]) == ("Engineer", "x")
    with pytest.raises(DataError, match="no vector for 'x'"):
        found.lookup(["nurse", "x"])


@pytest.mark.parametrize("name", WRITERS)
def test_selected_words_are_read_from_every_format(name: str, tmp_path: Path) -> None:
    WRITERS[name][0](tmp_path / name)
    found = read_vectors(tmp_path / name, ["3", "nurse", "Nurse"])
    assert (found.words, found.unknown) == (("3", "nurse"), ("Nurse",))
    np.testing.assert_array_equal(found.matrix, ROWS[[4, 0]].astype(np.float64))
    first = read_vectors(tmp_path / name, ["3", "nurse"], limit=2)
    assert (first.words, first.unknown) == (("nurse",), ("3",))


def test_entries_with_spaces_are_skipped(tmp_path: Path) -> None:
    """GloVe's largest file has some, such as three full stops."""
    path = tmp_path / "g.txt"
    path.write_bytes(b"a 1 2\n. . . 5 6\n. 3 4\nat x@y 7 8\n\xff\xfe 1 2\nlast 9 9")
    found = read_vectors(path, [".", "at", "last"])
    assert (found.words, found.unknown) == ((".", "last"), ("at",))
    assert found.matrix.tolist() == [[3, 4], [9, 9]]
    with pytest.raises(DataError, match="request only the words you need"):
        read_vectors(path)


def test_limit(tmp_path: Path) -> None:
    glove(tmp_path / "g.txt")
    assert read_vectors(tmp_path / "g.txt", limit=2).words == WORDS[:2]


def fasttext_binary(path: Path) -> Any:
    from gensim.models import fasttext

    texts = [["nurse", "cares"], ["engineer", "builds"]] * 3
    model = fasttext.FastText(vector_size=4, min_count=1, bucket=50, epochs=1, workers=1, seed=1)
    model.build_vocab(texts)
    fasttext.save_facebook_model(model, str(path))
    return model


def test_fasttext_binary_knows_its_words_only(tmp_path: Path) -> None:
    path = tmp_path / "cc.bin"
    model = fasttext_binary(path)
    assert format_of(path) == "fasttext-binary"
    found = read_vectors(path, ["nurse", "nursing"])
    assert (found.words, found.unknown) == (("nurse",), ("nursing",))
    np.testing.assert_allclose(found.matrix[0], model.wv["nurse"], atol=1e-6)
    assert len(read_vectors(path, limit=3).words) == 3


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not a file of word vectors"),
        (b"just a sentence\nand another\n", "is not a file of word vectors"),
        (b"5 7\nnurse", "cannot be read"),
        (b"a 1 2 3\nb 1 2\n", "cannot be read"),
        (b"a 1 2 nan\n", "not finite"),
    ],
)
def test_other_files_are_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(content)
    with pytest.raises(DataError, match=said):
        read_vectors(path)


def test_a_missing_file_and_words_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_vectors(tmp_path / "none.txt")
    glove(tmp_path / "g.txt")
    with pytest.raises(DataError, match="none of the 1 requested words"):
        read_vectors(tmp_path / "g.txt", ["Krankenpfleger"])


def test_without_gensim_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    glove(tmp_path / "g.txt")
    fasttext_binary(tmp_path / "cc.bin")
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    assert read_vectors(tmp_path / "g.txt").words == WORDS
    with pytest.raises(DataError, match=r"pip install 'unmask\[vectors\]'"):
        read_vectors(tmp_path / "cc.bin")


def test_vectors_must_be_one_finite_row_per_word() -> None:
    with pytest.raises(DataError, match="one row for each word"):
        WordVectors(("a", "b"), np.ones((1, 2)), "made")
    with pytest.raises(DataError, match="two vectors"):
        WordVectors(("a", "a"), np.ones((2, 2)), "made")


@pytest.mark.parametrize("words", [None, ["nurse"]])
def test_sizes_that_a_file_claims_are_not_allocated(words: list[str] | None, tmp_path: Path) -> None:
    path = tmp_path / "v.bin"
    for header in (b"999999999999 300\n", b"5 999999999999\n", b"999999999999 7\n", b"9" * 5000 + b" 7\n"):
        for body in (lines().encode(), struct.pack("<20f", *range(20))):
            path.write_bytes(header + body)
            tracemalloc.start()
            try:
                read_vectors(path, words)
            except DataError as error:
                assert "\n" not in str(error)  # noqa: PT017 - with some words the text file is readable
            assert tracemalloc.get_traced_memory()[1] < 20e6
            tracemalloc.stop()


def test_a_fasttext_file_that_claims_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cc.bin"
    fasttext_binary(path)
    good = path.read_bytes()
    for offset in (8, 40, 68):  # dimensions, buckets, words
        path.write_bytes(good[:offset] + struct.pack("<i", 60_000) + good[offset + 4 :])
        with pytest.raises(DataError, match=r"the file is too small|impossible sizes"):
            read_vectors(path)


def test_damaged_gzip_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "g.txt.gz"
    glove_gz(path)
    good = path.read_bytes()
    for bad in (good[:-20], good[:40] + b"\x00\xff" + good[42:], b"\x1f\x8b" + good[12:]):
        path.write_bytes(bad)
        with pytest.raises(DataError, match="cannot be read"):
            read_vectors(path)
