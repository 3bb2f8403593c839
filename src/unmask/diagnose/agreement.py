"""`agreement`: do measures rank models, and bias types, alike? (τ as in Kaneko et al. 2022, Table 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING

from unmask.core.estimate import Estimate
from unmask.diagnose.scores import observed_table, score_rows, template_reason
from unmask.diagnose.spec import Diagnosis, DiagnosisObservation, Observations, UnitOptions
from unmask.findings import Cell, Conclusion, Finding, Plot, Table

if TYPE_CHECKING:
    from unmask.core.types import Floats, Ints
    from unmask.stats.agreement import RankAgreement, Rankings
    from unmask.stats.units import Units

MEAN = "mean-difference"
NOTE = (
    "τ-b: 1 is the same order, −1 the reverse, 0 no relation. Interval: from the two measures disagreeing "
    "on every order that the data leave open to agreeing on all of them; an order is open unless the interval of "
    "the difference of the two scores, over the units of the data, excludes 0. It does not generalise to other "
    "{others}. p Holm: over the rows with the same {same}; it takes the scores as exact."
)
RANKS = (
    "1: the type with the largest mean difference towards the stereotype under this measure; for sld, "
    "the type with the largest absolute difference."
)


@dataclass(frozen=True, slots=True)
class RankedTypes:
    """How one model's measures rank the bias types of one dataset."""

    observation: DiagnosisObservation
    names: tuple[str, ...]  # measures
    categories: tuple[str, ...]
    pairs: tuple[int, ...]  # by category
    ranks: Floats  # measures × categories; 1 = most towards the stereotype
    agreements: tuple[RankAgreement, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """What was ranked: the models of a dataset, or the bias types of a model on a dataset."""

    over: str  # "models", "bias-types"
    key: Mapping[str, str]  # data, or model and data
    agreements: tuple[RankAgreement, ...]

    @property
    def where(self) -> str:
        """What was ranked, in a sentence or a title."""
        what = self.over.replace("-", " ")
        return f"{what} on {self.key['data']}" if self.over == "models" else f"{what}, {' on '.join(self.key.values())}"

    def estimates(self) -> list[Estimate]:
        """Kendall's τ of every two measures."""
        from unmask.stats.corrections import holm

        adjusted = holm([each.test.p for each in self.agreements])
        return [
            Estimate.of(
                each.tau,
                measure=f"agreement/{each.a}/{each.b}",
                statistic=f"kendall-over-{self.over}",
                **self.key,
                null=0.0,
                n=each.n,
                p=each.test.p,
                p_holm=p,
            )
            for each, p in zip(self.agreements, adjusted, strict=True)
        ]


def conclude(observations: Observations, options: UnitOptions) -> Conclusion:
    """Kendall's τ between measures: over models where there are three, and over bias types by model."""
    from unmask.findings import charts

    by_data: dict[str, list[DiagnosisObservation]] = {}
    for observation in observations:
        by_data.setdefault(observation.names[1], []).append(observation)
    types = [ranked for each in observations if (ranked := _ranked_types(each, options)) is not None]
    of_models = [Ranking("models", {"data": name}, _model_agreements(each, options)) for name, each in by_data.items()]
    of_types = [Ranking("bias-types", ranked.observation.key, ranked.agreements) for ranked in types]
    shown = [ranking for ranking in (*of_models, *of_types) if ranking.agreements]
    alt = "Grid of Kendall's τ between every two measures, from −1 (reverse order) to 1 (same order)."
    return Conclusion(
        Finding(
            tuple(line for ranking in shown for line in _answers(ranking)),
            (
                Table.of(
                    "Models ranked by two measures",
                    (record for ranking in of_models for record in _records(ranking)),
                    NOTE.format(others="models, and with few models it is wide", same="data"),
                ),
                Table.of(
                    "Bias types ranked by two measures",
                    (record for ranking in of_types for record in _records(ranking)),
                    NOTE.format(others="bias types", same="model and data"),
                ),
                Table.of(
                    "Rank of each bias type by mean difference",
                    (record for ranked in types for record in _rank_records(ranked)),
                    RANKS,
                ),
            ),
            tuple(
                Plot(
                    f"agreement-{number}",
                    f"Agreement in ranking {ranking.where}",
                    alt,
                    charts.grid(_grid_rows(ranking.agreements), low=-1.0, high=1.0),
                )
                for number, ranking in enumerate(shown, start=1)
            ),
            tuple(_notes(of_models, by_data, types)),
        ),
        tuple(estimate for ranking in shown for estimate in ranking.estimates()),
    )


def _records(ranking: Ranking) -> Iterator[dict[str, Cell]]:
    for agreement, estimate in zip(ranking.agreements, ranking.estimates(), strict=True):
        yield {
            **ranking.key,
            "measure": agreement.a,
            "other": agreement.b,
            "τ": estimate,
            "ranked": estimate.n,
            "p": estimate.p,
            "p Holm": estimate.p_holm,
            "test": agreement.test.method,
        }


def _rank_records(ranked: RankedTypes) -> Iterator[dict[str, Cell]]:
    for column, (category, pairs) in enumerate(zip(ranked.categories, ranked.pairs, strict=True)):
        ranks = {name: int(ranked.ranks[row, column]) for row, name in enumerate(ranked.names)}
        yield {**ranked.observation.key, "type": category, "pairs": pairs, **ranks}


def _answers(ranking: Ranking) -> Iterator[str]:
    """The two measures that agree most and least, and how many agree beyond what the data leave open."""
    from unmask.findings import sentences

    known = [each for each in ranking.agreements if isfinite(each.tau.value)]
    for agreement in sorted(known, key=lambda each: -each.tau.value)[:: max(1, len(known) - 1)]:
        what = f"{agreement.n} {ranking.where}: order by {agreement.a} and by {agreement.b}"
        yield sentences.agreement(what, agreement.tau, symbol="τ")
    if known:
        sure = sum(sentences.place(each.tau) == "above" for each in known)
        yield f"{ranking.where}: interval of τ above 0 for {sure} of {len(known)} pairs of measures"


def _grid_rows(agreements: Sequence[RankAgreement]) -> list[dict[str, object]]:
    """τ of every two measures, in both orders."""
    names = list(dict.fromkeys(name for agreement in agreements for name in (agreement.a, agreement.b)))
    known = {(agreement.a, agreement.b): agreement.tau.value for agreement in agreements}
    known |= {(b, a): value for (a, b), value in known.items()} | {(name, name): 1.0 for name in names}
    return [{"x": a, "y": b, "value": known.get((a, b), nan)} for a in names for b in names]


def _notes(
    of_models: Sequence[Ranking], by_data: Mapping[str, Observations], types: Sequence[RankedTypes]
) -> Iterator[str]:
    from unmask.stats.agreement import MIN_RANKED

    for ranking in of_models:
        n = len(by_data[ranking.key["data"]])
        if not ranking.agreements:
            yield (
                f"{ranking.key['data']}: {n} {'model' if n == 1 else 'models'}; to compare rankings of models, "
                f"give at least {MIN_RANKED} models that support the same measures"
            )
    ranked = [each.observation.where for each in types]
    for observation in (each for members in by_data.values() for each in members):
        if observation.where not in ranked:
            few = f"fewer than {MIN_RANKED} bias types with two scored pairs that share no writer, term, …"
            yield f"{observation.where}: {few}: not ranked"


def _model_agreements(observations: Observations, options: UnitOptions) -> tuple[RankAgreement, ...]:
    """Agreement of measures in ranking models on the same data; models a measure does not support are NaN."""
    import numpy as np

    from unmask.stats.agreement import rank_agreements
    from unmask.stats.table import headline_statistic, item_values

    names = tuple(dict.fromkeys(name for observation in observations for name in observation.result))
    tables = {
        (row, model): observed_table(observation, name, options)
        for row, name in enumerate(names)
        for model, observation in enumerate(observations)
        if name in observation.result
    }
    values = np.full((len(names), len(observations), len(observations[0].data.items)), np.nan)
    for place, table in tables.items():
        values[place] = item_values(table, headline_statistic(table.measure))
    units = next(iter(tables.values())).units
    fewest = np.full(len(observations), min(units.counts, default=values.shape[-1]))
    return tuple(rank_agreements(_rankings(names, values, units, fewest, options.seed, "models")))


def _ranked_types(observation: DiagnosisObservation, options: UnitOptions) -> RankedTypes | None:
    """Rankings of categories with scored pairs of at least two units by every measure; None for fewer than three."""
    import numpy as np
    from scipy.stats import rankdata

    from unmask.stats.agreement import MIN_RANKED, rank_agreements
    from unmask.stats.table import item_values

    names = tuple(observation.result)
    tables = [observed_table(observation, name, options) for name in names]
    units, categories = tables[0].units, tables[0].labels["category"]
    columns = np.stack([item_values(each, "asld" if each.measure.summary == "magnitude" else MEAN) for each in tables])
    by_type = {name: np.where(categories == name, columns, np.nan) for name in sorted({*categories.tolist()} - {""})}
    counts = {name: min(_scored_units(row, units) for row in values) for name, values in by_type.items()}
    kept = [name for name, count in counts.items() if count >= 2]
    if len(kept) < MIN_RANKED:
        return None
    values = np.stack([by_type[name] for name in kept], axis=1)
    rankings = _rankings(names, values, units, np.array([counts[name] for name in kept]), options.seed, "types")
    pairs = tuple(int((categories == name).sum()) for name in kept)
    ranks = rankdata(-rankings.scores, axis=-1, method="min")
    return RankedTypes(observation, names, tuple(kept), pairs, ranks, tuple(rank_agreements(rankings)))


def _scored_units(values: Floats, units: Units) -> int:
    """How many units have a value, the fewer of words and templates."""
    import numpy as np

    kept = np.isfinite(values)
    return min((int(np.unique(codes[kept]).size) for codes in units.codes), default=int(kept.sum()))


def _rankings(names: Sequence[str], values: Floats, units: Units, counts: Ints, seed: int, what: str) -> Rankings:
    """Rankings by the means of values (measures × what is ranked × items), the units resampled jointly."""
    import numpy as np

    from unmask.core.seeds import generator
    from unmask.stats.agreement import Rankings
    from unmask.stats.bootstrap import resampled_items

    kept = np.isfinite(values)
    total, n = np.where(kept, values, 0.0).sum(axis=-1), kept.sum(axis=-1)
    means = np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)
    resampled = resampled_items(values, units, rng=generator(seed, what))
    return Rankings(names, means, resampled, counts, units.label or f"{values.shape[-1]:,} pairs", units.tag)


AGREEMENT = Diagnosis(
    name="agreement",
    title="Agreement between measures",
    question="Do different measures rank the same models, and the same bias types, alike?",
    observe=score_rows,
    conclude=conclude,
    unfit_reason=template_reason,
    citation="kaneko-etal-2022-debiasing",
    order=11,
)
