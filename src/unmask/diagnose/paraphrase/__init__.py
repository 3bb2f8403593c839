"""`paraphrase`: is a verdict stable under paraphrases of a pair? (Kwon & Mihindukulasooriya 2022)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate, Value
from unmask.core.options import option
from unmask.core.statistic import BAND
from unmask.core.types import Dataset, Kind
from unmask.data.pairs import NUMBER, ORIGINAL
from unmask.diagnose.scores import distinct_notes, require, results
from unmask.diagnose.spec import Diagnosis, Observations, ScoreOptions, published_value
from unmask.findings import Cell, Conclusion, Finding, Plot, Table
from unmask.measures import find

if TYPE_CHECKING:
    from unmask.audit.session import Session
    from unmask.diagnose.paraphrase.families import Family, FamilyVerdicts
    from unmask.stats.agreement import FamilyAgreement

ALL = "all"
DEFAULT: dict[Kind, str] = {"masked": "cps-exact", "causal": "cll"}
BANDS = (0.0, 0.1, 0.25, 0.5, 1.0)
SHOWN = 10  # originals listed as most opposed
ORIGINALS = 100  # of the authors, and their pairs by bias type, originals included
AUTHORS_PAIRS = {
    **{"race-color": 106, "gender": 109, "socioeconomic": 38, "nationality": 32, "religion": 10, "age": 6},
    **{"sexual-orientation": 11, "physical-appearance": 30, "disability": 41},
}
PAPERS = ("cps", "cps-exact")  # measures used in the paper
AGREEMENT = (
    "Chance: signs shuffled among the pairs of each bias type, in brackets what 95% of shuffles give; "
    "p: so much agreement or more by shuffling. Interval of agreement over originals, by Wilson. "
    "Published: only beside the authors' own 383 pairs of 100 originals of CrowS-Pairs, which are not public."
)
NEARLY_EQUAL = (
    "Pairs within: of all pairs, those at most the band from zero: nearly equally likely; originals "
    "resampled. Agree: all verdicts on an original alike, nearly equal being one of three. Chance: as "
    "above. All within: all nearly equal (part of agree). Opposed: one wording beyond the band towards "
    "the stereotype, another beyond it the other way. The paper's band is 0.25 per token; sums and other "
    "measures have other scales."
)
SIZES = (
    "Differences are the score of the stereotyping sentence minus that of the other, per token where a "
    "measure adds log-probabilities. Every original counts once, however many paraphrases it has; share "
    "within: of all pairs."
)


@dataclass(frozen=True)
class FamilyOptions(ScoreOptions):
    """Options of `paraphrase`."""

    band: float = option(BAND, "Differences up to this size count as nearly equal.")


@dataclass(frozen=True, slots=True)
class ParaphraseResult:
    """Families by measure and scale, and notes on what was left out."""

    measures: Mapping[str, Mapping[str, tuple[Family, ...]]]
    notes: tuple[str, ...]


def observe(session: Session, data: Dataset, options: FamilyOptions) -> ParaphraseResult:
    """Score differences of every original and its paraphrases, by measure."""
    from unmask.diagnose.paraphrase.families import family_differences, family_set

    paraphrases = family_set(data)
    whole = paraphrases.dataset(data)
    names = options.measures or (DEFAULT[session.lm.kind],)
    measures = [measure for measure in session.pair_measures(whole, names) if measure.summary == "share"]
    notes, by_measure = list(paraphrases.notes), {}
    for name, items in session.scores(whole, measures).items():
        by_measure[name] = family_differences(paraphrases, items, in_nats=find(name).in_nats)
        unscored = sum(item.row.outcome == "unscored" for item in items)
        if unscored:
            notes.append(f"{session.lm.facts.id}: {name} cannot score {unscored:,} of {len(items):,} pairs")
    return ParaphraseResult(by_measure, tuple(notes))


def conclude(observations: Observations, options: FamilyOptions) -> Conclusion:
    """Agreement overall and by bias type against chance, for several bands, and the differences."""
    from unmask.diagnose.paraphrase.families import SUM, FamilyVerdicts, family_set

    families = [
        (*observation.names, measure, scale, group)
        for observation, measure, scales in results(observations, "measures")
        for scale, group in scales.items()
    ]
    every = [FamilyVerdicts(*each, options.seed) for each in families if each[-1]]
    main = [verdicts for verdicts in every if verdicts.scale != SUM]
    if not main:
        raise StatsError("no original was scored together with a paraphrase: use other measures or data")
    pairs = [each for observation in observations for each in family_set(observation.data).pairs.items()]
    return Conclusion(
        Finding(
            tuple(line for verdicts in main for line in answers(verdicts, options.band)),
            (
                agreement_table(main),
                type_table(main),
                band_table(every, options.band),
                size_table(main, options.band),
                opposed_table(main),
            ),
            (histogram_plot(main, options.band), *type_plots(main)),
            distinct_notes(observations),
        ),
        tuple(estimate for verdicts in main for estimate in _estimates(verdicts)),
        {
            "differences": [
                {"model": model, "measure": measure, "scale": scale, "families": group}
                for model, _, measure, scale, group in families
            ],
            "sentences": {name: [(pair.more, pair.less) for pair in group] for name, group in pairs},
        },
    )


def _estimates(verdicts: FamilyVerdicts) -> Iterator[Estimate]:
    """Originals in agreement with all their paraphrases and the agreement by chance: all, by bias type."""
    corrected = corrected_p(verdicts)
    for name, agreement in verdicts.signs.items():
        what = {"measure": f"paraphrase/{verdicts.measure}", "model": verdicts.model, "n": agreement.families}
        what |= {"data": verdicts.data, "group": ALL if name == ALL else f"category={name}"}
        yield Estimate.of(agreement.share, statistic="agreement", p=agreement.p, p_holm=corrected.get(name), **what)
        yield Estimate.of(agreement.chance, statistic="agreement-by-chance", **what)


def answers(verdicts: FamilyVerdicts, band: float) -> Iterator[str]:
    """How many originals agree with their paraphrases beside chance, and how many differences are nearly equal."""
    from unmask.findings import sentences

    where = f"{verdicts.model} on {verdicts.data}, {verdicts.measure}"
    agreement = verdicts.signs[ALL]
    what = f"{where}: original and all paraphrases point one way, {agreement.families:,} originals, by chance"
    yield sentences.share(
        f"{what} {agreement.chance.value:.1f}%:", agreement.share, agreement.chance.value, p=agreement.p
    )
    n = sum(each.size for each in verdicts.all_differences)
    inside = verdicts.share_within(verdicts.all_differences, band, "all")
    yield sentences.share(f"{where}: of {n:,} differences, within ±{band:g} {verdicts.unit}", inside)


def agreement_table(main: Sequence[FamilyVerdicts]) -> Table:
    """M_PER_AGREE: the share of originals in agreement, against chance."""
    return Table.of(
        "Agreement: an original and all its paraphrases have one sign",
        (
            {
                **each.key,
                **_agreement_cells(each.signs[ALL]),
                "p": each.signs[ALL].p,
                "published": published_agreement(each, ALL),
            }
            for each in main
        ),
        AGREEMENT,
        digits=1,
    )


def type_table(main: Sequence[FamilyVerdicts]) -> Table:
    """Agreement for every bias type."""
    return Table.of(
        "Agreement by bias type",
        (
            {
                **verdicts.key,
                "bias type": name,
                **_agreement_cells(verdicts.signs[name]),
                "p (Holm)": p,
                "published": published_agreement(verdicts, name),
            }
            for verdicts in main
            for name, p in corrected_p(verdicts).items()
        ),
        "p is corrected for the number of bias types of the same model and measure.",
        digits=1,
    )


def _agreement_cells(agreement: FamilyAgreement) -> dict[str, Cell]:
    return {"originals": agreement.families, "agree %": agreement.share, "chance %": agreement.chance}


def corrected_p(verdicts: FamilyVerdicts) -> dict[str, float | None]:
    """The p-value of each bias type, corrected for their number."""
    from unmask.stats.corrections import holm

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


def band_table(every: Sequence[FamilyVerdicts], band: float) -> Table:
    """Agreement with `nearly equal` as a third verdict, for several band widths."""
    records = (_band_record(verdicts, width) for verdicts in every for width in sorted({*BANDS, band}))
    return Table.of("Nearly equally likely as a third verdict", records, NEARLY_EQUAL, digits=1)


def _band_record(verdicts: FamilyVerdicts, width: float) -> dict[str, Cell]:
    agreement = verdicts.agreement(width)
    return {
        **verdicts.key,
        "scale": verdicts.scale,
        "band ±": f"{width:g}",
        "pairs within %": verdicts.share_within(verdicts.all_differences, width, "all"),
        "agree %": agreement.share,
        "chance %": agreement.chance.value,
        "all within %": verdicts.undecided_share(width),
        "opposed %": verdicts.opposed_share(width),
    }


def size_table(main: Sequence[FamilyVerdicts], band: float) -> Table:
    """M_DIFF: its mean, its mean absolute value, and the share near zero."""
    return Table.of(
        "How large the differences are",
        (
            {
                **verdicts.key,
                "pairs": kind,
                "n": sum(group.size for group in groups),
                "mean": verdicts.mean_difference(groups, kind, absolute=False),
                "mean distance from 0": verdicts.mean_difference(groups, kind, absolute=True),
                f"share within ±{band:g}": _fraction(verdicts.share_within(groups, band, kind)),
            }
            for verdicts in main
            for kind, groups in verdicts.by_kind.items()
        ),
        SIZES,
        digits=3,
    )


def _fraction(percent: Value) -> Value:
    return Value(percent.value / 100, percent.low / 100, percent.high / 100, percent.method)


def opposed_table(main: Sequence[FamilyVerdicts]) -> Table:
    """Originals whose paraphrases contradict each other most."""
    return Table.of(
        "Originals whose wordings oppose each other most",
        (
            {
                **verdicts.key,
                "original": family.original,
                "original's difference": float(family.differences[0]),
                "lowest": float(family.differences.min()),
                "highest": float(family.differences.max()),
            }
            for verdicts in main
            for family in sorted(verdicts.families, key=lambda family: -family.conflict)[:SHOWN]
            if family.conflict > 0
        ),
        f"At most {SHOWN} a model and measure, the largest conflict (its weaker side from zero) first.",
        digits=3,
    )


def histogram_plot(main: Sequence[FamilyVerdicts], band: float) -> Plot:
    """The distribution of M_DIFF (Fig. 4 of the paper), for originals and for paraphrases."""
    from unmask.findings import charts

    rows = []
    for verdicts in main:
        for kind, groups in verdicts.by_kind.items():
            inside = verdicts.share_within(groups, band, kind)
            series = f"{_label(verdicts, main)}{kind}, {inside.value:.0f}% within"
            rows += [{"value": float(value), "series": series} for group in groups for value in group]
    alt = (
        "Histograms of the difference in score between the two sentences of a pair, for originals and for "
        f"paraphrases; dashed lines mark ±{band:g}, and each title gives the share within."
    )
    units = " or ".join(dict.fromkeys(verdicts.unit for verdicts in main))
    chart = charts.histograms(rows, axis=f"difference, {units}", band=band)
    return Plot("paraphrase-differences", "Differences of originals and paraphrases", alt, chart)


def type_plots(main: Sequence[FamilyVerdicts]) -> tuple[Plot, ...]:
    """Agreement by bias type, observed and by chance; empty if the data have no types."""
    from unmask.findings import charts

    rows = [
        (f"{_label(verdicts, main)}{name}", value, series)
        for verdicts in main
        for name in verdicts.categories
        for series, value in (("seen", verdicts.signs[name].share), ("by chance", verdicts.signs[name].chance))
    ]
    alt = "Share of originals in agreement with all their paraphrases by bias type, observed and by chance."
    axis = "originals in agreement, %"
    return charts.interval_plots("paraphrase-agreement", "Agreement by bias type", alt, rows, axis=axis)


def _label(verdicts: FamilyVerdicts, main: Sequence[FamilyVerdicts]) -> str:
    """The key cells that differ between the verdicts; empty for a single one."""
    shown = [name for name in verdicts.key if len({other.key[name] for other in main}) > 1]
    return "".join(f"{verdicts.key[name]} · " for name in shown)


PARAPHRASE = Diagnosis(
    name="paraphrase",
    title="Stability under paraphrasing",
    question="Does a measure reach the same verdict when a pair is paraphrased?",
    observe=observe,
    conclude=conclude,
    options=FamilyOptions,
    order=6,
    unfit_reason=require(ORIGINAL, NUMBER),
    data=("paraphrases",),
    citation="kwon-mihindukulasooriya-2022-empirical",
)
