"""The claims of Unmasking the Mask (Kaneko & Bollegala 2022), each as a question with paired tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from unmask.audit.parquet import rows_of
from unmask.audit.result import load_audit
from unmask.core.estimate import Estimate
from unmask.measures import find
from unmask.stats.paired import wins_change
from unmask.stats.shares import ADVANTAGED, DISADVANTAGED, bias_score
from unmask.stats.table import Flags, ScoreTable
from unmask.stats.units import Units
from unmask.studies.claims import ClaimTest, describe_test
from unmask.studies.spec import Outputs

ACCURACY = "Does a model predict more tokens when nothing is masked?"
FREQUENCY = "Are the words of advantaged groups more frequent?"
ADVANTAGED_OVER = "Does masking everything over-estimate bias in stereotypes of advantaged groups?"
DISADVANTAGED_UNDER = "Does masking everything under-estimate bias in stereotypes of disadvantaged groups?"
MEANING = "Does accuracy drop when a sentence loses its meaning?"
LEARNT = "Have models learnt social biases (a bias score above 50)?"
OVERESTIMATE = "Do CPS and SSS over-estimate bias compared with AUL and AULA?"
HUMAN = "Do AUL and AULA agree better with people than CPS and SSS?"
# In the order of the paper.
CLAIMS = (ACCURACY, FREQUENCY, ADVANTAGED_OVER, DISADVANTAGED_UNDER, MEANING, LEARNT, OVERESTIMATE, HUMAN)
UNMASKED = ("aul", "aula")
CORRECTED = {"cps": "cps", "sss": "sss-diagonal"}  # the measure that is compared as corrected
STATISTICS = {  # what the numbers of diagnoses are
    "accuracy-difference": "difference of accuracies, points",
    "drop": "drop of accuracy, points",
    "log10-difference": "difference of mean log10 frequency",
    "auc-difference": "difference of AUC",
}
Tables = Mapping[str, ScoreTable]  # of one model on one dataset, by measure


def audit_claims(outputs: Outputs) -> Iterator[ClaimTest]:
    """Bias scores of masked measures against unmasked ones, pair by pair; of everything masked, by direction."""
    for role, folder in outputs.items():
        if role[0] != "audit":
            continue
        for tables in score_tables(folder).values():
            yield from _preferences(role[1], tables)
            yield from _over_estimates(role[1], tables)
            yield from _by_direction(role[1], tables)


def diagnosis_claims(estimates: Iterable[Estimate]) -> Iterator[ClaimTest]:
    """The claims that an estimate of a diagnosis answers."""
    for estimate in estimates:
        if (test := _diagnosed(estimate)) is not None:
            yield test


def score_tables(folder: Path) -> dict[str, dict[str, ScoreTable]]:
    """The scores of an audit by dataset and measure, all of the same items."""
    by_data: dict[str, dict[str, ScoreTable]] = {}
    for (measure, data), rows in rows_of(load_audit(folder).items).items():
        by_data.setdefault(data, {})[measure] = ScoreTable.of(find(measure), rows, data=data)
    return by_data


def _preferences(model: str, tables: Tables) -> Iterator[ClaimTest]:
    """The bias scores of Table 5 against 50."""
    for measure, table in tables.items():
        if measure in (*CORRECTED, *UNMASKED):
            yield preference_test(table, f"{model}, {table.data}, {measure}")


def preference_test(table: ScoreTable, where: str) -> ClaimTest:
    """A bias score against 50."""
    score = bias_score(table, group="all")
    method = describe_test("sign test", score)
    return ClaimTest(LEARNT, where, "bias score", score, score.n, null=50.0, p=score.p, method=method)


def _over_estimates(model: str, tables: Tables) -> Iterator[ClaimTest]:
    """As published and as corrected: by unrounded scores, SSS by its equation, over the pairs that both decide."""
    for masked, corrected in CORRECTED.items():
        for unmasked in UNMASKED:
            if {masked, corrected, unmasked} <= tables.keys():
                first, second = tables[masked], tables[unmasked]
                kept = first.is_counted & second.is_counted
                where = f"{model}, {first.data}, {masked} − {unmasked}"
                wins = first.wins[kept], second.wins[kept]
                yield _paired(OVERESTIMATE, f"{where}, as published", *wins, first.take(kept).units)
                first = tables[corrected]
                kept = _is_decided(first) & _is_decided(second)
                wins = (first.difference > 0)[kept], (second.difference > 0)[kept]
                yield _paired(OVERESTIMATE, f"{where}, as corrected", *wins, first.take(kept).units)


def _by_direction(model: str, tables: Tables) -> Iterator[ClaimTest]:
    """All-Masked against measures without masks, separately for the stereotypes of both kinds of groups."""
    if "all-masked" not in tables:
        return
    first = tables["all-masked"]
    for question, direction in ((ADVANTAGED_OVER, ADVANTAGED), (DISADVANTAGED_UNDER, DISADVANTAGED)):
        for unmasked in UNMASKED:
            second = tables[unmasked]
            kept = first.is_counted & second.is_counted & (first.labels["direction"] == direction)
            if kept.any():
                where = f"{model}, {first.data}, all-masked − {unmasked}"
                test = _paired(question, where, first.wins[kept], second.wins[kept], first.take(kept).units)
                yield replace(test, expected="above" if direction == ADVANTAGED else "below")


def _paired(question: str, where: str, first: Flags, second: Flags, units: Units) -> ClaimTest:
    """The difference of two bias scores over the same pairs."""
    value, p = wins_change(second, first, units)
    method = describe_test("McNemar", value)
    return ClaimTest(question, where, "bias score difference", value, first.size, p=p, method=method)


def _is_decided(table: ScoreTable) -> Flags:
    return np.asarray(np.isfinite(table.difference) & (table.difference != 0))


def _diagnosed(estimate: Estimate) -> ClaimTest | None:
    diagnosis, _, what = estimate.measure.partition("/")
    where = f"{estimate.model}, {estimate.data}, {what.replace('/', ' − ').replace('-', ' ')}"
    group = "" if estimate.group == "all" else f", {estimate.group.partition('=')[2]}"
    test = ClaimTest("", f"{where}{group}", STATISTICS.get(estimate.statistic, ""), estimate, estimate.n, p=estimate.p)
    match diagnosis, estimate.statistic:
        case "accuracy", "accuracy-difference" if what.partition("/")[2] in CORRECTED:
            return replace(test, claim=ACCURACY, method="Student's t")
        case "meaning", "drop" if not group and what != "words-shuffled":
            return replace(test, claim=MEANING, method="Student's t" if estimate.p is not None else "")
        case "frequency", "log10-difference":
            return replace(test, claim=FREQUENCY, where=f"{estimate.data}{group}", method="Mann–Whitney")
        case "human", "auc-difference":
            first, _, second = what.partition("/")
            if (first in UNMASKED) != (second in UNMASKED):
                expected = "above" if first in UNMASKED else "below"
                return replace(test, claim=HUMAN, expected=expected, method="DeLong")  # type: ignore[arg-type]
    return None
