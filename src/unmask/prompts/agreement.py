"""Inter-annotator agreement, corrected for chance.

Cohen's κ (two annotators) and Fleiss' κ (any number) use prompts that all annotators judged; Krippendorff's α
(nominal) uses every prompt with at least two annotations. `undecided` is a verdict like the others here.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

from unmask.core.estimate import NAN, Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.prompts.annotations import Annotation, latest_verdicts
from unmask.prompts.rules import VERDICTS, Verdict
from unmask.stats.bootstrap import RESAMPLES

COHEN, FLEISS, KRIPPENDORFF = "Cohen's κ", "Fleiss' κ", "Krippendorff's α"
ALIKE = "none: every verdict is the same, so chance alone would agree as well"


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
        coefficients.append(_coefficient(FLEISS, _fleiss, _counts(by_all), len(annotators), seed))
    coefficients.append(_coefficient(KRIPPENDORFF, alpha, _counts(shared), len(annotators), seed))
    return tuple(coefficients)


def alpha(counts: Floats) -> float:
    """Krippendorff's α for nominal values: one less observed over expected disagreement.

    `counts` has a row for each unit and a column for each value; units with fewer than two values are left
    out (Krippendorff 2011). NaN when only one value occurs.
    """
    kept = counts[counts.sum(axis=1) > 1]
    sizes, totals = kept.sum(axis=1), kept.sum(axis=0)
    n = float(totals.sum())
    expected = n * n - float((totals * totals).sum())
    if not expected:
        return float("nan")
    disagreeing = sizes * sizes - (kept * kept).sum(axis=1)  # ordered pairs of different values within a unit
    return 1 - (n - 1) * float((disagreeing / (sizes - 1)).sum()) / expected


def _coefficient(
    name: str, coefficient: Callable[[Floats], float], units: Floats, annotators: int, seed: int
) -> AgreementCoefficient:
    """A coefficient with its interval, or why it has none."""
    value, low, high, method = coefficient(units), NAN, NAN, "too few: 1 prompt"
    if not np.isfinite(value):
        method = ALIKE
    elif len(units) > 1:
        resamples = generator(seed, name).integers(len(units), size=(RESAMPLES, len(units)))
        values = np.array([coefficient(units[rows]) for rows in resamples])
        kept, method = values[np.isfinite(values)], "none: in most resamples every verdict is the same"
        if kept.size >= RESAMPLES / 2:
            low, high = np.quantile(kept, [0.025, 0.975]).tolist()
            method = f"percentile over {len(units)} prompts"
    return AgreementCoefficient(value, low, high, method, name, len(units), annotators).widen()


def _cohen(pairs: Floats) -> float:
    square = np.zeros((len(VERDICTS), len(VERDICTS)))
    np.add.at(square, (pairs[:, 0].astype(int), pairs[:, 1].astype(int)), 1)
    return _quietly(lambda: cohens_kappa(square, return_results=False))


def _fleiss(counts: Floats) -> float:
    return _quietly(lambda: fleiss_kappa(counts))


def _quietly(coefficient: Callable[[], float]) -> float:
    """The coefficient; NaN instead of a warning if all verdicts are the same."""
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            value = float(coefficient())
        except ZeroDivisionError:
            return float("nan")
    return value if np.isfinite(value) else float("nan")


def _counts(units: Iterable[dict[str, Verdict]]) -> Floats:
    """For each unit, the number of annotators who gave each verdict."""
    rows = [[list(verdicts.values()).count(verdict) for verdict in VERDICTS] for verdicts in units]
    return np.array(rows, dtype=np.float64)
