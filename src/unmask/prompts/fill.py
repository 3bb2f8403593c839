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

SETTINGS = ("model", "fingerprint", "k", "counting")  # the same in every row


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
class AnswerRow:
    """A row of answers.jsonl: the settings, and an answer with its words as pairs of text and probability."""

    model: str
    fingerprint: str
    k: int
    counting: Counting
    prompt: str
    category: str
    form: str
    text: str
    words: tuple[tuple[str, float], ...]
    left: float
    sure: bool
    verdict: Verdict
    reason: str

    def answer(self) -> PromptAnswer:
        """The answer without the settings."""
        own = {field.name: getattr(self, field.name) for field in fields(PromptAnswer)}
        return PromptAnswer(**own | {"words": tuple(SlotWord(text, value) for text, value in self.words)})


@dataclass(frozen=True, slots=True)
class ModelAnswers:
    """The answers of one model to all prompts."""

    model: str
    fingerprint: str
    k: int
    counting: Counting
    answers: tuple[PromptAnswer, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """One JSON object per prompt, each with the model and the settings."""
        settings = {name: getattr(self, name) for name in SETTINGS}
        words = [[[word.text, word.probability] for word in answer.words] for answer in self.answers]
        return [settings | asdict(answer) | {"words": own} for answer, own in zip(self.answers, words, strict=True)]

    @classmethod
    def from_rows(cls, given: Iterable[Any]) -> ModelAnswers:
        """Inverse of `to_rows`; DataError unless the rows are answers of one model, each prompt once."""
        rows = given if isinstance(given, Rows) else Rows(given, "answers")
        parsed = [validate(AnswerRow, row, rows.at(number)) for number, row in enumerate(rows)]
        settings = {(row.model, row.fingerprint, row.k, row.counting) for row in parsed}
        if len(settings) != 1:
            raise DataError(
                f"{rows.where}: {len(parsed)} answers of {len(settings)} models or settings, "
                "expected one: keep the answers of each model in a separate file"
            )
        answers = tuple(row.answer() for row in parsed)
        _check_unique([answer.prompt for answer in answers])
        return cls(*settings.pop(), answers)


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
