"""Human-level diagnosis: what words a model puts into prompts, and whether people find them biased.

    asked = ask(lm, data.read("prompts"))      the likeliest words of every slot, clear cases judged by rules
    undecided(asked.answers, said, "anna")     what is left for a person to judge
    record(path, judgement(…))                 one answer of a person, saved at once
    verdicts(asked.answers, said)              people first, rules where nobody has judged
    estimates(asked.answers, found)            share judged biased, overall, by type and by form

`docs/prompts.md` says how words are found and how answers are judged.
"""

from __future__ import annotations

from unmask.models.fill import Guesses, Word, likeliest
from unmask.prompts.agreement import Agreed, agreement
from unmask.prompts.annotations import Judgement, judgement, majority, read_judgements, record, undecided
from unmask.prompts.fill import Answer, Asked, ask
from unmask.prompts.rules import Counting, Ruling, Verdict, ruled
from unmask.prompts.scoring import estimates, rank_agreement, ranking, verdicts

__all__ = [
    "Agreed",
    "Answer",
    "Asked",
    "Counting",
    "Guesses",
    "Judgement",
    "Ruling",
    "Verdict",
    "Word",
    "agreement",
    "ask",
    "estimates",
    "judgement",
    "likeliest",
    "majority",
    "rank_agreement",
    "ranking",
    "read_judgements",
    "record",
    "ruled",
    "undecided",
    "verdicts",
]
