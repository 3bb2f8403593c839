"""The tables and plots of the diagnosis `paraphrase`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from unmask.diagnose.paraphrase.families import ALL, FamilyVerdicts
from unmask.diagnose.published import published_value
from unmask.diagnose.spec import DiagnosisSettings
from unmask.findings import Cell, Plot, Table, Value, charts
from unmask.stats.agreement import FamilyAgreement
from unmask.stats.corrections import holm

BANDS = (0.0, 0.1, 0.25, 0.5, 1.0)
SHOWN = 10  # originals listed as most opposed
ORIGINALS = 100  # of the authors, and their pairs by bias type, originals included
AUTHORS_PAIRS = {
    **{"race-color": 106, "gender": 109, "socioeconomic": 38, "nationality": 32, "religion": 10, "age": 6},
    **{"sexual-orientation": 11, "physical-appearance": 30, "disability": 41},
}
PAPERS = ("cps", "cps-exact")  # measures used in the paper
WHERE = ("model", "data", "measure")


def agreement_table(main: Sequence[FamilyVerdicts]) -> Table:
    """M_PER_AGREE: the share of originals in agreement, against chance."""
    rows = [
        (*each.key_cells, *cells(each.signs[ALL]), each.signs[ALL].p, published_agreement(each, ALL)) for each in main
    ]
    return Table(
        "Agreement: an original and all its paraphrases have one sign",
        (*WHERE, "originals", "agree %", "chance %", "p", "published"),
        tuple(rows),
        "Chance: signs shuffled among the pairs of each bias type, in brackets what 95% of shuffles give; "
        "p: so much agreement or more by shuffling. Interval of agreement over originals, by Wilson. "
        "Published: only beside the authors' own 383 pairs of 100 originals of CrowS-Pairs, which are not public.",
        digits=1,
    )


def type_table(main: Sequence[FamilyVerdicts]) -> Table:
    """Agreement for every bias type."""
    rows = [
        (*verdicts.key_cells, name, *cells(verdicts.signs[name]), p, published_agreement(verdicts, name))
        for verdicts in main
        for name, p in corrected_p(verdicts).items()
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
    return agreement.families, agreement.share, agreement.chance


def corrected_p(verdicts: FamilyVerdicts) -> dict[str, float | None]:
    """The p-value of each bias type, corrected for their number."""
    adjusted = holm([verdicts.signs[name].p for name in verdicts.categories])
    return dict(zip(verdicts.categories, adjusted, strict=True))


def published_agreement(verdicts: FamilyVerdicts, group: str) -> float | None:
    """The published agreement of a model, overall or for a bias type; None on other data than the authors'."""
    pairs = Counter[str]()
    for family in verdicts.families:
        pairs[family.category] += family.differences.size
    if verdicts.measure not in PAPERS or (len(verdicts.families), pairs) != (ORIGINALS, AUTHORS_PAIRS):
        return None
    return published_value(
        "paraphrase", verdicts.model, data="crows-pairs", measure="cps", statistic="agreement", group=group
    )


def band_table(every: Sequence[FamilyVerdicts], settings: DiagnosisSettings) -> Table:
    """Agreement with `nearly equal` as a third verdict, for several band widths."""
    rows: list[tuple[Cell, ...]] = []
    for verdicts in every:
        for band in sorted({*BANDS, settings.band}):
            within = verdicts.share_within(verdicts.all_differences, band, "all")
            agreement = verdicts.agreement(band)
            shares = (verdicts.undecided_share(band), verdicts.opposed_share(band))
            named = (*verdicts.key_cells, verdicts.scale, f"{band:g}")
            rows.append((*named, within, agreement.share, agreement.chance.value, *shares))
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


def size_table(main: Sequence[FamilyVerdicts], settings: DiagnosisSettings) -> Table:
    """M_DIFF: its mean, its mean absolute value, and the share near zero."""
    rows: list[tuple[Cell, ...]] = []
    for verdicts in main:
        for kind, groups in (("originals", verdicts.originals), ("paraphrases", verdicts.paraphrases)):
            numbers = (verdicts.mean_difference(groups, kind, absolute=flag) for flag in (False, True))
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
        for family in sorted(verdicts.families, key=lambda family: -family.conflict)[:SHOWN]:
            if family.conflict > 0:
                values = (family.differences[0], family.differences.min(), family.differences.max())
                rows.append((*verdicts.key_cells, family.original, *map(float, values)))
    return Table(
        "Originals whose wordings oppose each other most",
        (*WHERE, "original", "original's difference", "lowest", "highest"),
        tuple(rows),
        f"At most {SHOWN} a model and measure, the largest conflict (its weaker side from zero) first.",
        digits=3,
    )


def histogram_plot(main: Sequence[FamilyVerdicts], settings: DiagnosisSettings) -> Plot:
    """The distribution of M_DIFF (Fig. 4 of the paper), for originals and for paraphrases."""
    rows = [
        {"value": float(value), "series": f"{_label(verdicts, main)}{kind}, {inside.value:.0f}% within"}
        for verdicts in main
        for kind, groups in (("originals", verdicts.originals), ("paraphrases", verdicts.paraphrases))
        for inside in (verdicts.share_within(groups, settings.band, kind),)
        for group in groups
        for value in group
    ]
    alt = (
        "Histograms of the difference in score between the two sentences of a pair, for originals and for "
        f"paraphrases; dashed lines mark ±{settings.band:g}, and each title gives the share within."
    )
    units = " or ".join(dict.fromkeys(verdicts.unit for verdicts in main))
    chart = charts.histograms(rows, axis=f"difference, {units}", band=settings.band)
    return Plot("paraphrase-differences", "Differences of originals and paraphrases", alt, chart)


def type_plots(main: Sequence[FamilyVerdicts]) -> tuple[Plot, ...]:
    """Agreement by bias type, observed and by chance; empty if the data have no types."""
    rows = []
    for verdicts in main:
        for name in verdicts.categories:
            _, agree, chance = cells(verdicts.signs[name])
            label = f"{_label(verdicts, main)}{name}"
            rows += [(label, agree, "seen"), (label, chance, "by chance")]
    alt = "Share of originals in agreement with all their paraphrases by bias type, observed and by chance."
    axis = "originals in agreement, %"
    return charts.interval_plots("paraphrase-agreement", "Agreement by bias type", alt, rows, axis=axis)


def _label(verdicts: FamilyVerdicts, main: Sequence[FamilyVerdicts]) -> str:
    """The key cells that differ between the verdicts; empty for a single one."""
    columns = zip(*(other.key_cells for other in main), strict=True)
    parts = zip(verdicts.key_cells, columns, strict=True)
    return "".join(f"{part} · " for part, column in parts if len(set(column)) > 1)
