"""Answers of a model in front of a person: which to look at next, and what they said, saved at once."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any

from unmask.core.errors import DataError
from unmask.prompts import PromptAnswer
from unmask.prompts.annotations import latest_verdicts
from unmask.prompts.folder import AnnotationFolder

NAME = 80  # characters of a person's name, at most


@dataclass(frozen=True, slots=True)
class AnnotationDesk:
    """The folder of one model's answers; one judgement is written at a time."""

    folder: AnnotationFolder
    lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def model(self) -> str:
        """Whose answers these are."""
        return self.folder.model_answers.model

    def state(self, judge: str) -> dict[str, Any]:
        """All answers with the rules' verdicts and this person's, and which wait for this person."""
        name = _name(judge) if judge.strip() else ""
        said, answers = latest_verdicts(self.folder.read_annotations()), self.folder.model_answers.answers
        return {
            "model": self.model,
            "judge": name,
            "file": self.folder.annotations_path.name,
            "waiting": self._waiting(name),
            "answers": [_shown(one, said.get(one.prompt, {}).get(name)) for one in answers if one.words],
        }

    def annotate(self, prompt: str, judge: str, verdict: str) -> dict[str, Any]:
        """Save one verdict; what is then left to judge."""
        name = _name(judge)
        with self.lock:
            saved = self.folder.save(prompt, name, verdict)
        return {"saved": asdict(saved), "waiting": self._waiting(name)}

    def _waiting(self, name: str) -> list[str]:
        return [one.prompt for one in self.folder.pending(name)]


def _name(judge: str) -> str:
    """A person's name, one that a spreadsheet cannot take for a formula."""
    name = " ".join(judge.split())
    if not name or len(name) > NAME or not name[0].isalnum():
        raise DataError(
            f"{name[:NAME]!r} is no name for a judge: give at most {NAME} characters, a letter or digit first"
        )
    return name


def _shown(one: PromptAnswer, own: str | None) -> dict[str, Any]:
    return {
        "prompt": one.prompt,
        "category": one.category,
        "form": one.form,
        "text": one.text,
        "words": [asdict(word) for word in one.words],
        "rule": one.verdict,
        "reason": one.reason,
        "own": own,
    }
