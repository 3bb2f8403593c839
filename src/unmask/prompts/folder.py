"""The folder of a human-level diagnosis: answers, people's judgements, and what still waits for a person.

    folder = open_folder("runs/hld")
    answer = folder.next_answer("anna")                       what anna has not judged yet, None when nothing is left
    folder.save(answer.prompt, "anna", "not biased")   on disk before it returns

answers.jsonl     what the model said, one object a prompt
judgements.csv    what people said of it; whole at every moment
undecided.csv     what nobody has decided, with empty columns for a person to fill in
hld.json          scores, agreement, and everything they rest on
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmask.core.errors import DataError, ResultError
from unmask.data.formats import decode, records, table
from unmask.prompts.annotations import (
    COLUMNS,
    Annotation,
    append_annotations,
    make_annotation,
    pending_answers,
    read_annotations,
)
from unmask.prompts.fill import ModelAnswers, PromptAnswer
from unmask.prompts.scoring import verdicts

ANSWERS, JUDGEMENTS, UNDECIDED, RESULT = "answers.jsonl", "judgements.csv", "undecided.csv", "hld.json"
FILES = (ANSWERS, JUDGEMENTS, UNDECIDED, RESULT)
SHOWN = ("prompt", "category", "form", "text", "answers", "reason")  # of an undecided prompt


@dataclass(frozen=True, slots=True)
class AnnotationFolder:
    """The answers of one model, and where the judgements of them are."""

    path: Path
    model_answers: ModelAnswers

    @property
    def annotations_path(self) -> Path:
        """The file people's judgements are in; it may not be there yet."""
        return self.path / JUDGEMENTS

    def read_annotations(self) -> tuple[Annotation, ...]:
        """All judgements so far."""
        return read_annotations(self.annotations_path)

    def pending(self, judge: str) -> tuple[PromptAnswer, ...]:
        """What the rules left open and this person has not judged."""
        return pending_answers(self.model_answers.answers, self.read_annotations(), judge)

    def next_answer(self, judge: str) -> PromptAnswer | None:
        """The first answer that waits for this person."""
        return next(iter(self.pending(judge)), None)

    def save(self, prompt: str, judge: str, verdict: str) -> Annotation:
        """One person's verdict on one answer, on disk before this returns."""
        new = make_annotation(prompt, judge, verdict)
        self.add([new])
        return new

    def add(self, new: Iterable[Annotation]) -> int:
        """Judgements from elsewhere; how many are new. DataError for a prompt that was not asked."""
        there = set(self.read_annotations())
        fresh = [one for one in dict.fromkeys(new) if one not in there]
        pending_answers(self.model_answers.answers, fresh, "")  # refuses prompts that were not asked
        if fresh:
            append_annotations(self.annotations_path, *fresh)
        return len(fresh)

    def export(self) -> int:
        """Write what nobody has decided for someone to fill in; how many prompts these are."""
        found = verdicts(self.model_answers.answers, self.read_annotations())
        left = [
            one
            for one in self.model_answers.answers
            if found[one.prompt].verdict == "undecided" and one.words
        ]
        rows = [(*_shown(one), *("" for _ in COLUMNS[1:])) for one in left]
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([(*SHOWN, *COLUMNS[1:]), *rows])
        (self.path / UNDECIDED).write_text(text.getvalue(), encoding="utf-8", newline="")
        return len(left)


def create_folder(path: Path, asked: ModelAnswers) -> AnnotationFolder:
    """A new folder with these answers; judgements of other answers are not kept beside them."""
    path.mkdir(parents=True, exist_ok=True)
    old = path / ANSWERS
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in asked.to_rows())
    if (path / JUDGEMENTS).exists() and (not old.exists() or old.read_text(encoding="utf-8") != text):
        raise ResultError(f"{path} holds judgements of other answers: give a new folder for these")
    partial = path / f"{ANSWERS}.partial"
    partial.write_text(text, encoding="utf-8", newline="")
    partial.replace(old)
    return AnnotationFolder(path, asked)


def open_folder(path: str | Path) -> AnnotationFolder:
    """The answers of an earlier `unmask prompts`, to be judged."""
    folder = Path(path)
    try:
        data = (folder / ANSWERS).read_bytes()
    except OSError:
        raise ResultError(
            f"{folder} has no {ANSWERS}: give the folder of an `unmask prompts` run, or make one with it"
        ) from None
    return AnnotationFolder(folder, ModelAnswers.from_rows(records(data, ".jsonl", ANSWERS)))


def import_annotations(path: Path, judge: str) -> tuple[Annotation, ...]:
    """Judgements of a table with `prompt` and `verdict`; rows without a verdict are passed by.

    `judge` and now stand in for an empty judge or time, so that a filled-in undecided.csv will do.
    """
    if not path.is_file():
        raise DataError(f"{path} is no file; expected a table with the columns {', '.join(COLUMNS)}")
    rows = table(decode(path.read_bytes(), path.name), path.name)
    if rows and not {"prompt", "verdict"} <= rows[0].keys():
        raise DataError(f"{path.name} has no columns prompt and verdict; found: {', '.join(rows[0])}")
    found = []
    for number, row in enumerate(rows):
        if not row["verdict"].strip():
            continue
        try:
            made = make_annotation(
                row["prompt"].strip(), row.get("judge", "").strip() or judge, row["verdict"].strip()
            )
        except DataError as error:
            said = str(error).removeprefix("this judgement: ")
            raise DataError(f"{path.name}, row {number} (from 0): {said}") from None
        when = row.get("when", "").strip()
        found.append(made if not when else Annotation(made.prompt, made.judge, made.verdict, when))
    return tuple(found)


def _shown(one: PromptAnswer) -> tuple[str, ...]:
    words = ", ".join(f"{word.text} {word.probability:.4f}" for word in one.words)
    return one.prompt, one.category, one.form, one.text, words, one.reason


def annotator_names(said: Sequence[Annotation]) -> list[str]:
    """Who has judged, by name."""
    return sorted({one.judge for one in said})
