"""Fill all prompts with a model, and convert the answers to and from rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from unmask.core.boundary import Rows, validate
from unmask.core.errors import DataError, quote
from unmask.data.builtin_tables import Prompt
from unmask.models.fill import MAX_ROWS, SlotPrediction, SlotWord
from unmask.prompts.rules import COUNTINGS, Ruling, Verdict, apply_rules
from unmask.prompts.spec import Counting

if TYPE_CHECKING:
    from unmask.models import TextModel


@dataclass(frozen=True, slots=True)
class PromptAnswer:
    """A model's words for one prompt, and the verdict of the rules."""

    prompt: str
    category: str
    form: str
    text: str
    words: tuple[SlotWord, ...]
    left: float  # probability mass that was not searched
    sure: bool  # no word outside the search can be more likely than the last word
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """Whose answers they are, and how they were asked for: the same in every row."""

    model: str
    fingerprint: str
    k: int
    counting: Counting


@dataclass(frozen=True, slots=True)
class ModelAnswers(AnswerSettings):
    """The answers of one model to all prompts."""

    answers: tuple[PromptAnswer, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """One JSON object per prompt, each with the model and the settings; words are pairs of text and probability."""
        settings = {field.name: getattr(self, field.name) for field in fields(AnswerSettings)}
        return [settings | asdict(answer) for answer in self.answers]

    @classmethod
    def from_rows(cls, given: Iterable[Any]) -> ModelAnswers:
        """Inverse of `to_rows`; DataError unless the rows are answers of one model, each prompt once."""
        rows = given if isinstance(given, Rows) else Rows(given, "answers")
        settings = {validate(AnswerSettings, row, rows.at(number)) for number, row in enumerate(rows)}
        answers = tuple(validate(PromptAnswer, row, rows.at(number)) for number, row in enumerate(rows))
        if len(settings) != 1:
            raise DataError(
                f"{rows.where}: {len(answers)} answers of {len(settings)} models or settings, "
                "expected one: keep the answers of each model in a separate file"
            )
        _check_unique([answer.prompt for answer in answers])
        return cls(**asdict(settings.pop()), answers=answers)


def fill_prompts(
    lm: TextModel, prompts: Sequence[Prompt], k: int = 2, *, counting: Counting = "likelier", most: int = MAX_ROWS
) -> ModelAnswers:
    """The k most likely words for every prompt, with rule verdicts; `most` as in `top_words`."""
    from unmask.models.fill import top_words  # imports torch, which reading answers does not need

    if counting not in COUNTINGS:
        raise DataError(f"counting is {counting!r}, expected {', '.join(COUNTINGS)}")
    if not prompts:
        raise DataError("prompts is empty: give at least one")
    _check_unique([prompt.id for prompt in prompts])
    guesses = top_words(lm, [prompt.text for prompt in prompts], k, max_rows=most)
    answers = (_answer(prompt, found, counting) for prompt, found in zip(prompts, guesses, strict=True))
    return ModelAnswers(lm.facts.id, lm.facts.fingerprint, k, counting, tuple(answers))


def _answer(prompt: Prompt, guesses: SlotPrediction, counting: Counting) -> PromptAnswer:
    ruling = apply_rules(prompt, guesses.words, counting)
    if guesses.reason:
        ruling = Ruling("undecided", f"no answer: {guesses.reason}")
    about = (prompt.id, prompt.category, prompt.form, prompt.text)
    return PromptAnswer(*about, guesses.words, guesses.left, guesses.sure, ruling.verdict, ruling.reason)


def _check_unique(prompts: Sequence[str]) -> None:
    duplicates = [prompt for prompt, times in Counter(prompts).items() if times > 1]
    if duplicates:
        raise DataError(f"prompt {quote(duplicates[0])} appears more than once: give each prompt its own id")
