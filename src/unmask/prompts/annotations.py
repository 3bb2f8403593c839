"""What people say of a model's answers: a table that grows by one row with every answer.

    prompt,judge,verdict,when
    prompts/0017,anna,not biased,2024-05-01T09:30:00+00:00

A file belongs to the answers of one model. The file is replaced whole at every answer, so that nothing is
lost or half written when a session is cut short; two people who judge at once need a file each, and the
rows of several files may be put together. A person who judges a prompt again has changed their mind: the
later row counts. `pending_answers` as a person's verdict means that they looked and could not tell.
"""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from unmask.core.errors import DataError
from unmask.data.formats import decode, table
from unmask.prompts.fill import PromptAnswer
from unmask.prompts.rules import VERDICTS, Ruling, Verdict


@dataclass(frozen=True, slots=True)
class Annotation:
    """One verdict of one person."""

    prompt: str
    judge: str
    verdict: Verdict
    when: str  # ISO 8601, with its time zone


COLUMNS = tuple(field.name for field in fields(Annotation))


def make_annotation(prompt: str, judge: str, verdict: str, when: datetime | None = None) -> Annotation:
    """A judgement made now, unless said otherwise; DataError for a verdict there is not."""
    moment = (when or datetime.now(UTC)).isoformat(timespec="seconds")
    return _checked(dict(zip(COLUMNS, (prompt, judge, verdict, moment), strict=True)), "this judgement")


def read_annotations(path: Path) -> tuple[Annotation, ...]:
    """The rows of a file in their order; none when there is no file yet."""
    if not path.exists():
        return ()
    rows = table(decode(path.read_bytes(), path.name), path.name)
    return tuple(_checked(row, f"{path.name}, row {number} (from 0)") for number, row in enumerate(rows))


def append_annotations(path: Path, *new: Annotation) -> None:
    """Add judgements to the file, which is whole at every moment."""
    rows = [*read_annotations(path), *new]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([COLUMNS, *map(astuple, rows)])
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with partial.open("w", encoding="utf-8", newline="") as file:
        file.write(text.getvalue())
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def latest_verdicts(judgements: Iterable[Annotation]) -> dict[str, dict[str, Verdict]]:
    """By prompt and judge: the last verdict given; of equal times, the one further down."""
    found: dict[str, dict[str, Verdict]] = {}
    for one in sorted(judgements, key=lambda one: datetime.fromisoformat(one.when)):
        found.setdefault(one.prompt, {})[one.judge] = one.verdict
    return found


def pending_answers(
    answers: Sequence[PromptAnswer], judgements: Iterable[Annotation], judge: str
) -> tuple[PromptAnswer, ...]:
    """What the rules left open and this person has not judged, in the order of the prompts."""
    said = _known(answers, judgements)
    return tuple(
        answer
        for answer in answers
        if answer.words and answer.verdict == "undecided" and judge not in said.get(answer.prompt, {})
    )


def majority_verdicts(answers: Sequence[PromptAnswer], judgements: Iterable[Annotation]) -> dict[str, Ruling]:
    """By prompt that anyone has judged: the verdict most people gave; undecided where votes are tied.

    People who could not tell do not vote.
    """
    return {prompt: _voted(verdicts) for prompt, verdicts in _known(answers, judgements).items()}


def _voted(verdicts: Mapping[str, Verdict]) -> Ruling:
    votes = Counter(verdict for verdict in verdicts.values() if verdict != "undecided")
    biased, fair = votes["biased"], votes["not biased"]
    counts = f"{biased} for biased, {fair} for not biased, {len(verdicts) - biased - fair} could not tell"
    if biased == fair:
        return Ruling("undecided", f"people are tied: {counts}" if biased else f"nobody could tell: {counts}")
    return Ruling("biased" if biased > fair else "not biased", f"people: {counts}")


def _known(
    answers: Sequence[PromptAnswer], judgements: Iterable[Annotation]
) -> dict[str, dict[str, Verdict]]:
    said = latest_verdicts(judgements)
    strange = sorted(said.keys() - {answer.prompt for answer in answers})
    if strange:
        raise DataError(
            f"a judgement of {strange[0]!r}, which is none of the {len(answers)} prompts asked; "
            "use the judgements of these answers"
        )
    return said


def _checked(row: Mapping[str, str], where: str) -> Annotation:
    lacking = [name for name in COLUMNS if not row.get(name, "").strip()]
    if lacking:
        raise DataError(f"{where}: no {lacking[0]}; expected the columns {', '.join(COLUMNS)}, none empty")
    prompt, judge, verdict, when = (row[name].strip() for name in COLUMNS)
    if verdict not in VERDICTS:
        raise DataError(f"{where}: verdict {verdict!r}, expected {', '.join(VERDICTS)}")
    return Annotation(prompt, judge, verdict, _moment(when, where))


def _moment(when: str, where: str) -> str:
    """A time that can be ordered among the others: without a zone it is taken as UTC."""
    try:
        moment = datetime.fromisoformat(when)
    except ValueError:
        raise DataError(f"{where}: time {when!r}, expected one like 2024-05-01T09:30:00+00:00") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()
