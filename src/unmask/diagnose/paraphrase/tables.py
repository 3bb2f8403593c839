"""The tables of the diagnosis `paraphrase`."""

from __future__ import annotations

from collections.abc import Sequence

from unmask.diagnose.paraphrase.families import Family
from unmask.diagnose.paraphrase.verdicts import FamilyVerdicts, value_cell
from unmask.diagnose.published import published_value
from unmask.diagnose.spec import DiagnosisSettings
from unmask.findings import Cell, Table, Value
from unmask.stats import holm
from unmask.stats.concordance import FamilyAgreement

BANDS = (0.0, 0.1, 0.25, 0.5, 1.0)
SHOWN = 10  # originals listed as most opposed
PAPERS = ("cps", "cps-exact")  # measures used in the paper
WHERE = ("model", "data", "measure")


def agreement_table(main: Sequence[FamilyVerdicts]) -> Table:
    """M_PER_AGREE: the share of originals in agreement, against chance."""
    agreements = [(verdicts, verdicts.agreement(0.0)) for verdicts in main]
    rows = [
        (*verdicts.key_cells, *cells(agreement), agreement.p, _paper(verdicts, "all"))
        for verdicts, agreement in agreements
    ]
    return Table(
        "Agreement: an original and all its paraphrases have one sign",
        (*WHERE, "originals", "agree %", "chance %", "p", "published"),
        tuple(rows),
        "Chance: signs shuffled among the pairs of each bias type, in brackets what 95% of shuffles give; "
        "p: so much agreement or more by shuffling. Interval of agreement over originals, by Wilson. "
        "Published: on the authors' own paraphrases of 100 pairs of CrowS-Pairs, which are not public.",
        digits=1,
    )


def type_table(main: Sequence[FamilyVerdicts]) -> Table:
    """Agreement for every bias type."""
    rows: list[tuple[Cell, ...]] = []
    for verdicts in main:
        agreements = {name: verdicts.agreement(0.0, name) for name in verdicts.categories}
        corrected = holm([agreement.p for agreement in agreements.values()])
        rows += [
            (*verdicts.key_cells, name, *cells(agreement), p, _paper(verdicts, name))
            for (name, agreement), p in zip(agreements.items(), corrected, strict=True)
        ]
    return Table(
        "Agreement by bias type",
        (*WHERE, "bias type", "originals", "agree %", "chance %", "p (Holm)", "published"),
        tuple(rows),
        "p is corrected for the number of bias types of the same model and measure.",
        digits=1,
    )


def cells(agreement: FamilyAgreement) -> tuple[int, Value, Value]:
    """Number of originals, the share that agrees, and the share by chance."""
    chance = Value(agreement.chance, agreement.low, agreement.high, "shuffled")
    return agreement.families, value_cell(agreement.share, agreement.interval), chance


def _paper(verdicts: FamilyVerdicts, group: str) -> float | None:
    if verdicts.measure not in PAPERS:
        return None
    return published_value(
        "paraphrase", verdicts.model, data="crows-pairs", measure="cps", statistic="agreement", group=group
    )


def band_table(every: Sequence[FamilyVerdicts], settings: DiagnosisSettings) -> Table:
    """Agreement with `nearly equal` as a third verdict, for several band widths."""
    rows = [_band_row(verdicts, band) for verdicts in every for band in sorted({*BANDS, settings.band})]
    return Table(
        "Nearly equally likely as a third verdict",
        (*WHERE, "scale", "band ±", "pairs within %", "agree %", "chance %", "all within %", "opposed %"),
        tuple(rows),
        "Pairs within: of all pairs, those at most the band from zero: nearly equally likely; originals "
        "resampled. Agree: all verdicts on an original alike, nearly equal being one of three. Chance: as "
        "above. All within: all nearly equal (part of agree). Opposed: one wording beyond the band towards "
        "the stereotype, another beyond it the other way. The paper's band is 0.25 per token; sums and other "
        "measures have other scales.",
        digits=1,
    )


def _band_row(verdicts: FamilyVerdicts, band: float) -> tuple[Cell, ...]:
    agreement, within = verdicts.agreement(band), verdicts.share_within(verdicts.all_differences, band, "all")
    agree, opposed = value_cell(agreement.share, agreement.interval), verdicts.opposed_share(band)
    return (
        *verdicts.key_cells,
        verdicts.scale,
        f"{band:g}",
        within,
        agree,
        agreement.chance,
        verdicts.undecided_share(band),
        opposed,
    )


def size_table(main: Sequence[FamilyVerdicts], settings: DiagnosisSettings) -> Table:
    """M_DIFF: its mean, its mean absolute value, and the share near zero."""
    rows: list[tuple[Cell, ...]] = []
    for verdicts in main:
        for kind, groups in (("originals", verdicts.originals), ("paraphrases", verdicts.paraphrases)):
            numbers = (
                verdicts.mean_difference(groups, kind, absolute=absolute) for absolute in (False, True)
            )
            inside = verdicts.share_within(groups, settings.band, kind)
            share = Value(inside.value / 100, inside.low / 100, inside.high / 100, inside.method)
            rows.append((*verdicts.key_cells, kind, sum(group.size for group in groups), *numbers, share))
    return Table(
        "How large the differences are",
        (*WHERE, "pairs", "n", "mean", "mean distance from 0", f"share within ±{settings.band:g}"),
        tuple(rows),
        "Differences are the score of the stereotyping sentence minus that of the other, per token where a "
        "measure adds log-probabilities. Every original counts once, however many paraphrases it has; share "
        "within: of all pairs.",
        digits=3,
    )


def opposed_table(main: Sequence[FamilyVerdicts]) -> Table:
    """Originals whose paraphrases contradict each other most."""
    rows: list[tuple[Cell, ...]] = []
    for verdicts in main:
        torn = sorted(verdicts.families, key=lambda family: -_conflict(family))[:SHOWN]
        rows += [
            (*verdicts.key_cells, family.original, float(family.differences[0]), float(low), float(high))
            for family in torn
            if _conflict(family) > 0
            for low, high in ((family.differences.min(), family.differences.max()),)
        ]
    return Table(
        "Originals whose wordings oppose each other most",
        (*WHERE, "original", "original's difference", "lowest", "highest"),
        tuple(rows),
        f"At most {SHOWN} a model and measure, the largest conflict (its weaker side from zero) first.",
        digits=3,
    )


def _conflict(family: Family) -> float:
    return float(min(-family.differences.min(), family.differences.max()))
