"""Questions of association tests: are the targets X nearer to the attributes A, and Y to B?

A question is data. WEAT 1–10 ship with the package; SEAT's files and JSON or CSV files can be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd

from unmask.core.errors import DataError, UnknownName
from unmask.vectors.contextual import WordInText
from unmask.vectors.intervals import Units

SETS = ("x", "y", "a", "b")
SEAT_KEYS = {"targ1": "x", "targ2": "y", "attr1": "a", "attr2": "b"}


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
        columns = (
            tuple(column[number] for number in kept) if column else ()
            for column in (self.texts, self.words, self.units)
        )
        return Group(self.name, *columns)

    def lower(self) -> Group:
        """A lower-cased copy."""
        columns = (tuple(map(str.lower, column)) for column in (self.texts, self.words, self.units))
        return Group(self.name, *columns)

    def word_spans(self) -> tuple[WordInText, ...]:
        """Each sentence with the span of its word of interest."""
        if not self.words:
            raise DataError(
                f"{self.name}: the words of interest are not given; give them, or use `with_words`"
            )
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
        excluded = frozenset(texts)
        return Question(self.name, *(group.without(excluded) for group in self.groups()))

    def lower(self) -> Question:
        """A lower-cased copy, for uncased vectors (GloVe 6B)."""
        return Question(self.name, *(group.lower() for group in self.groups()))

    def units(self) -> Units:
        """Units of resampling: the word of each sentence if known, else every text by itself."""
        x, y, a, b = (group.units or group.words or group.texts for group in self.groups())
        return x, y, a, b

    def with_words(self, words: Question) -> Question:
        """Set each sentence's word of interest: the word of the same group in `words` that it contains."""
        pairs = zip(self.groups(), words.groups(), strict=True)
        return Question(self.name, *(_with_words(group, known) for group, known in pairs))


def weat_question(name: str) -> Question:
    """One of WEAT 1–10 as published (Caliskan et al. 2017): `weat-1` … `weat-10`."""
    known = {question.name: question for question in weat_questions()}
    if name not in known:
        raise UnknownName("question", name, known)
    return known[name]


def weat_questions() -> tuple[Question, ...]:
    """WEAT 1–10."""
    return _shipped("weat.json")


def religion_questions() -> tuple[Question, ...]:
    """Questions on religion, with the package's own word lists."""
    return _shipped("ours.json")


def _shipped(file: str) -> tuple[Question, ...]:
    text = (resources.files("unmask.vectors") / file).read_text(encoding="utf-8")
    facts = json.loads(text)
    lists = {name: tuple(words.split()) for name, words in facts["lists"].items()}
    return tuple(
        Question(name, *(Group(facts["names"][key], lists[key]) for key in keys))
        for name, keys in facts["questions"].items()
    )


def read_questions(path: Path) -> tuple[Question, ...]:
    """The questions of a file: SEAT's `.jsonl` (one object), `.json`, or `.csv`.

    JSON: an object, or a list of them, with `name` and `x`, `y`, `a`, `b`, each with `name`, `texts` and
    optional `words`. CSV: columns question, set (x, y, a or b), name, text and optional word.
    """
    try:
        if path.suffix == ".csv":
            return tuple(_from_table(pd.read_csv(path, dtype=str, keep_default_na=False), path))
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"{path} cannot be read ({reason}); expected questions as JSON or CSV") from None
    rows = content if isinstance(content, list) else [content]
    return tuple(_from_object(row, path) for row in rows)


def _from_object(row: Any, path: Path) -> Question:
    if isinstance(row, dict) and SEAT_KEYS.keys() <= row.keys():
        sets = {new: row[old] for old, new in SEAT_KEYS.items()}
        parts = {key: (sets[key].get("category"), sets[key].get("examples"), ()) for key in SETS}
        return Question(path.stem, *(_group(*parts[key], path) for key in SETS))
    if not isinstance(row, dict) or not {"name", *SETS} <= row.keys():
        raise DataError(
            f"{path.name}: a question must have name, x, y, a and b (or SEAT's targ1, targ2, attr1, attr2)"
        )
    if not all(isinstance(row[key], dict) for key in SETS):
        raise DataError(f"{path.name}: x, y, a and b must be objects with name and texts")
    parts = {key: (row[key].get("name"), row[key].get("texts"), row[key].get("words", ())) for key in SETS}
    return Question(str(row["name"]), *(_group(*parts[key], path) for key in SETS))


def _from_table(table: pd.DataFrame, path: Path) -> Iterator[Question]:
    missing = [column for column in ("question", "set", "name", "text") if column not in table]
    if missing:
        raise DataError(f"{path.name} has no columns {', '.join(missing)}")
    for name, rows in table.groupby("question", sort=False):
        sets: Mapping[str, Any] = dict(list(rows.groupby("set")))
        if set(sets) != set(SETS):
            raise DataError(f"{path.name}: {name} has the sets {', '.join(sets)}; expected x, y, a and b")
        groups = [sets[key] for key in SETS]
        yield Question(
            str(name),
            *(
                _group(
                    group["name"].iloc[0],
                    group["text"].tolist(),
                    group["word"].tolist() if "word" in group else (),
                    path,
                )
                for group in groups
            ),
        )


def _group(name: Any, texts: Any, words: Any, path: Path) -> Group:
    """A validated group: distinct non-empty texts, and one word per text or none."""
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise DataError(f"{path.name}: {name} has no list of texts; expected words or sentences")
    if len(set(texts)) < len(texts):
        raise DataError(f"{path.name}: {name} has a text twice; expected each once")
    if words and len(words) != len(texts):
        raise DataError(f"{path.name}: {name} has {len(words)} words for {len(texts)} texts")
    return Group(str(name), tuple(texts), tuple(words) if any(words) else ())


def _with_words(group: Group, known: Group) -> Group:
    """The longest known word, in singular or plural, that occurs in each sentence."""
    forms = sorted(((form, word) for word in known.texts for form in _forms(word)), key=_longest_first)
    patterns = [(re.compile(rf"(?<!\w){re.escape(form)}(?!\w)", re.IGNORECASE), word) for form, word in forms]
    matched = []
    for text in group.texts:
        matches = ((match.group(), word) for pattern, word in patterns if (match := pattern.search(text)))
        best = next(matches, None)
        if best is None:
            raise DataError(f"{group.name}: {text!r} has none of the words of {known.name}")
        matched.append(best)
    words, units = zip(*matched, strict=True)
    return replace(group, words=words, units=units)


def _longest_first(pair: tuple[str, str]) -> tuple[int, bool, str]:
    form, word = pair
    return -len(form), form != word, word


def _forms(word: str) -> set[str]:
    """Singular and plural of a noun, as in SEAT's sentences."""
    plural = re.sub(r"man\b", "men", word) if re.search(r"man\b", word) else re.sub(r"y$", "ies", word)
    return {word, plural, f"{word}s", f"{word}es", word.removesuffix("s"), word.removesuffix("ren")}


def _span(text: str, word: str) -> tuple[int, int]:
    """The span of the whole word in the text; DataError if it does not occur."""
    match = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)
    if match is None:
        raise DataError(f"{word!r} is not a word of {text!r}; give the word as written there")
    return match.span()
