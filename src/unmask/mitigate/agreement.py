"""Whether the measures of pairs agree that a mitigation changed the preference for stereotypes.

A measure of masked words and one of visible sentences need not follow the same bias; one alone must not decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unmask.audit.interpretation import ALPHA, lean
from unmask.measures import find
from unmask.mitigate.evaluation import PAIRS, BiasEvaluation, is_tested
from unmask.mitigate.spill_over import MEASURES, describe
from unmask.stats import Comparison, estimates

SAME = "no change beyond chance"
Runs = tuple[BiasEvaluation, BiasEvaluation]  # before and after


def is_change(row: Comparison) -> bool:
    """Whether a change is beyond chance: by its interval, and by its p after correction."""
    return row.difference.excludes(0.0) and (row.p_holm is None or row.p_holm < ALPHA)


def sides(row: Comparison, runs: Runs, seed: int) -> list[str]:
    """Where a statistic lies before and after, as `lean` judges it: in an audit the verdict is the same."""
    found = []
    for evaluation in runs:
        known = estimates(find(row.measure), evaluation.rows[row.measure, row.data], data=row.data, rng_seed=seed)
        same = (each for each in known if (each.statistic, each.group) == (row.statistic, row.group))
        found.append(next(map(lean, same), "no interval"))  # one model alone may lack items of both directions
    return found


def pair_answers(compared: Sequence[Comparison], runs: Runs, seed: int) -> list[str]:
    """For each dataset of pairs, what every measure says of the change, and whether they agree."""
    answers = []
    for name in PAIRS:
        rows = [
            each for each in compared if each.data == name and each.measure in MEASURES and is_tested(each, compared)
        ]
        verdicts: dict[str, list[str]] = {}
        for each in rows:
            verdicts.setdefault(_verdict(each, runs, seed), []).append(describe(each))
        if verdicts:
            answers.append(
                f"Pairs of {name}: {_sentence(verdicts, list(dict.fromkeys(each.measure for each in rows)))}."
            )
    return answers


def _verdict(row: Comparison, runs: Runs, seed: int) -> str:
    """What a measure says of the change of the preference; the values beside it say how much."""
    if not is_change(row):
        return SAME
    if sorted(sides(row, runs, seed)) == ["above", "below"]:
        return "the preference turned round"
    value, verb = (row.b_value, "rose") if row.worsening > 0 else (row.a_value, "fell")
    return f"the preference {'for' if value > (row.null or 0.0) else 'against'} stereotypes {verb}"


def _sentence(verdicts: Mapping[str, Sequence[str]], measures: Sequence[str]) -> str:
    said = "; ".join(f"{name} by {', '.join(by)}" for name, by in verdicts.items())
    if len(measures) == 1:
        return f"{said} (only {measures[0]} was used: nothing confirms it)"
    return f"{' and '.join(measures)} agree: {said}" if len(verdicts) == 1 else f"the measures disagree: {said}"
