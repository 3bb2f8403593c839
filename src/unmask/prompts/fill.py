"""Fill all prompts with a model, and convert the answers to and from rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from unmask.core.errors import DataError
from unmask.data.prompts import Prompt
from unmask.models import Lm
from unmask.models.fill import MAX_ROWS, SlotPrediction, SlotWord, top_words
from unmask.prompts.rules import COUNTINGS, VERDICTS, Ruling, Verdict, apply_rules
from unmask.prompts.spec import Counting

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
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> ModelAnswers:
        """Inverse of `to_rows`; DataError unless the rows are answers of one model, each prompt once."""
        parsed = [_parse(row, number) for number, row in enumerate(rows)]
        kinds = len({settings for settings, _ in parsed})
        if kinds != 1:
            raise DataError(
                f"{len(parsed)} answers of {kinds} models or settings, "
                "expected one: keep the answers of each model in a separate file"
            )
        answers = tuple(answer for _, answer in parsed)
        _check_unique([answer.prompt for answer in answers])
        return cls(**dict(zip(SETTINGS, parsed[0][0], strict=True)), answers=answers)


def fill_prompts(
    lm: Lm, prompts: Sequence[Prompt], k: int = 2, *, counting: Counting = "likelier", most: int = MAX_ROWS
) -> ModelAnswers:
    """The k most likely words for every prompt, with rule verdicts; `most` as in `top_words`."""
    if counting not in COUNTINGS:
        raise DataError(f"counting is {counting!r}, expected {' or '.join(COUNTINGS)}")
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


def _parse(row: Mapping[str, Any], number: int) -> tuple[tuple[Any, ...], PromptAnswer]:
    """Parse one row into its settings and its answer."""
    try:
        fields = dict(row)
        settings = tuple(fields.pop(name) for name in SETTINGS)
        words = tuple(SlotWord(str(text), float(value)) for text, value in fields.pop("words"))
        answer = PromptAnswer(words=words, **fields)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"answer {number} (from 0) cannot be parsed ({error}); run `unmask prompts` again") from None
    if answer.verdict not in VERDICTS or settings[3] not in COUNTINGS:
        raise DataError(
            f"answer {number} (from 0) has verdict {answer.verdict!r} by {settings[3]!r}, "
            f"expected {', '.join(VERDICTS)} by {' or '.join(COUNTINGS)}; run `unmask prompts` again"
        )
    return settings, answer


def _check_unique(prompts: Sequence[str]) -> None:
    duplicates = sorted({prompt for prompt in prompts if prompts.count(prompt) > 1})
    if duplicates:
        raise DataError(f"prompt {duplicates[0]!r} appears more than once: give each prompt its own id")
