"""Ask a model all prompts, and keep what it said as plain rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unmask.core.errors import DataError
from unmask.data.prompts import Prompt
from unmask.models import Lm
from unmask.models.fill import MAX_ROWS, SlotPrediction, SlotWord, top_words
from unmask.prompts.rules import COUNTINGS, VERDICTS, Counting, Ruling, Verdict, apply_rules

TOP_K = 2  # words of a slot that are looked at, as published


@dataclass(frozen=True, slots=True)
class PromptAnswer:
    """What a model put into one prompt, and what the rules say of it."""

    prompt: str
    category: str
    form: str
    text: str
    words: tuple[SlotWord, ...]
    left: float  # probability that was not looked into
    sure: bool  # nothing that was not looked into is likelier than the last word
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """All answers of one model."""

    model: str
    fingerprint: str
    k: int
    counting: Counting
    answers: tuple[PromptAnswer, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """One JSON object a prompt; each names the model and how it was asked."""
        about = {"model": self.model, "fingerprint": self.fingerprint, "k": self.k, "counting": self.counting}
        return [about | _row(answer) for answer in self.answers]

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> ModelAnswers:
        """Read `rows` back; DataError when they are not the answers of one model, each prompt once."""
        read = [_read(row, number) for number, row in enumerate(rows)]
        if len({about for about, _ in read}) != 1:
            raise DataError(
                f"{len(read)} answers of {len({about for about, _ in read})} models or settings, "
                "expected one: keep every model's answers in a file of its own"
            )
        answers = tuple(answer for _, answer in read)
        _each_once([answer.prompt for answer in answers])
        return cls(*read[0][0], answers)


def fill_prompts(
    lm: Lm,
    prompts: Sequence[Prompt],
    k: int = TOP_K,
    *,
    counting: Counting = "likelier",
    most: int = MAX_ROWS,
) -> ModelAnswers:
    """The k likeliest words for every prompt, judged by the rules; `most` as in `top_words`."""
    if counting not in COUNTINGS:
        raise DataError(f"no way to count named {counting!r}; expected {' or '.join(COUNTINGS)}")
    if not prompts:
        raise DataError("no prompts to ask: give at least one")
    _each_once([prompt.id for prompt in prompts])
    guessed = top_words(lm, [prompt.text for prompt in prompts], k, max_rows=most)
    answers = (_answer(*both, counting) for both in zip(prompts, guessed, strict=True))
    return ModelAnswers(lm.facts.id, lm.facts.fingerprint, k, counting, tuple(answers))


def _answer(prompt: Prompt, guesses: SlotPrediction, counting: Counting) -> PromptAnswer:
    ruling = apply_rules(prompt, guesses.words, counting)
    if guesses.reason:
        ruling = Ruling("undecided", f"no answer: {guesses.reason}")
    return PromptAnswer(
        prompt=prompt.id,
        category=prompt.category,
        form=prompt.form,
        text=prompt.text,
        words=guesses.words,
        left=guesses.left,
        sure=guesses.sure,
        verdict=ruling.verdict,
        reason=ruling.reason,
    )


def _row(answer: PromptAnswer) -> dict[str, Any]:
    return asdict(answer) | {"words": [[word.text, word.probability] for word in answer.words]}


def _read(row: Mapping[str, Any], number: int) -> tuple[tuple[str, str, int, Counting], PromptAnswer]:
    """One row as its settings and its answer."""
    try:
        fields = dict(row)
        about = (fields.pop("model"), fields.pop("fingerprint"), fields.pop("k"), fields.pop("counting"))
        words = tuple(SlotWord(str(text), float(value)) for text, value in fields.pop("words"))
        answer = PromptAnswer(words=words, **fields)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"answer {number} (from 0) is not as it was written ({error}); ask anew") from None
    if answer.verdict not in VERDICTS or about[3] not in COUNTINGS:
        raise DataError(
            f"answer {number} (from 0) has verdict {answer.verdict!r} by {about[3]!r}, "
            f"expected {', '.join(VERDICTS)} by {' or '.join(COUNTINGS)}; ask anew"
        )
    return about, answer


def _each_once(prompts: Sequence[str]) -> None:
    twice = sorted({prompt for prompt in prompts if prompts.count(prompt) > 1})
    if twice:
        raise DataError(f"prompt {twice[0]!r} appears more than once: give each its own id")
