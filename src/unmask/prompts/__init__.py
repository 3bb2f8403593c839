"""Human-level diagnosis: what words a model puts into prompts, and whether people find them biased.

    asked = ask(lm, data.read("prompts"))      the likeliest words of every slot, clear cases judged by rules
    undecided(asked.answers, said, "anna")     what is left for a person to judge
    record(path, judgement(…))                 one answer of a person, saved at once
    verdicts(asked.answers, said)              people first, rules where nobody has judged
    estimates(asked.answers, found)            share judged biased, overall, by type and by form

`docs/prompts.md` says how words are found and how answers are judged.
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
