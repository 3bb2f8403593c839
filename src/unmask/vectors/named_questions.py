"""Questions by name: WEAT's lists, the package's lists, SEAT's files, and sentences made from any list.

weat-6               the words of WEAT 6                     weat-6-sentences   the same in sentences
religion-islam       the package's words                     religion-islam-sentences
seat-6, seat-6b      SEAT's own sentences (bias_bench/seat/sent-weat6.jsonl of a data directory)
sent-religion1       any other file there, by name           mine.json          your own file
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from unmask.core.errors import DataError, UnknownName
from unmask.data.files import data_dirs
from unmask.vectors.questions import Group, Question, read_questions, religion_questions, weat_questions

SEAT = Path("bias_bench") / "seat"
SUFFIXES = (".json", ".jsonl", ".csv")
IN_SENTENCES = "-sentences"
SENTENCES = ("This is about {}.", "It has to do with {}.", "They were talking about {}.", "We thought of {}.")
GENDER_TESTS = ("6", "7", "8")


def load_questions(names: Sequence[str], data_dir: Path | None = None) -> tuple[Question, ...]:
    """The questions with these names or in these files, in order."""
    return tuple(question for name in names for question in _load(name, data_dir))


def is_question(name: str) -> bool:
    """Whether it has the form of a question's name, or is a file of questions; SEAT's file may be missing."""
    form = re.fullmatch(r"seat-\d+b?|sent-.+", name)
    return bool(form) or name.removesuffix(IN_SENTENCES) in _word_questions() or Path(name).suffix in SUFFIXES


def default_question_names(measure: str, data_dir: Path | None = None) -> tuple[str, ...]:
    """Default questions of a measure; sentence measures use SEAT's files 6, 7, 8 if they exist."""
    if measure == "weat":
        return tuple(question.name for question in weat_questions())
    if measure == "ceat":
        return tuple(f"weat-{test}" for test in GENDER_TESTS)
    published = [_seat_file(f"sent-weat{test}", data_dir) for test in GENDER_TESTS]
    form = "seat-{}" if all(published) else f"weat-{{}}{IN_SENTENCES}"
    return tuple(form.format(test) for test in GENDER_TESTS)


def in_sentences(question: Question) -> Question:
    """The same words, each in four template sentences."""
    groups = [
        Group(
            group.name,
            tuple(frame.format(word) for word in group.texts for frame in SENTENCES),
            tuple(word for word in group.texts for _ in SENTENCES),
            tuple(word for word in group.texts for _ in SENTENCES),
        )
        for group in question.groups()
    ]
    return Question(f"{question.name}{IN_SENTENCES}", *groups)


def _word_questions() -> dict[str, Question]:
    """WEAT's and the package's questions by name."""
    return {question.name: question for question in (*weat_questions(), *religion_questions())}


def _load(name: str, data_dir: Path | None) -> tuple[Question, ...]:
    known = _word_questions()
    if name in known:
        return (known[name],)
    if name.removesuffix(IN_SENTENCES) in known:
        return (in_sentences(known[name.removesuffix(IN_SENTENCES)]),)
    if Path(name).suffix in SUFFIXES:
        return read_questions(Path(name))
    numbered = re.fullmatch(r"seat-(\d+b?)", name)
    stem = f"sent-weat{numbered[1]}" if numbered else name
    path = _seat_file(stem, data_dir)
    if path is None and not numbered:
        raise UnknownName("question", name, (*known, "weat-6-sentences", "seat-6"))
    if path is None:
        searched = ", ".join(str(folder / SEAT) for folder in data_dirs(data_dir))
        raise DataError(
            f"{name} needs SEAT's file {stem}.jsonl: searched {searched}; give the folder that contains "
            f"bias_bench as data_dir, or use weat-6{IN_SENTENCES} and the like, which need no files"
        )
    return (_with_words(_rename(read_questions(path)[0], name), path),)


def _seat_file(stem: str, data_dir: Path | None) -> Path | None:
    candidates = (folder / SEAT / f"{stem}.jsonl" for folder in data_dirs(data_dir))
    return next((path for path in candidates if path.is_file()), None)


def _with_words(question: Question, path: Path) -> Question:
    """SEAT's sentences with their word of interest, if the file of words is in the same folder."""
    words = path.with_name(path.name.removeprefix("sent-"))
    if words == path or not words.is_file():
        return question
    try:
        return question.with_words(read_questions(words)[0])
    except DataError:
        return question  # some sentence has none of the words: every sentence is its own unit


def _rename(question: Question, name: str) -> Question:
    return Question(name, *question.groups())
