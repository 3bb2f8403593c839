"""The claims of `prompts`: models prefer stereotypes, differ in order, and rank bias types alike by both measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from unmask.audit.parquet import rows_of
from unmask.measures import find
from unmask.stats.agreement import RankAgreement
from unmask.stats.paired import published_comparison
from unmask.stats.regression import fit_line
from unmask.stats.units import units_of_items
from unmask.studies.claims import ClaimTest, describe_test
from unmask.studies.collect import over_units
from unmask.studies.papers.prompts import TYPES
from unmask.studies.results.prompts_tables import ModelChanges, Results
from unmask.studies.spec import PaperComparison

STRONGEST = ("religion", "socioeconomic")  # bias types, by the paper


def preference_tests(scores: Sequence[PaperComparison]) -> list[ClaimTest]:
    """Whether a metric score is above 50."""
    claim = "Do models prefer stereotyping sentences?"
    return [
        ClaimTest(
            claim,
            f"{each.model} on {each.data}, {each.measure}",
            "metric score, %",
            each,
            n=each.n,
            null=50.0,
            p=each.p,
            method=describe_test("sign test", each),
        )
        for each in (compared.estimate for compared in scores)
        if each.statistic == "bias-score"
    ]


def model_changes(results: Results, seed: int) -> ModelChanges:
    """The metric score of every model against that of the next, over the same pairs, in the order given."""
    changes = []
    for (first, a), (second, b) in pairwise(results.items()):
        ((one, data), mine), ((two, _), theirs) = (next(iter(rows_of(each.items).items())) for each in (a, b))
        if one == two:
            change = published_comparison(find(one), mine, theirs, data=data, rng_seed=seed)
            changes.append((first, second, change))
    return changes


def order_tests(changes: ModelChanges) -> list[ClaimTest]:
    """The paper's order of models, which the study's default models have."""
    claim = "Is the next model more biased (BERT, RoBERTa, ALBERT in the paper)?"
    return [
        ClaimTest(
            claim,
            f"{second} − {first} on {change.data}, {change.measure}",
            "difference of metric scores, points",
            change.difference,
            n=change.n,
            p=change.p,
            method=describe_test("McNemar", change.difference),
        )
        for first, second, change in changes
    ]


def type_tests(results: Results) -> list[ClaimTest]:
    """Religion and socioeconomic status against race and gender."""
    claim = "Are religion and socioeconomic status the strongest bias types?"
    tests = []
    for model, result in results.items():
        ((measure, data), rows) = next(iter(rows_of(result.items).items()))
        counted = [row for row in rows if row.groups.get("category") in TYPES and row.scores]
        strong = np.array([TYPES[row.groups["category"]] in STRONGEST for row in counted], dtype=np.float64)
        if 0 < strong.sum() < strong.size:
            differences = np.array([row.difference for row in counted])
            line = fit_line(strong, differences, units_of_items([row.groups for row in counted]))
            where, what = f"{model} on {data}, {measure}", "mean difference − that of race and gender, nats"
            method = f"t test{over_units(line.slope)}"
            tests.append(ClaimTest(claim, where, what, line.slope, n=line.n, p=line.p, method=method))
    return tests


def rank_tests(taus: Mapping[str, RankAgreement]) -> list[ClaimTest]:
    """Whether the two measures rank bias types alike."""
    claim = "Does human-level diagnosis rank bias types as Table V does?"
    return [
        ClaimTest(claim, model, "Kendall's τ", found.tau, n=found.n, p=found.test.p, method=found.test.method)
        for model, found in taus.items()
    ]
