"""`paraphrase`: is a verdict stable under paraphrases of a pair? (Kwon & Mihindukulasooriya 2022)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unmask.audit.plan import has_field
from unmask.audit.session import Session
from unmask.core.errors import StatsError
from unmask.core.types import Dataset, Kind
from unmask.data.finspector import NUMBER, ORIGINAL
from unmask.diagnose.paraphrase import figures, tables
from unmask.diagnose.paraphrase.families import OWN, PER_TOKEN, Family, family_differences, family_set
from unmask.diagnose.paraphrase.verdicts import FamilyVerdicts
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, DiagnosisSettings
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


def conclude(observations: Sequence[DiagnosisObservation], settings: DiagnosisSettings) -> Finding:
    """Agreement overall and by bias type against chance, for several bands, and the differences."""
    every = [verdicts for observation in observations for verdicts in _verdicts(observation, settings)]
    main = [verdicts for verdicts in every if verdicts.scale in (PER_TOKEN, OWN)]
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
        tuple(_answer(verdicts, settings) for verdicts in main),
        tuple(table for table in candidates if table.rows),
        (figures.histogram_plot(main, settings), *figures.type_plots(main)),
        tuple(dict.fromkeys(note for observation in observations for note in observation.result.notes)),
    )


def _verdicts(observation: DiagnosisObservation, settings: DiagnosisSettings) -> Iterator[FamilyVerdicts]:
    model, data = str(observation.model["id"]), observation.data.card.name
    for measure, scales in observation.result.measures.items():
        for scale, families in scales.items():
            if families:
                yield FamilyVerdicts(model, data, measure, scale, families, settings.seed)


def _answer(verdicts: FamilyVerdicts, settings: DiagnosisSettings) -> str:
    agreement, inside = (
        verdicts.agreement(0.0),
        verdicts.share_within(verdicts.all_differences, settings.band, "all"),
    )
    return (
        f"{verdicts.model} on {verdicts.data}, {verdicts.measure}: original and all paraphrases point one "
        "way for "
        f"{agreement.share:.1f}% ({agreement.interval.low:.1f} to {agreement.interval.high:.1f}) of "
        f"{agreement.families:,} "
        f"originals; signs shuffled within bias types would for {agreement.chance:.1f}%. "
        f"{inside.value:.1f}% of "
        f"{sum(each.size for each in verdicts.all_differences):,} differences lie within "
        f"±{settings.band:g} {verdicts.unit}"
    )


def _unfit_reason(data: Dataset) -> str:
    if has_field(data, ORIGINAL) and has_field(data, NUMBER):
        return ""
    return f"its pairs have no {ORIGINAL} and {NUMBER}: they are not paraphrases"


PARAPHRASE = Diagnosis(
    name="paraphrase",
    title="The same in other words",
    question="Does a measure come to the same verdict when a pair is said in other words?",
    observe=observe,
    conclude=conclude,
    unfit_reason=_unfit_reason,
    data=("paraphrases",),
    citation="kwon-mihindukulasooriya-2022-empirical",
)
