"""The claims of the paraphrase paper, tested: decisions flip, models differ, differences are small."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from unmask.core.seeds import generator
from unmask.diagnose.paraphrase.families import OWN, Family, FamilyVerdicts
from unmask.findings import Cell, Table
from unmask.stats.intervals import mean_interval, mean_test
from unmask.stats.paired import cross_tabulate, mcnemar_p
from unmask.stats.shares import contrast, sign_test, wilson
from unmask.studies.claims import ClaimTest

MOST_AGREEMENT = 80.0  # percent; the paper: original and paraphrases agree in less than 80% of cases


def claim_tests(main: Sequence[FamilyVerdicts], band: float, seed: int) -> list[ClaimTest]:
    """All claims, of every model and measure."""
    return [
        *(_flips(verdicts) for verdicts in main),
        *(_by_chance(verdicts) for verdicts in main),
        *_between_models(main, seed),
        *(_nearly_equal(verdicts, band) for verdicts in main if verdicts.scale != OWN),
        *(test for verdicts in main for test in _sizes_of_flips(verdicts)),
    ]


def wording_claims(verdicts: FamilyVerdicts) -> list[ClaimTest]:
    """The two claims about agreement: it is far from complete, and more than by chance."""
    return [_flips(verdicts), _by_chance(verdicts)]


def bias_table(main: Sequence[FamilyVerdicts], seed: int) -> Table:
    """M_BIAS: the share of pairs decided towards the stereotype, of originals and of paraphrases."""
    rows: list[tuple[Cell, ...]] = []
    for verdicts in main:
        originals = np.array([float(group[0] > 0) for group in verdicts.originals])
        paraphrases = np.array([100 * np.mean(group > 0) for group in verdicts.paraphrases])
        rng = generator(seed, *verdicts.key_cells, "preferred")
        change = paraphrases - 100 * originals
        rows.append(
            (
                *verdicts.key_cells,
                wilson(int(originals.sum()), originals.size),
                mean_interval(paraphrases, rng=rng, unit="originals").clip(0.0, 100.0),
                mean_interval(change, rng=rng, unit="originals"),
                mean_test(change, 0.0),
            )
        )
    return Table(
        "Decided towards the stereotype, %",
        ("model", "data", "measure", "originals", "paraphrases", "change", "p"),
        tuple(rows),
        "M_BIAS. Paraphrases: the mean over originals of the share of their paraphrases. Change: paraphrases minus "
        "originals, paired; p by Student's test. Decisions may flip in both directions without a change.",
        digits=1,
    )


def _where(verdicts: FamilyVerdicts) -> str:
    return f"{verdicts.model} on {verdicts.data}, {verdicts.measure}"


def _flips(verdicts: FamilyVerdicts) -> ClaimTest:
    agreement = verdicts.in_sign
    return ClaimTest(
        "Do paraphrases flip decisions (fewer than 80% of originals agree with all of theirs)?",
        _where(verdicts),
        "originals in agreement, %",
        agreement.share,
        n=agreement.families,
        null=MOST_AGREEMENT,
        expected="below",
        p=sign_test(agreement.agreeing, agreement.families - agreement.agreeing, null=MOST_AGREEMENT),
        method="exact binomial",
    )


def _by_chance(verdicts: FamilyVerdicts) -> ClaimTest:
    agreement = verdicts.in_sign
    return ClaimTest(
        "Do wordings of one original agree more than wordings of different ones?",
        _where(verdicts),
        "originals in agreement, %; null: by chance",
        agreement.share,
        n=agreement.families,
        null=round(agreement.chance.value, 2),
        p=agreement.p,
        method="signs shuffled within bias types",
    )


def _between_models(main: Sequence[FamilyVerdicts], seed: int) -> list[ClaimTest]:
    """The agreement of every two models with one measure, over the originals both scored."""
    tests = []
    for one, two in combinations(main, 2):
        if one.measure != two.measure:
            continue
        first, second = sorted((one, two), key=lambda verdicts: -verdicts.in_sign.share.value)
        mine, theirs = _agreements(first), _agreements(second)
        common = [name for name in mine if name in theirs]
        a, b = (np.array([agree[name] for name in common], dtype=bool) for agree in (mine, theirs))
        rng = generator(seed, *first.key_cells, *second.key_cells)
        tests.append(
            ClaimTest(
                "Do models differ in agreement?",
                f"{first.model} − {second.model} on {first.data}, {first.measure}",
                "difference of agreement, points",
                mean_interval(100.0 * a - 100.0 * b, rng=rng, unit="originals"),
                n=len(common),
                p=mcnemar_p(cross_tabulate(a, b)),
                method="exact McNemar",
            )
        )
    return tests


def _agreements(verdicts: FamilyVerdicts) -> dict[str, bool]:
    """Whether all wordings of an original have one sign."""
    return {family.original: agrees(family) for family in verdicts.families}


def agrees(family: Family) -> bool:
    """Whether all wordings have one sign."""
    return len(set(family.outcomes(0.0).tolist())) == 1


def _nearly_equal(verdicts: FamilyVerdicts, band: float) -> ClaimTest:
    return ClaimTest(
        f"Do most differences lie within ±{band:g}?",
        _where(verdicts),
        f"pairs within ±{band:g} {verdicts.unit}, %",
        verdicts.share_within(verdicts.all_differences, band, "all"),
        n=sum(each.size for each in verdicts.all_differences),
        null=50.0,
    )


def _sizes_of_flips(verdicts: FamilyVerdicts) -> list[ClaimTest]:
    """The distance from zero of originals that agree with their paraphrases against that of the others."""
    sizes: dict[bool, list[float]] = {True: [], False: []}
    for family in verdicts.families:
        sizes[agrees(family)].append(float(abs(family.differences[0])))
    agree, others = (np.array(sizes[each]) for each in (True, False))
    if not (agree.size and others.size):
        return []
    gap = contrast(agree, others)
    claim = "Are differences smaller where paraphrases flip the decision?"
    what = f"mean distance from 0 of originals in agreement − of the others, {verdicts.unit}"
    n, method = agree.size + others.size, "Mann–Whitney"
    return [ClaimTest(claim, _where(verdicts), what, gap, n=n, p=gap.p, method=method)]
