"""`paraphrase`: is a verdict stable under paraphrases of a pair? (Kwon & Mihindukulasooriya 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from unmask.audit.session import Session, has_field
from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate
from unmask.core.types import Dataset, Kind
from unmask.data.pairs import NUMBER, ORIGINAL
from unmask.diagnose.common import results
from unmask.diagnose.paraphrase import tables
from unmask.diagnose.paraphrase.families import ALL, SUM, Family, FamilyVerdicts, family_differences, family_set
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.findings import Finding
from unmask.measures import find

DEFAULT: dict[Kind, str] = {"masked": "cps-exact", "causal": "cll"}


@dataclass(frozen=True, slots=True)
class ParaphraseResult:
    """Families by measure and scale, and notes on what was left out."""

    measures: Mapping[str, Mapping[str, tuple[Family, ...]]]
    notes: tuple[str, ...]


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> ParaphraseResult:
    """Score differences of every original and its paraphrases, by measure."""
    paraphrases = family_set(data)
    whole = paraphrases.dataset(data)
    names = settings.measures or (DEFAULT[session.lm.kind],)
    measures = [measure for measure in session.pair_measures(whole, names) if measure.summary == "share"]
    notes, by_measure = list(paraphrases.notes), {}
    for name, items in session.scores(whole, measures).items():
        by_measure[name] = family_differences(paraphrases, items, in_nats=find(name).in_nats)
        unscored = sum(item.row.outcome == "unscored" for item in items)
        if unscored:
            notes.append(f"{session.lm.facts.id}: {name} cannot score {unscored:,} of {len(items):,} pairs")
    return ParaphraseResult(by_measure, tuple(notes))


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Agreement overall and by bias type against chance, for several bands, and the differences."""
    every = _verdicts(tuple(observations), settings.seed)
    main = [verdicts for verdicts in every if verdicts.scale != SUM]
    if not main:
        raise StatsError("no original was scored together with a paraphrase: use other measures or data")
    candidates = (
        tables.agreement_table(main),
        tables.type_table(main),
        tables.band_table(every, settings),
        tables.size_table(main, settings),
        tables.opposed_table(main),
    )
    return Finding(
        tuple(answer(verdicts, settings) for verdicts in main),
        tuple(table for table in candidates if table.rows),
        (tables.histogram_plot(main, settings), *tables.type_plots(main)),
        tuple(dict.fromkeys(note for observation in observations for note in observation.result.notes)),
    )


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """Originals in agreement with all their paraphrases and the agreement by chance: all, by bias type."""
    every = []
    for verdicts in _verdicts(tuple(observations), settings.seed):
        if verdicts.scale == SUM:
            continue
        holm = tables.corrected_p(verdicts)
        for name, agreement in verdicts.signs.items():
            n, agree, chance = tables.cells(agreement)
            what = {"measure": f"paraphrase/{verdicts.measure}", "model": verdicts.model, "n": n}
            what |= {"data": verdicts.data, "group": ALL if name == ALL else f"category={name}"}
            every += [
                Estimate.of(agree, statistic="agreement", p=agreement.p, p_holm=holm.get(name), **what),
                Estimate.of(chance, statistic="agreement-by-chance", **what),
            ]
    return every


def details(observations: Observations, _: DiagnosisSettings) -> dict[str, object]:
    """The differences of every original and its paraphrases, by measure and scale, and their sentences."""
    families = [
        {"model": observation.names[0], "measure": measure, "scale": scale, "families": group}
        for observation, measure, scales in results(observations, "measures")
        for scale, group in scales.items()
    ]
    pairs = [each for observation in observations for each in family_set(observation.data).pairs.items()]
    return {
        "differences": families,
        "sentences": {name: [(pair.more, pair.less) for pair in group] for name, group in pairs},
    }


@lru_cache(maxsize=1)  # for the finding and the estimates
def _verdicts(observations: tuple[DiagnosisObservation, ...], seed: int) -> list[FamilyVerdicts]:
    return [
        FamilyVerdicts(*observation.names, measure, scale, families, seed)
        for observation, measure, scales in results(observations, "measures")
        for scale, families in scales.items()
        if families
    ]


def answer(verdicts: FamilyVerdicts, settings: DiagnosisSettings) -> str:
    """How many originals agree with their paraphrases, in one sentence."""
    agreement, share = verdicts.signs[ALL], verdicts.signs[ALL].share
    inside = verdicts.share_within(verdicts.all_differences, settings.band, "all")
    return (
        f"{verdicts.model} on {verdicts.data}, {verdicts.measure}: original and all paraphrases point one "
        f"way for {share.value:.1f}% ({share.low:.1f} to {share.high:.1f}) of "
        f"{agreement.families:,} originals; signs shuffled within bias types would for "
        f"{agreement.chance.value:.1f}%. {inside.value:.1f}% of "
        f"{sum(each.size for each in verdicts.all_differences):,} differences lie within "
        f"±{settings.band:g} {verdicts.unit}"
    )


def unfit_reason(data: Dataset) -> str:
    """Why data are no paraphrases; empty if they are."""
    fit = has_field(data, ORIGINAL) and has_field(data, NUMBER)
    return "" if fit else f"its pairs have no {ORIGINAL} and {NUMBER}: they are not paraphrases"
