"""Human-level diagnosis: the words a model fills into prompts, and whether people judge them biased.

    filled = fill_prompts(lm, data.read("prompts"))         most likely words per slot, with rule verdicts
    pending_answers(filled.answers, annotations, "anna")    answers left for an annotator
    append_annotations(path, make_annotation(…))            save one annotation
    verdicts(filled.answers, annotations)                   annotators first, rules otherwise
    estimates(filled.answers, rulings)                      share judged biased: all, by type, by form

`docs/prompts.md` describes the search for words and the rules.
"""

from __future__ import annotations

from unmask.models.fill import SlotPrediction, SlotWord, top_words
from unmask.prompts.agreement import AgreementCoefficient, agreement
from unmask.prompts.annotations import (
    Annotation,
    append_annotations,
    majority_verdicts,
    make_annotation,
    pending_answers,
    read_annotations,
)
from unmask.prompts.fill import ModelAnswers, PromptAnswer, fill_prompts
from unmask.prompts.rules import Counting, Ruling, Verdict, apply_rules
from unmask.prompts.scoring import estimates, rank_agreement, ranking, verdicts

__all__ = [
    "AgreementCoefficient",
    "Annotation",
    "Counting",
    "ModelAnswers",
    "PromptAnswer",
    "Ruling",
    "SlotPrediction",
    "SlotWord",
    "Verdict",
    "agreement",
    "append_annotations",
    "apply_rules",
    "estimates",
    "fill_prompts",
    "majority_verdicts",
    "make_annotation",
    "pending_answers",
    "rank_agreement",
    "ranking",
    "read_annotations",
    "top_words",
    "verdicts",
]
