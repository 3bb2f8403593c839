"""What every check tests and why it matters, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unmask.core.types import Check
from unmask.findings.envelope import Result

WHY: Mapping[str, str] = {
    "lm-head": "The weights of the language-model head are in the checkpoint. If they were missing, "
    "transformers would initialise them at random and every score would be noise.",
    "masked-accuracy": "How often is a masked token the model's first guess? A model with low accuracy does "
    "not know the language of these sentences, and its preferences mean nothing.",
    "unmasked-accuracy": "How often does the model rank a token of the unmasked sentence first? Measures "
    "without masking (aul, aula) depend on this.",
    "next-token-accuracy": "How often is the next token the model's first guess? A model with low accuracy "
    "does not know the language of these sentences, and its preferences mean nothing.",
    "ties": "A pair with two equal scores expresses no preference. Many ties point to an error.",
    "unscored": "Pairs that could not be scored are left out of the estimates. If there are many, the rest "
    "may not represent the dataset.",
    "truncated": "Sentences longer than the model's maximum length are left out, never truncated. This "
    "counts them.",
    "alignment": "Some measures need to know which tokens two sentences share. If the alignment depends on "
    "the order of the sentences, so does the score.",
    "length": "Longer sentences are less likely whatever they say. The scores should not depend on pairs "
    "whose sentences differ in length.",
    "near-zero": "If most differences are close to zero, the preferences are almost arbitrary and a small "
    "change of wording reverses them.",
    "unknown-tokens": "Words that are not in the tokenizer's vocabulary become the same unknown token, so "
    "the model cannot prefer one of them.",
}


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """One kind of check, why it matters, and its outcomes, named by dataset and model."""

    name: str
    why: str
    outcomes: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether it passed everywhere."""
        return all(outcome.ok for outcome in self.outcomes)


def summarize_checks(runs: Sequence[Result], names: Sequence[str]) -> list[CheckSummary]:
    """Group the checks of all runs by kind, in their order; kinds with a failure first."""
    outcomes: dict[str, list[Check]] = {}
    for name, run in zip(names, runs, strict=True):
        for check in run.checks:
            data, _, kind = check.name.rpartition("/")
            where = " · ".join(part for part in ((name if len(runs) > 1 else ""), data) if part)
            outcomes.setdefault(kind, []).append(Check(where, check.ok, check.detail))
    summaries = [CheckSummary(kind, WHY.get(kind, ""), tuple(results)) for kind, results in outcomes.items()]
    return sorted(summaries, key=lambda summary: summary.ok)
