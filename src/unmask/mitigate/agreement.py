"""Whether the measures of pairs agree that a mitigation changed the preference for stereotypes.

A measure of masked words and one of visible sentences need not follow the same bias; one alone must not decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unmask.audit.interpretation import ALPHA, lean
from unmask.measures import find
from unmask.mitigate.evaluation import PAIRS, BiasEvaluation, is_tested
from unmask.mitigate.spill_over import MEASURES, describe
from unmask.stats import estimates
from unmask.stats.paired import Comparison

SAME = "no change beyond chance"
TURNED = "the preference turned round"
OPPOSED = "changes in opposite directions"  # of one measure
Runs = tuple[BiasEvaluation, BiasEvaluation]  # before and after
Judged = tuple[Comparison, str]  # a change and the verdict on it


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
        rows = [row for row in compared if row.data == name and row.measure in MEASURES and is_tested(row, compared)]
        by_measure: dict[str, list[Judged]] = {}
        for row in rows:
            by_measure.setdefault(row.measure, []).append((row, _verdict(row, runs, seed)))
        if by_measure:
            answers.append(f"Pairs of {name}: {_sentence(by_measure)}.")
    return answers


def _verdict(row: Comparison, runs: Runs, seed: int) -> str:
    """What a statistic says of the change of the preference; the values beside it say how much."""
    if not is_change(row):
        return SAME
    if sorted(sides(row, runs, seed)) == ["above", "below"]:
        return TURNED
    value, verb = (row.b_value, "rose") if row.worsening > 0 else (row.a_value, "fell")
    return f"the preference {'for' if value > (row.null or 0.0) else 'against'} stereotypes {verb}"


def _sentence(by_measure: Mapping[str, Sequence[Judged]]) -> str:
    names, judged = " and ".join(by_measure), list(by_measure.values())
    parts = "; ".join(map(_part, judged))
    directions = {_direction(rows) for rows in judged}
    if len(judged) == 1:
        return f"{parts}; only {names} was used: nothing confirms it"
    if len(directions) > 1 or OPPOSED in directions:
        return f"the measures disagree: {parts}"
    if len({_joint_verdict(rows) for rows in judged}) == 1:
        return f"{names} agree: {_part([row for rows in judged for row in rows])}"
    return f"{names} agree that the preference {directions.pop()}: {parts}"


def _part(rows: Sequence[Judged]) -> str:
    """A verdict, the statistics that changed, and in brackets those that did not."""
    changed = [describe(row) for row, verdict in rows if verdict != SAME]
    same = ", ".join(describe(row) for row, verdict in rows if verdict == SAME)
    if not changed:
        return f"{SAME} by {same}"
    rest = f" ({SAME} by {same})" if same else ""
    return f"{_joint_verdict(rows)} by {', '.join(changed)}{rest}"


def _joint_verdict(rows: Sequence[Judged]) -> str:
    """The verdict of the statistics that changed, or what is common to theirs."""
    direction, verdicts = _direction(rows), {verdict for _, verdict in rows if verdict != SAME}
    if direction in (SAME, OPPOSED):
        return direction
    if TURNED in verdicts:
        return TURNED
    return verdicts.pop() if len(verdicts) == 1 else f"the preference {direction}"


def _direction(rows: Sequence[Judged]) -> str:
    """Where the statistics that changed have moved."""
    rises = {row.change > 0 for row, verdict in rows if verdict != SAME}
    if not rises:
        return SAME
    return OPPOSED if len(rises) > 1 else f"moved {'towards' if rises.pop() else 'away from'} stereotypes"
