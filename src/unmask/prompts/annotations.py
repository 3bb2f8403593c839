"""Annotations of a model's answers: a CSV file with one row per verdict of an annotator.

    prompt,judge,verdict,when
    prompts/0017,anna,not biased,2024-05-01T09:30:00+00:00

A file belongs to the answers of one model. It is locked and replaced atomically with every annotation: an
interrupted session loses nothing, several people can annotate at the same time, and rows of several files can be
concatenated. If a person annotates a prompt again, the later row counts, whatever the times say. `undecided` as a
person's verdict means that they could not tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from unmask.core.errors import DataError, quote
from unmask.core.files import lock_file, to_csv, unescape, write_text
from unmask.data.formats import is_file, read_table
from unmask.prompts.fill import PromptAnswer
from unmask.prompts.rules import VERDICTS, Ruling, Verdict


@dataclass(frozen=True, slots=True)
class Annotation:
    """One verdict of one annotator; the fields are the columns of the file."""

    prompt: str
    judge: str  # name of the annotator
    verdict: Verdict
    when: str  # ISO 8601, with its time zone


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


def append_annotations(path: Path, *new: Annotation) -> None:
    """Append annotations; they are on disk before this returns."""
    update_annotations(path, lambda existing: new)


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
