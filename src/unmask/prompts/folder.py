"""The folder of a human-level diagnosis: answers, annotations, and undecided prompts.

    folder = open_folder("runs/hld")
    answer = folder.next_answer("anna")                the next answer to annotate, None if none is left
    folder.save(answer.prompt, "anna", "not biased")   on disk before it returns

answers.jsonl     the model's answers, one object per prompt
judgements.csv    annotations, the later row of an annotator counts
undecided.csv     undecided prompts, with empty columns for an annotator to fill in
result.json       scores, agreement, and everything they are computed from
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from unmask.core.boundary import read_text
from unmask.core.errors import DataError, ResultError, quote
from unmask.core.files import file_name, to_csv, unescape, write_text
from unmask.data.formats import is_file, read_records, read_table
from unmask.prompts.annotations import (
    COLUMNS,
    Annotation,
    append_annotations,
    make_annotation,
    parse_annotation,
    pending_answers,
    read_annotations,
    update_annotations,
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
        self._check([annotation])
        append_annotations(self.annotations_path, annotation)
        return annotation

    def add(self, new: Iterable[Annotation]) -> int:
        """Add annotations that are not in the file; return how many are new. DataError for an unknown prompt."""
        given = list(new)
        self._check(given)

        def choose_new(existing: Sequence[Annotation]) -> list[Annotation]:
            """Those beyond the existing ones, in their order: one row can occur several times within a second."""
            left, fresh = Counter(existing), []
            for annotation in given:
                fresh += [] if left[annotation] > 0 else [annotation]
                left[annotation] -= 1
            return fresh

        return update_annotations(self.annotations_path, choose_new) if given else 0

    def _check(self, annotations: Sequence[Annotation]) -> None:
        """DataError for an unknown prompt."""
        pending_answers(self.model_answers.answers, annotations, "")

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
    if read_annotations(path / JUDGEMENTS) and not (is_file(old) and read_text(old, ResultError) == text):
        raise ResultError(f"{path} holds judgements of other answers: give a new folder for these")
    write_text(old, text)
    return AnnotationFolder(path, answers)


def open_folder(path: str | Path) -> AnnotationFolder:
    """Open the folder of an earlier `unmask prompts` run."""
    folder = Path(path)
    if not is_file(folder / ANSWERS):
        raise ResultError(f"{folder} has no {ANSWERS}: give the folder of an `unmask prompts` run")
    return AnnotationFolder(folder, ModelAnswers.from_rows(read_records(folder / ANSWERS, "answers")))


def import_annotations(path: Path, judge: str) -> tuple[Annotation, ...]:
    """Read annotations from a table with `prompt` and `verdict`; rows without a verdict are skipped.

    An empty annotator or time is replaced by `judge` and now, so a filled-in undecided.csv can be imported.
    """
    return tuple(annotation for _, annotation in _filled_in(path, judge, ("prompt", "verdict")))


def import_of_models(path: Path, judge: str, models: Sequence[str]) -> dict[str, tuple[Annotation, ...]]:
    """As `import_annotations`, by model: the column `model` says whose answer a row is about."""
    by_model: dict[str, list[Annotation]] = {model: [] for model in models}
    for row, annotation in _filled_in(path, judge, ("model", "prompt", "verdict")):
        if row["model"] not in by_model:
            raise DataError(
                f"{file_name(path)}: a judgement of model {quote(row['model'])}, expected {', '.join(models)}"
            )
        by_model[row["model"]].append(annotation)
    return {model: tuple(annotations) for model, annotations in by_model.items()}


def _filled_in(path: Path, judge: str, needed: Sequence[str]) -> Iterator[tuple[Mapping[str, str], Annotation]]:
    """The rows with a verdict, and their annotations."""
    rows = read_table(path, f"a table with the columns {', '.join(COLUMNS)}")
    if rows and not set(needed) <= rows[0].keys():
        raise DataError(f"{rows.where} has no columns {' and '.join(needed)}; found {quote(list(rows[0]))}")
    for number, row in enumerate(rows):
        if not row["verdict"].strip():
            continue
        now = datetime.now(UTC).isoformat(timespec="seconds")
        filled = {name: unescape(row.get(name, "")).strip() for name in COLUMNS}
        filled |= {"judge": filled["judge"] or judge, "when": filled["when"] or now}
        yield row, parse_annotation(filled, rows.at(number))
