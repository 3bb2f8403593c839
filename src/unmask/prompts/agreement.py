"""Inter-annotator agreement, corrected for chance.

Cohen's κ (two annotators) and Fleiss' κ (any number) use prompts that all annotators judged; Krippendorff's α
(nominal) uses every prompt with at least two annotations. `undecided` is a verdict like the others here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from statsmodels.stats.inter_rater import cohens_kappa

from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.prompts.annotations import Annotation, latest_verdicts
from unmask.prompts.rules import VERDICTS, Verdict
from unmask.stats.agreement import alpha, fleiss, quietly, resampled_agreement

COHEN, FLEISS, KRIPPENDORFF = "Cohen's κ", "Fleiss' κ", "Krippendorff's α"


@dataclass(frozen=True, slots=True)
class AgreementCoefficient(Value):
    """One coefficient with percentiles over resampled prompts: 1 is full agreement, 0 agreement by chance."""

    name: str = ""
    n: int = 0  # prompts
    judges: int = 0  # annotators


def agreement(annotations: Iterable[Annotation], *, seed: int) -> tuple[AgreementCoefficient, ...]:
    """The coefficients these annotations allow; empty if no prompt has two annotators."""
    by_prompt = latest_verdicts(annotations)
    shared = [verdicts for verdicts in by_prompt.values() if len(verdicts) > 1]
    annotators = sorted({name for verdicts in by_prompt.values() for name in verdicts})
    if not shared:
        return ()
    by_all = [verdicts for verdicts in shared if len(verdicts) == len(annotators)]
    coefficients = []
    if by_all and len(annotators) == 2:
        pairs = np.array([[VERDICTS.index(verdicts[name]) for name in annotators] for verdicts in by_all])
        coefficients.append(_coefficient(COHEN, _cohen, pairs, len(annotators), seed))
    if by_all:
        coefficients.append(_coefficient(FLEISS, fleiss, _counts(by_all), len(annotators), seed))
    coefficients.append(_coefficient(KRIPPENDORFF, alpha, _counts(shared), len(annotators), seed))
    return tuple(coefficients)


def _coefficient(
    name: str, coefficient: Callable[[Floats], float], units: Floats, annotators: int, seed: int
) -> AgreementCoefficient:
    """A coefficient with its interval, or why it has none."""
    found = resampled_agreement(coefficient, units, rng=generator(seed, name), unit="prompts")
    return AgreementCoefficient(found.value, found.low, found.high, found.method, name, len(units), annotators)


def _cohen(pairs: Floats) -> float:
    square = np.zeros((len(VERDICTS), len(VERDICTS)))
    np.add.at(square, (pairs[:, 0].astype(int), pairs[:, 1].astype(int)), 1)
    return quietly(lambda: cohens_kappa(square, return_results=False))


def _counts(units: Iterable[dict[str, Verdict]]) -> Floats:
    """For each unit, the number of annotators who gave each verdict."""
    rows = [[list(verdicts.values()).count(verdict) for verdict in VERDICTS] for verdicts in units]
    return np.array(rows, dtype=np.float64)
