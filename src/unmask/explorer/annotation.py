"""Annotate a model's answers: which are pending for an annotator, and saving their verdicts immediately."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any

from unmask.core.errors import DataError, quote
from unmask.prompts.annotations import AnnotationFolder, latest_verdicts
from unmask.prompts.fill import PromptAnswer

MAX_NAME = 80  # characters of an annotator's name


@dataclass(frozen=True, slots=True)
class NewVerdict:
    """A verdict as the page sends it."""

    prompt: str
    judge: str
    verdict: str


@dataclass(frozen=True, slots=True)
class AnnotationDesk:
    """The folder of one model's answers; a lock serialises writes."""

    folder: AnnotationFolder
    lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def model(self) -> str:
        """The model that gave the answers."""
        return self.folder.model_answers.model

    def state(self, annotator: str) -> dict[str, Any]:
        """All answers with the verdicts of the rules and the annotator, and the pending ones."""
        name = _checked_name(annotator) if annotator.strip() else ""
        verdicts = latest_verdicts(self.folder.read_annotations())
        answers = [answer for answer in self.folder.model_answers.answers if answer.words]
        return {
            "model": self.model,
            "judge": name,
            "file": self.folder.annotations_path.name,
            "waiting": self._pending(name),
            "answers": [_as_json(each, verdicts.get(each.prompt, {}).get(name)) for each in answers],
        }

    def annotate(self, prompt: str, annotator: str, verdict: str) -> dict[str, Any]:
        """Save one verdict; return it and the answers still pending."""
        name = _checked_name(annotator)
        with self.lock:
            saved = self.folder.save(prompt, name, verdict)
        return {"saved": asdict(saved), "waiting": self._pending(name)}

    def _pending(self, name: str) -> list[str]:
        return [answer.prompt for answer in self.folder.pending(name)]


def _checked_name(annotator: str) -> str:
    """The name with normalised spaces; DataError if a spreadsheet could read it as a formula."""
    name = " ".join(annotator.split())
    if not name or len(name) > MAX_NAME or not name[0].isalnum() or not name.isprintable():
        raise DataError(
            f"{quote(name, MAX_NAME)} is not a valid annotator name: give at most {MAX_NAME} characters, "
            "starting with a letter or digit"
        )
    return name


def _as_json(answer: PromptAnswer, own: str | None) -> dict[str, Any]:
    same = {name: getattr(answer, name) for name in ("prompt", "category", "form", "text", "reason")}
    return {**same, "words": [word._asdict() for word in answer.words], "rule": answer.verdict, "own": own}
