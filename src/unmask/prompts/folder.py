"""The folder of a human-level diagnosis: answers, annotations, and undecided prompts.

    folder = open_folder("runs/hld")
    answer = folder.next_answer("anna")                the next answer to annotate, None if none is left
    folder.save(answer.prompt, "anna", "not biased")   on disk before it returns

answers.jsonl     the model's answers, one object per prompt
judgements.csv    annotations, replaced atomically
undecided.csv     undecided prompts, with empty columns for an annotator to fill in
result.json       scores, agreement, and everything they are computed from
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from unmask.core.errors import DataError, ResultError
from unmask.core.files import write_text
from unmask.data.formats import decode, records, table
from unmask.prompts.annotations import (
    COLUMNS,
    Annotation,
    append_annotations,
    make_annotation,
    parse_annotation,
    pending_answers,
    read_annotations,
    to_csv,
)
from unmask.prompts.fill import ModelAnswers, PromptAnswer
from unmask.prompts.scoring import verdicts

FILES = ANSWERS, JUDGEMENTS, UNDECIDED = "answers.jsonl", "judgements.csv", "undecided.csv"
SHOWN = ("prompt", "category", "form", "text", "answers", "reason")  # columns of an undecided prompt


@dataclass(frozen=True, slots=True)
class AnnotationFolder:
    """The answers of one model, and the path of their annotations."""

    path: Path
    model_answers: ModelAnswers

    @property
    def annotations_path(self) -> Path:
        """The file of annotations; it may not exist yet."""
        return self.path / JUDGEMENTS

    def read_annotations(self) -> tuple[Annotation, ...]:
        """All annotations so far."""
        return read_annotations(self.annotations_path)

    def pending(self, judge: str) -> tuple[PromptAnswer, ...]:
        """Undecided answers that this annotator has not judged."""
        return pending_answers(self.model_answers.answers, self.read_annotations(), judge)

    def next_answer(self, judge: str) -> PromptAnswer | None:
        """The first pending answer of this annotator."""
        return next(iter(self.pending(judge)), None)

    def save(self, prompt: str, judge: str, verdict: str) -> Annotation:
        """Save one verdict; it is on disk before this returns."""
        annotation = make_annotation(prompt, judge, verdict)
        self.add([annotation])
        return annotation

    def add(self, new: Iterable[Annotation]) -> int:
        """Add annotations; return how many are new. DataError for an unknown prompt."""
        existing = set(self.read_annotations())
        fresh = [annotation for annotation in dict.fromkeys(new) if annotation not in existing]
        pending_answers(self.model_answers.answers, fresh, "")  # raises DataError for unknown prompts
        if fresh:
            append_annotations(self.annotations_path, *fresh)
        return len(fresh)

    def export(self) -> int:
        """Write the undecided prompts for an annotator to fill in; return how many there are."""
        rulings = verdicts(self.model_answers.answers, self.read_annotations())
        undecided = [
            answer
            for answer in self.model_answers.answers
            if rulings[answer.prompt].verdict == "undecided" and answer.words
        ]
        rows = []
        for answer in undecided:
            words = ", ".join(f"{word.text} {word.probability:.4f}" for word in answer.words)
            shown = (answer.prompt, answer.category, answer.form, answer.text, words, answer.reason)
            rows.append((*shown, *("" for _ in COLUMNS[1:])))
        write_text(self.path / UNDECIDED, to_csv([(*SHOWN, *COLUMNS[1:]), *rows]))
        return len(undecided)


def create_folder(path: Path, answers: ModelAnswers) -> AnnotationFolder:
    """Create a folder with these answers; ResultError if it has annotations of other answers."""
    old = path / ANSWERS
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in answers.to_rows())
    if (path / JUDGEMENTS).exists() and (not old.exists() or old.read_text(encoding="utf-8") != text):
        raise ResultError(f"{path} holds judgements of other answers: give a new folder for these")
    write_text(old, text)
    return AnnotationFolder(path, answers)


def open_folder(path: str | Path) -> AnnotationFolder:
    """Open the folder of an earlier `unmask prompts` run."""
    folder = Path(path)
    try:
        data = (folder / ANSWERS).read_bytes()
    except OSError:
        raise ResultError(f"{folder} has no {ANSWERS}: give the folder of an `unmask prompts` run") from None
    return AnnotationFolder(folder, ModelAnswers.from_rows(records(data, ".jsonl", ANSWERS)))


def import_annotations(path: Path, judge: str) -> tuple[Annotation, ...]:
    """Read annotations from a table with `prompt` and `verdict`; rows without a verdict are skipped.

    An empty annotator or time is replaced by `judge` and now, so a filled-in undecided.csv can be imported.
    """
    if not path.is_file():
        raise DataError(f"{path} is not a file; expected a table with the columns {', '.join(COLUMNS)}")
    rows = table(decode(path.read_bytes(), path.name), path.name)
    if rows and not {"prompt", "verdict"} <= rows[0].keys():
        raise DataError(f"{path.name} has no columns prompt and verdict; found: {', '.join(rows[0])}")
    annotations = []
    for number, row in enumerate(rows):
        if not row["verdict"].strip():
            continue
        now = datetime.now(UTC).isoformat(timespec="seconds")
        filled = {name: row.get(name, "").strip() for name in COLUMNS}
        filled |= {"judge": filled["judge"] or judge, "when": filled["when"] or now}
        annotations.append(parse_annotation(filled, f"{path.name}, row {number} (from 0)"))
    return tuple(annotations)
