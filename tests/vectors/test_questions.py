"""Questions: WEAT's lists, SEAT's files, JSON and CSV."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import zoo
from unmask.core.errors import DataError, UnknownName
from unmask.vectors.questions import (
    SENTENCES,
    Group,
    Question,
    default_question_names,
    in_sentences,
    load_questions,
    read_questions,
    weat_questions,
)

SIZES = {1: 25, 2: 25, 3: 32, 4: 16, 5: 16, 6: 8, 7: 8, 8: 8, 9: 6, 10: 8}


def test_weat_lists_are_complete() -> None:
    assert [question.name for question in weat_questions()] == [f"weat-{number}" for number in SIZES]
    for question, size in zip(weat_questions(), SIZES.values(), strict=True):
        assert len(question.x.texts) == len(question.y.texts) == size
        assert len(question.a.texts) == len(question.b.texts)
        assert all(len(set(group.texts)) == len(group.texts) for group in question.groups())
    with pytest.raises(UnknownName, match="weat-1"):
        load_questions(["weat-11"])


@pytest.mark.parametrize("number", SIZES)
def test_weat_lists_are_those_of_the_seat_files(number: int, published: Path) -> None:
    (theirs,) = read_questions(published / "bias_bench" / "seat" / f"weat{number}.jsonl")
    ours = weat_questions()[number - 1]
    assert [set(group.texts) for group in ours.groups()] == [set(group.texts) for group in theirs.groups()]


def test_every_seat_file_can_be_read(data_dir: Path) -> None:
    paths = sorted((data_dir / "bias_bench" / "seat").glob("*.jsonl"))
    assert len(paths) == 7 if data_dir == zoo.MINIATURE else len(paths) > 40
    for path in paths:
        (question,) = read_questions(path)
        told = json.loads(path.read_text(encoding="utf-8"))
        assert question.name == path.stem
        for group, key in zip(question.groups(), ("targ1", "targ2", "attr1", "attr2"), strict=True):
            assert (group.name, list(group.texts)) == (told[key]["category"], told[key]["examples"])


@pytest.mark.parametrize("number", [6, 7, 8])
def test_words_of_interest_are_found_in_sentences(number: int, miniature: Path) -> None:
    check_words_of_interest(number, miniature)


@pytest.mark.parametrize("number", SIZES)
def test_words_of_interest_are_found_in_seat_sentences(number: int, published: Path) -> None:
    check_words_of_interest(number, published)


def check_words_of_interest(number: int, folder: Path) -> None:
    """Every sentence has its word, a form of one in WEAT's list."""
    (sentences,) = read_questions(folder / "bias_bench" / "seat" / f"sent-weat{number}.jsonl")
    found = sentences.with_words(weat_questions()[number - 1])
    for group, words in zip(found.groups(), weat_questions()[number - 1].groups(), strict=True):
        for (text, (begin, end)), word in zip(group.word_spans(), group.words, strict=True):
            assert text[begin:end] == word
            stems = [known.lower()[: max(1, len(known) - 3)] for known in words.texts]
            assert any(word.lower().startswith(stem) for stem in stems)


def test_the_word_of_interest_is_whole_and_may_be_in_the_plural() -> None:
    group = Group("g", ("This is an artist.", "The article is about art.", "These are arts.", "Women dance."))
    words = Group("w", ("art", "artist", "woman"))
    question = Question("q", group, group, group, group)
    found = question.with_words(Question("q", words, words, words, words)).x
    assert found.words == ("artist", "art", "arts", "Women")
    assert found.units == ("artist", "art", "art", "woman")
    assert question.units()[0] == group.texts
    assert found.without(frozenset(group.texts[:3])) == Group("g", ("Women dance.",), ("Women",), ("woman",))
    assert found.word_spans()[1] == ("The article is about art.", (21, 24))
    none = Group("w", ("music",))
    with pytest.raises(DataError, match="none of the words of w"):
        question.with_words(Question("q", none, none, none, none))


def ours() -> dict[str, object]:
    made: dict[str, object] = {
        key: {"name": key.upper(), "texts": [f"{key} one", f"{key} two"], "words": ["one", "two"]} for key in "xyab"
    }
    return {"name": "mine", **made}


def test_json_and_csv_are_equivalent(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(json.dumps([ours()]), encoding="utf-8")
    rows = [f"mine,{key},{key.upper()},{key} {word},{word}" for key in "xyab" for word in ("one", "two")]
    (tmp_path / "q.csv").write_text("\n".join(["question,set,name,text,word", *rows]), encoding="utf-8")
    (question,) = read_questions(tmp_path / "q.json")
    assert read_questions(tmp_path / "q.csv") == (question,)
    assert question.x == Group("X", ("x one", "x two"), ("one", "two"))
    assert question.x.word_spans() == (("x one", (2, 5)), ("x two", (2, 5)))
    assert question.lower().x.texts == ("x one", "x two")
    assert weat_questions()[5].lower().x.texts[:2] == ("john", "paul")
    assert question.without(["x two"]).x == Group("X", ("x one",), ("one",))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": {"name": "X", "texts": []}}, "expected words or sentences"),
        ({"x": {"name": "X", "texts": ["p", "p"]}}, "a text twice"),
        ({"x": {"name": "X", "texts": ["p", "q"], "words": ["p"]}}, "1 words for 2 texts"),
        ({"x": ["p"]}, r"x is \['p'\]"),
    ],
)
def test_malformed_questions_are_refused(change: dict[str, object], said: str, tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text(json.dumps(ours() | change), encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read_questions(tmp_path / "q.json")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("q.json", "{", "is not JSON"),
        ("q.json", '{"name": "n"}', r"q\.json has no x"),
        ("q.csv", "question,text\nq,t\n", "has no columns set, name"),
        ("q.csv", "question,set,name,text\nq,x,X,t\n", "expected x, y, a and b"),
        ("q.csv", "", "has no columns question"),
        ("q.json", '{"name": 3, "x": {}, "y": {}, "a": {}, "b": {}}', "name is 3"),
        (
            "q.json",
            '{"name": "n", "x": {"name": "x", "texts": [1, 2]}, "y": {}, "a": {}, "b": {}}',
            r"x\.texts\[0\] is 1",
        ),
        (
            "q.json",
            '{"name": "n", "x": {"name": "x", "texts": ["a"], "words": 5}, "y": {}, "a": {}, "b": {}}',
            r"x\.words is 5",
        ),
        ("q.json", '{"name": "\\ud800"}', "is not JSON"),
    ],
)
def test_files_without_questions_are_refused(name: str, content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        read_questions(tmp_path / name)


def test_a_word_that_is_not_in_its_sentence_is_refused() -> None:
    with pytest.raises(DataError, match="is not a word of"):
        Group("g", ("The article.",), ("art",)).word_spans()
    with pytest.raises(DataError, match="words of interest are not given"):
        Group("g", ("The article.",)).word_spans()


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
            text[begin:end] == word for (text, (begin, end)), word in zip(group.word_spans(), group.words, strict=True)
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
    assert default_question_names("seat", tmp_path) == ("weat-6-sentences", "weat-7-sentences", "weat-8-sentences")
    assert default_question_names("ceat", tmp_path) == ("weat-6", "weat-7", "weat-8")
    assert len(default_question_names("weat", tmp_path)) == 10
    assert default_question_names("weat-manhattan", tmp_path) == default_question_names("weat", tmp_path)
    assert len(load_questions(default_question_names("rnsb", tmp_path))) == 6


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"seat-6 needs SEAT's file sent-weat6\.jsonl"):
        load_questions(["seat-6"], tmp_path)
    with pytest.raises(UnknownName, match="no question named 'weat-66'"):
        load_questions(["weat-66"], tmp_path)
    with pytest.raises(DataError, match=r"gone\.json cannot be read"):
        load_questions([str(tmp_path / "gone.json")], tmp_path)
