"""Questions of association tests: are the targets X nearer to the attributes A, and Y to B?

weat-6               the words of WEAT 6                     weat-6-sentences   the same in sentences
religion-islam       the package's words                     religion-islam-sentences
seat-6, seat-6b      SEAT's own sentences (bias_bench/seat/sent-weat6.jsonl of a data directory)
sent-religion1       any other file there, by name           mine.json          your own file, JSON or CSV
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from unmask.core.boundary import Rows, read_json, validate
from unmask.core.errors import DataError, UnknownName, quote
from unmask.core.files import file_name
from unmask.data.files import data_dirs
from unmask.data.formats import is_file, read_table, user_path
from unmask.vectors.contextual import WordInText

Units = Sequence[Sequence[str]]  # what the members of X, Y, A and B are resampled with
SETS = ("x", "y", "a", "b")
SEAT_KEYS = {"targ1": "x", "targ2": "y", "attr1": "a", "attr2": "b"}
SEAT = Path("bias_bench") / "seat"
SUFFIXES = (".json", ".jsonl", ".csv")
IN_SENTENCES = "-sentences"
SENTENCES = ("This is about {}.", "It has to do with {}.", "They were talking about {}.", "We thought of {}.")
GENDER_TESTS = ("6", "7", "8")
SENTIMENT_TESTS = ("weat-3", "weat-4", "weat-5", "weat-10", "religion-islam", "religion-judaism")  # of people


@dataclass(frozen=True, slots=True)
class SeatSet:
    """A set of SEAT's files."""

    category: str
    examples: list[str]


@dataclass(frozen=True, slots=True)
class Group:
    """Words or sentences under one name; `words` names the word of interest of each sentence.

    `units` is that word in its base form; sentences with the same unit belong together.
    """

    name: str
    texts: tuple[str, ...]
    words: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    def without(self, texts: frozenset[str]) -> Group:
        """A copy without some texts."""
        kept = [number for number, text in enumerate(self.texts) if text not in texts]
        columns = (self.texts, self.words, self.units)
        return Group(self.name, *(tuple(column[number] for number in kept) if column else () for column in columns))

    def lower(self) -> Group:
        """A lower-cased copy."""
        return Group(self.name, *(tuple(map(str.lower, column)) for column in (self.texts, self.words, self.units)))

    def word_spans(self) -> tuple[WordInText, ...]:
        """Each sentence with the span of its word of interest."""
        if not self.words:
            raise DataError(f"{self.name}: the words of interest are not given; give them, or use `with_words`")
        return tuple((text, _span(text, word)) for text, word in zip(self.texts, self.words, strict=True))


@dataclass(frozen=True, slots=True)
class Question:
    """Two sets of targets and two of attributes; positive: X is closer to A, and Y to B."""

    name: str
    x: Group
    y: Group
    a: Group
    b: Group

    def groups(self) -> tuple[Group, Group, Group, Group]:
        """X, Y, A, B."""
        return self.x, self.y, self.a, self.b

    def texts(self) -> tuple[str, ...]:
        """All words or sentences, each once."""
        return tuple(dict.fromkeys(text for group in self.groups() for text in group.texts))

    def without(self, texts: Sequence[str]) -> Question:
        """A copy without some words or sentences."""
        return Question(self.name, *(group.without(frozenset(texts)) for group in self.groups()))

    def lower(self) -> Question:
        """A lower-cased copy, for uncased vectors (GloVe 6B)."""
        return Question(self.name, *(group.lower() for group in self.groups()))

    def units(self) -> Units:
        """Units of resampling: the word of each sentence if known, else every text by itself."""
        return [group.units or group.words or group.texts for group in self.groups()]

    def with_words(self, words: Question) -> Question:
        """Set each sentence's word of interest: the word of the same group in `words` that it contains."""
        pairs = zip(self.groups(), words.groups(), strict=True)
        return Question(self.name, *(_with_words(group, known) for group, known in pairs))


def weat_questions(file: str = "weat.json") -> tuple[Question, ...]:
    """WEAT 1–10 as published (Caliskan et al. 2017), or the questions of another file of the package."""
    facts = json.loads((resources.files("unmask.vectors") / file).read_text(encoding="utf-8"))
    groups = {key: Group(facts["names"][key], tuple(words.split())) for key, words in facts["lists"].items()}
    return tuple(Question(name, *(groups[key] for key in keys)) for name, keys in facts["questions"].items())


def load_questions(names: Sequence[str], data_dir: Path | None = None) -> tuple[Question, ...]:
    """The questions with these names or in these files, in order."""
    return tuple(question for name in names for question in _load(name, data_dir))


def is_question(name: str) -> bool:
    """Whether it has the form of a question's name, or is a file of questions; SEAT's file may be missing."""
    form = re.fullmatch(r"seat-\d+b?|sent-.+", name)
    return bool(form) or name.removesuffix(IN_SENTENCES) in _word_questions() or Path(name).suffix in SUFFIXES


def default_question_names(measure: str, data_dir: Path | None = None) -> tuple[str, ...]:
    """Default questions of a measure; sentence measures use SEAT's files 6, 7, 8 if they exist."""
    if measure.startswith("weat"):
        return tuple(question.name for question in weat_questions())
    if measure == "rnsb":
        return SENTIMENT_TESTS
    if measure == "ceat":
        return tuple(f"weat-{test}" for test in GENDER_TESTS)
    published = [_seat_file(f"sent-weat{test}", data_dir) for test in GENDER_TESTS]
    form = "seat-{}" if all(published) else f"weat-{{}}{IN_SENTENCES}"
    return tuple(form.format(test) for test in GENDER_TESTS)


def in_sentences(question: Question) -> Question:
    """The same words, each in four template sentences."""
    groups = []
    for group in question.groups():
        texts = tuple(frame.format(word) for word in group.texts for frame in SENTENCES)
        words = tuple(word for word in group.texts for _ in SENTENCES)
        groups.append(Group(group.name, texts, words, words))
    return Question(f"{question.name}{IN_SENTENCES}", *groups)


def _word_questions() -> dict[str, Question]:
    """WEAT's and the package's questions by name."""
    return {question.name: question for question in (*weat_questions(), *weat_questions("ours.json"))}


def _load(name: str, data_dir: Path | None) -> tuple[Question, ...]:
    known = _word_questions()
    if name in known:
        return (known[name],)
    if name.removesuffix(IN_SENTENCES) in known:
        return (in_sentences(known[name.removesuffix(IN_SENTENCES)]),)
    if Path(name).suffix in SUFFIXES:
        return read_questions(user_path(name))
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
    question = replace(read_questions(path)[0], name=name)
    words = path.with_name(path.name.removeprefix("sent-"))
    if words == path or not words.is_file():
        return (question,)
    try:
        return (question.with_words(read_questions(words)[0]),)
    except DataError:  # some sentence has none of the words: every sentence is its own unit
        return (question,)


def _seat_file(stem: str, data_dir: Path | None) -> Path | None:
    candidates = (folder / SEAT / f"{stem}.jsonl" for folder in data_dirs(data_dir))
    return next((path for path in candidates if is_file(path)), None)


def read_questions(path: Path) -> tuple[Question, ...]:
    """The questions of a file: SEAT's `.jsonl` (one object), `.json`, or `.csv`.

    JSON: an object, or a list of them, with `name` and `x`, `y`, `a`, `b`, each with `name`, `texts` and
    optional `words`. CSV: columns question, set (x, y, a or b), name, text and optional word.
    """
    if path.suffix == ".csv":
        return tuple(_from_table(read_table(path, "questions as JSON or CSV")))
    content = read_json(path)
    return tuple(_from_object(row, path) for row in (content if isinstance(content, list) else [content]))


def _from_object(row: Any, path: Path) -> Question:
    where = file_name(path)
    if isinstance(row, dict) and SEAT_KEYS.keys() <= row.keys():
        parts = {new: validate(SeatSet, row[old], f"{where}: {old}") for old, new in SEAT_KEYS.items()}
        groups = {key: {"name": part.category, "texts": part.examples} for key, part in parts.items()}
        row = {"name": path.stem, **groups}
    return _check(validate(Question, row, where), where)


def _from_table(rows: Rows) -> Iterator[Question]:
    missing = [column for column in ("question", "set", "name", "text") if not rows or column not in rows[0]]
    if missing:
        raise DataError(f"{rows.where} has no columns {', '.join(missing)}")
    by_question: dict[str, dict[str, list[dict[str, str]]]] = {}
    for row in rows:
        by_question.setdefault(row["question"], {}).setdefault(row["set"], []).append(row)
    for question, sets in by_question.items():
        if set(sets) != set(SETS):
            raise DataError(
                f"{rows.where}: {quote(question)} has the sets {quote(sorted(sets))}; expected x, y, a and b"
            )
        columns = [
            (part[0]["name"], tuple(row["text"] for row in part), tuple(row.get("word", "") for row in part))
            for part in (sets[key] for key in SETS)
        ]
        groups = [Group(name, texts, words if any(words) else ()) for name, texts, words in columns]
        yield _check(Question(question, *groups), rows.where)


def _check(question: Question, where: str) -> Question:
    """The question, if its sets are named and have distinct texts, with one word for each or none."""
    for group in question.groups():
        name = quote(group.name)
        if not all(text.strip() for text in (question.name, group.name, *group.texts)) or not group.texts:
            raise DataError(f"{where}: {name} has {quote(list(group.texts))}, expected words or sentences, and names")
        if len(set(group.texts)) < len(group.texts):
            raise DataError(f"{where}: {name} has a text twice; expected each once")
        if group.words and len(group.words) != len(group.texts):
            raise DataError(f"{where}: {name} has {len(group.words)} words for {len(group.texts)} texts")
    return question


def _with_words(group: Group, known: Group) -> Group:
    """The longest known word, in singular or plural, that occurs in each sentence."""
    forms = [(form, word) for word in known.texts for form in _forms(word)]
    forms.sort(key=lambda pair: (-len(pair[0]), pair[0] != pair[1], pair[1]))  # the longest first
    patterns = [(re.compile(rf"(?<!\w){re.escape(form)}(?!\w)", re.IGNORECASE), word) for form, word in forms]
    matched = []
    for text in group.texts:
        best = next(((match.group(), word) for pattern, word in patterns if (match := pattern.search(text))), None)
        if best is None:
            raise DataError(f"{group.name}: {quote(text)} has none of the words of {known.name}")
        matched.append(best)
    words, units = zip(*matched, strict=True)
    return replace(group, words=words, units=units)


def _forms(word: str) -> set[str]:
    """Singular and plural of a noun, as in SEAT's sentences."""
    plural = re.sub(r"man\b", "men", word) if re.search(r"man\b", word) else re.sub(r"y$", "ies", word)
    return {word, plural, f"{word}s", f"{word}es", word.removesuffix("s"), word.removesuffix("ren")}


def _span(text: str, word: str) -> tuple[int, int]:
    """The span of the whole word in the text; DataError if it does not occur."""
    match = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)
    if match is None:
        raise DataError(f"{quote(word)} is not a word of {quote(text)}; give the word as written there")
    return match.span()
