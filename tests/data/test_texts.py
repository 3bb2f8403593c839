"""Text to train on and held-out text: the same documents are held out wherever text is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from unmask import data
from unmask.core.errors import DataError
from unmask.core.options import TextLayout
from unmask.data.language import split_sentences
from unmask.data.texts import build_corpus, file_facts, is_held_out, load_corpus


def test_documents_are_held_out_by_hash() -> None:
    texts = [f"Document number {number}. It has two sentences." for number in range(600)]
    corpus = build_corpus(texts)
    assert [document[0] for document in corpus.held_out] == [
        split_sentences(text)[0] for text in texts if is_held_out(text)
    ]
    assert 10 < len(corpus.held_out) < 60
    assert len(corpus.documents) + len(corpus.held_out) == 600
    assert len(build_corpus(texts, limit=20).documents) == 20
    given = build_corpus(texts, held_out=["Only this."])
    assert (given.held_out, len(given.documents)) == ((("Only this.",),), 600)


@pytest.mark.parametrize(
    ("texts", "limit", "said"),
    [([], None, "the corpus has no text"), (["  "], None, "the corpus has no text"), (["A text."], 0, "limit is 0")],
)
def test_a_corpus_without_text(texts: list[str], limit: int | None, said: str) -> None:
    with pytest.raises(DataError, match=said):
        build_corpus(texts, limit=limit)


def test_files_give_the_same_split_as_texts(tmp_path: Path) -> None:
    texts = [f"Document number {number}. It has two sentences." for number in range(200)]
    (tmp_path / "a.txt").write_text("\n\n".join(texts))
    corpus = load_corpus([tmp_path / "a.txt"], TextLayout(unit="block"), limit=100)
    assert corpus == build_corpus(texts, files=[file_facts(tmp_path / "a.txt")], limit=100)
    assert len(corpus.documents) == 100
    assert len(corpus.held_out) > 0
    assert corpus.held_out_sentences == [sentence for document in corpus.held_out for sentence in document]


def test_given_held_out_files_replace_the_split(tmp_path: Path) -> None:
    held = next(f"Held {number}." for number in range(1000) if is_held_out(f"Held {number}."))
    (tmp_path / "a.txt").write_text(f"One.\n{held}\n")
    (tmp_path / "b.txt").write_text("Only this.\n")
    corpus = load_corpus([tmp_path / "a.txt"], held_out=[tmp_path / "b.txt"])
    assert (corpus.documents, corpus.held_out) == ((("One.",), (held,)), (("Only this.",),))
    assert [file["name"] for file in corpus.files] == ["a.txt", "b.txt"]
    alone = load_corpus([], held_out=[tmp_path / "b.txt"])
    assert (alone.documents, alone.held_out, len(alone.files)) == ((), (("Only this.",),), 1)


def test_without_files_the_reminders_are_the_held_out_text() -> None:
    corpus = load_corpus([])
    assert corpus.held_out_sentences == [reminder.sentence for reminder in data.read("reminders")]
    assert corpus.documents == ()


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file"):
        load_corpus([tmp_path / "none.txt"])


def test_a_corpus_whose_file_name_is_not_utf_8_can_be_recorded(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")
    path.write_text("One sentence.\n", encoding="utf-8")
    (facts,) = load_corpus([], held_out=[path]).files
    assert facts["name"] == "caf?.txt"
