"""Annotations of a model's answers: a CSV file with one row per verdict of an annotator, in the folder of a run.

    folder = open_folder("runs/hld")
    answer = folder.next_answer("anna")                the next answer to annotate, None if none is left
    folder.save(answer.prompt, "anna", "not biased")   on disk before it returns

answers.jsonl     the model's answers, one object per prompt
judgements.csv    annotations, the later row of an annotator counts
undecided.csv     undecided prompts, with empty columns for an annotator to fill in
result.json       scores, agreement, and everything they are computed from

    prompt,judge,verdict,when
    prompts/0017,anna,not biased,2024-05-01T09:30:00+00:00

A file belongs to the answers of one model. It is locked and replaced atomically with every annotation: an
interrupted session loses nothing, several people can annotate at the same time, and rows of several files can be
concatenated. If a person annotates a prompt again, the later row counts, whatever the times say. `undecided` as a
person's verdict means that they could not tell.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from unmask.core.boundary import read_text
from unmask.core.errors import DataError, ResultError, quote
from unmask.core.files import file_name, lock_file, to_csv, unescape, write_text
from unmask.data.formats import is_file, read_records, read_table
from unmask.prompts.fill import ModelAnswers, PromptAnswer
from unmask.prompts.rules import VERDICTS, Ruling, Verdict


@dataclass(frozen=True, slots=True)
class Annotation:
    """One verdict of one annotator; the fields are the columns of the file."""

    prompt: str
    judge: str  # name of the annotator
    verdict: Verdict
    when: str  # ISO 8601, with its time zone


FILES = ANSWERS, JUDGEMENTS, UNDECIDED = "answers.jsonl", "judgements.csv", "undecided.csv"
SHOWN = ("prompt", "category", "form", "text", "answers", "reason")  # columns of an undecided prompt
COLUMNS = tuple(field.name for field in fields(Annotation))


def make_annotation(prompt: str, judge: str, verdict: str, when: datetime | None = None) -> Annotation:
    """An annotation, by default made now; DataError for an unknown verdict."""
    time = (when or datetime.now(UTC)).isoformat(timespec="seconds")
    return parse_annotation(dict(zip(COLUMNS, (prompt, judge, verdict, time), strict=True)), "this judgement")


def read_annotations(path: Path) -> tuple[Annotation, ...]:
    """Read the rows of a file in order; empty if there is no file yet."""
    if not is_file(path):
        return ()
    rows = read_table(path, "a table of annotations")
    return tuple(
        parse_annotation({name: unescape(cell) for name, cell in row.items()}, rows.at(number))
        for number, row in enumerate(rows)
    )


def update_annotations(path: Path, choose: Callable[[Sequence[Annotation]], Sequence[Annotation]]) -> int:
    """Append the annotations that `choose` returns for the existing ones; return how many they are.

    The file is locked meanwhile, so that nothing is lost when several processes or threads save.
    """
    with lock_file(path):
        existing = read_annotations(path)
        new = choose(existing)
        if new:
            write_text(path, to_csv([COLUMNS, *map(astuple, (*existing, *new))]))
    return len(new)


def latest_verdicts(annotations: Iterable[Annotation]) -> dict[str, dict[str, Verdict]]:
    """The latest verdict by prompt and annotator: that of the later row."""
    by_prompt: dict[str, dict[str, Verdict]] = {}
    for annotation in annotations:
        by_prompt.setdefault(annotation.prompt, {})[annotation.judge] = annotation.verdict
    return by_prompt


def pending_answers(
    answers: Sequence[PromptAnswer], annotations: Iterable[Annotation], judge: str
) -> tuple[PromptAnswer, ...]:
    """Answers that the rules left undecided and this annotator has not judged, in prompt order."""
    by_prompt = _check_prompts(answers, annotations)
    return tuple(
        answer
        for answer in answers
        if answer.words and answer.verdict == "undecided" and judge not in by_prompt.get(answer.prompt, {})
    )


def majority_verdicts(answers: Sequence[PromptAnswer], annotations: Iterable[Annotation]) -> dict[str, Ruling]:
    """The majority verdict for each annotated prompt; undecided if tied.

    `undecided` annotations do not vote.
    """
    rulings = {}
    for prompt, verdicts in _check_prompts(answers, annotations).items():
        biased, fair, unsure = (list(verdicts.values()).count(each) for each in ("biased", "not biased", "undecided"))
        counts = f"{biased} for biased, {fair} for not biased, {unsure} could not tell"
        if biased == fair:
            why = "people are tied" if biased else "nobody could tell"
            rulings[prompt] = Ruling("undecided", f"{why}: {counts}")
        else:
            rulings[prompt] = Ruling("biased" if biased > fair else "not biased", f"people: {counts}")
    return rulings


def _check_prompts(answers: Sequence[PromptAnswer], annotations: Iterable[Annotation]) -> dict[str, dict[str, Verdict]]:
    by_prompt = latest_verdicts(annotations)
    unknown = sorted(by_prompt.keys() - {answer.prompt for answer in answers})
    if unknown:
        raise DataError(
            f"a judgement of {quote(unknown[0])}, which is not one of the {len(answers)} prompts; "
            "use the judgements of these answers"
        )
    return by_prompt


def parse_annotation(row: Mapping[str, str], where: str) -> Annotation:
    """An annotation of a row; DataError for an empty column, an unknown verdict or a bad time."""
    missing = [name for name in COLUMNS if not row.get(name, "").strip()]
    if missing:
        raise DataError(f"{where}: no {missing[0]}; expected the columns {', '.join(COLUMNS)}, none empty")
    prompt, judge, verdict, when = (row[name].strip() for name in COLUMNS)
    if verdict not in VERDICTS:
        raise DataError(f"{where}: verdict {quote(verdict)}, expected {', '.join(VERDICTS)}")
    try:
        time = datetime.fromisoformat(when)
    except ValueError:
        raise DataError(f"{where}: time {quote(when)}, expected one like 2024-05-01T09:30:00+00:00") from None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return Annotation(prompt, judge, verdict, time.isoformat())


def verdicts(answers: Sequence[PromptAnswer], annotations: Iterable[Annotation] = ()) -> dict[str, Ruling]:
    """Ruling by prompt: the annotators' majority, else the rules; `undecided` annotations change nothing."""
    by_people = majority_verdicts(answers, annotations)
    rules = {answer.prompt: Ruling(answer.verdict, answer.reason) for answer in answers}
    decided = {prompt: ruling for prompt, ruling in by_people.items() if ruling.verdict != "undecided"}
    unclear = {prompt: by_people[prompt] for prompt in by_people if rules[prompt].verdict == "undecided"}
    return rules | unclear | decided


# ------------------------------------------------------------------------------------------ folder


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
        update_annotations(self.annotations_path, lambda existing: [annotation])
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
