"""Questions by name: word lists, SEAT's files, template sentences, files."""

from __future__ import annotations

from pathlib import Path

import pytest

from unmask.core.errors import DataError, UnknownName
from unmask.vectors.named_questions import SENTENCES, default_question_names, in_sentences, load_questions
from unmask.vectors.questions import read_questions, weat_questions


def test_names_of_words_and_sentences(tmp_path: Path) -> None:
    words, sentences, religion = load_questions(["weat-6", "weat-6-sentences", "religion-islam"], tmp_path)
    assert words == weat_questions()[5]
    assert sentences.name == "weat-6-sentences"
    assert sentences.x.texts[:2] == ("This is about John.", "It has to do with John.")
    assert len(sentences.x.texts) == len(SENTENCES) * len(words.x.texts)
    assert sentences.x.units == sentences.x.words
    assert [len(group.texts) for group in religion.groups()] == [8, 8, 8, 8]
    for group in in_sentences(religion).groups():
        assert all(
            text[begin:end] == word
            for (text, (begin, end)), word in zip(group.word_spans(), group.words, strict=True)
        )


def test_seat_files_are_found_with_their_words(data_dir: Path) -> None:
    (found,) = load_questions(["seat-6"], data_dir)
    (theirs,) = read_questions(data_dir / "bias_bench" / "seat" / "sent-weat6.jsonl")
    assert found.name == "seat-6"
    assert [group.texts for group in found.groups()] == [group.texts for group in theirs.groups()]
    assert set(found.x.units) == set(weat_questions()[5].x.texts)
    (religion,) = load_questions(["sent-religion1"], data_dir)
    assert religion.name == "sent-religion1"


def test_default_questions(data_dir: Path, tmp_path: Path) -> None:
    assert default_question_names("seat", data_dir) == ("seat-6", "seat-7", "seat-8")
    assert default_question_names("seat", tmp_path) == (
        "weat-6-sentences",
        "weat-7-sentences",
        "weat-8-sentences",
    )
    assert default_question_names("ceat", tmp_path) == ("weat-6", "weat-7", "weat-8")
    assert len(default_question_names("weat", tmp_path)) == 10


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"seat-6 needs SEAT's file sent-weat6\.jsonl"):
        load_questions(["seat-6"], tmp_path)
    with pytest.raises(UnknownName, match="no question named 'weat-66'"):
        load_questions(["weat-66"], tmp_path)
    with pytest.raises(DataError, match=r"gone\.json cannot be read"):
        load_questions([str(tmp_path / "gone.json")], tmp_path)
