"""The effect of a corpus on a model as estimates, sentences, tables and a plot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from unmask.core.estimate import Estimate, Value
from unmask.corpus.effect_changes import EffectChanges, effect_changes
from unmask.corpus.training_effect import ARMS, TrainingEffect, folder_name
from unmask.findings import Cell, Finding, Plot, Table
from unmask.findings.numbers import number, signed_number
from unmask.mitigate.comparison import NO_PREFERENCE, has_moved
from unmask.mitigate.evaluation import BALANCED_APPD, MEN, WOMEN
from unmask.stats.paired import Comparison
from unmask.training.utility import Ability, accuracy, perplexity

ADVICE = 5  # trainings
ANSWERED = {"asld": "ASLD", BALANCED_APPD: "APPD towards the usual gender of professions, both genders' counted alike,"}
ONE_TRAINING = (
    "One training on the corpus and one on the placebo: the intervals cover the choice of items only, and another seed "
    "alone may move the scores as much. So there is no p-value and no verdict: several trainings (--seeds "
    f"{ADVICE}) give both."
)


@dataclass(frozen=True, slots=True)
class EffectSummary:
    """The changes by a corpus, and the ability of every model."""

    effect: TrainingEffect
    changes: EffectChanges
    abilities: dict[str, Ability]  # by the name of the model: "start", "corpus-0", …
    accuracies: dict[str, Value]
    perplexities: dict[str, Value]


def summarize_effect(effect: TrainingEffect, *, seed: int = 0) -> EffectSummary:
    """Compare the models."""
    trained = {folder_name(*key): evaluation for key, evaluation in effect.evaluations.items()}
    abilities = {name: evaluation.ability for name, evaluation in {"start": effect.start, **trained}.items()}
    return EffectSummary(
        effect,
        effect_changes(effect),
        abilities,
        {name: accuracy(ability, seed=seed) for name, ability in abilities.items()},
        {name: perplexity(ability, seed=seed) for name, ability in abilities.items()},
    )


def effect_estimates(summary: EffectSummary) -> Iterator[Estimate]:
    """The change of every statistic, against the placebo first; then the ability of the models."""
    for compared, name in ((summary.changes.against, "placebo"), (summary.changes.shifts, "start")):
        for change in compared:
            same = {field: getattr(change, field) for field in ("measure", "data", "group", "n", "p", "p_holm")}
            statistic = f"{change.statistic}-corpus-minus-{name}"
            yield Estimate.of(change.difference, statistic=statistic, null=0.0, **same)
    for statistic, values in (("accuracy", summary.accuracies), ("perplexity", summary.perplexities)):
        for name, value in values.items():
            about = {"measure": "language-modelling", "data": "held-out text", "statistic": statistic}
            yield Estimate.of(value, **about, n=int(summary.abilities[name].lost.size), model=name)


def effect_finding(summary: EffectSummary) -> Finding:
    """ASLD and other measures at the start, after the corpus and the placebo, and their differences."""
    ability = Table(
        title="Language ability on held-out text of the corpus",
        columns=("model", "texts", "accuracy, %", "perplexity"),
        rows=tuple(
            (name, int(each.lost.size), summary.accuracies[name], summary.perplexities[name])
            for name, each in summary.abilities.items()
        ),
        note="Masked tokens predicted correctly; pseudo-perplexity for masked models. Documents held out by hash.",
    )
    changes, seeds = summary.changes, summary.effect.seeds
    other = "" if len(seeds) == 1 else f" (with seed {seeds[0]}; those of the other seeds are sampled alike)"
    left_out = f"{changes.left_out:,} items that only some of the models could score are left out"
    return Finding(
        tuple(_answers(changes, len(seeds))),
        (_bias(changes, len(seeds)), ability),
        tuple(_plots(changes)),
        (
            f"placebo: {summary.effect.placebo_about}{other}; trained for as many steps as on the corpus",
            "corpus − placebo is the shift caused by gender in the corpus; "
            "corpus − start also includes the effect of further training as such",
            ONE_TRAINING if len(seeds) == 1 else _several(len(seeds)),
            *([left_out] if changes.left_out else []),
        ),
    )


def _several(trainings: int) -> str:
    few = f"; {ADVICE} or more show smaller effects" if trainings < ADVICE else ""
    return (
        f"{trainings} trainings on each, which share a seed in pairs: intervals and p-values cover items and trainings "
        f"(Student's t, degrees of freedom at most {trainings - 1}{few})"
    )


def _answers(changes: EffectChanges, trainings: int) -> Iterator[str]:
    for shift, other in zip(changes.shifts, changes.against, strict=True):
        if shift.group != "all" or shift.statistic not in ANSWERED:
            continue
        change, excess = (
            f"{signed_number(value.value, 3)}, "
            + (
                f"{signed_number(value.low, 3)} to {signed_number(value.high, 3)}"
                if value.has_interval
                else value.method
            )
            for value in (shift.difference, other.difference)
        )
        values = [number(value, 3) for value in (shift.a_value, shift.b_value, other.a_value)]
        yield (
            f"{ANSWERED[shift.statistic]} on {shift.data}: {values[0]} at the start, {values[1]} after the corpus "
            f"({change}), {values[2]} after the placebo; corpus − placebo "
            f"{excess}: {_verdict(other, trainings)} (n = {shift.n})."
        )


def _verdict(against: Comparison, trainings: int) -> str:
    """Whether an effect is beyond chance, by the rule of verdicts; of one training it is not known."""
    if trainings == 1:
        return "one training each, so this may be the noise of training"
    if has_moved(against):
        return f"beyond what the placebo did, over {trainings} trainings each"
    return f"not distinguishable from the placebo, over {trainings} trainings each"


def _bias(changes: EffectChanges, trainings: int) -> Table:
    spread = ("sd between trainings",) if trainings > 1 else ()
    rows: list[tuple[Cell, ...]] = []
    for shift, other, sd in zip(changes.shifts, changes.against, changes.spreads, strict=True):
        about = f"{shift.measure} {shift.statistic}", shift.data, shift.group.removeprefix("category="), shift.n
        values = shift.a_value, shift.b_value, other.a_value, shift.difference, other.difference
        rows.append((*about, *values, *((sd,) if spread else ()), other.p_holm))
    tests = sum(each.p is not None for each in changes.against)
    if trainings == 1:
        how = "Intervals: 95%, over the same items, paired; no p with one training. "
    else:
        how = (
            "Means over trainings. Intervals: 95%, over the same items and over trainings, paired by both. sd between "
            f"trainings: of corpus − placebo. p: corpus against placebo, corrected by Holm over the {tests} tests of "
            "this table. "
        )
    return Table(
        "Measures before and after",
        (*("measure", "data", "group", "n", *("start", *ARMS)), *("corpus − start", "corpus − placebo", *spread, "p")),
        tuple(rows),
        f"{how}{NO_PREFERENCE[:1].upper()}{NO_PREFERENCE[1:]}. {WOMEN} and {MEN}: there a preference is correct.",
        digits=3,
    )


def _plots(changes: EffectChanges) -> Iterator[Plot]:
    from unmask.findings.charts import intervals

    rows = [
        {"label": f"asld {each.data}", "value": each.change, "low": each.low, "high": each.high, "series": name}
        for name, compared in (("corpus − start", changes.shifts), ("corpus − placebo", changes.against))
        for each in compared
        if each.group == "all" and each.statistic == "asld"
    ]
    if rows:
        chart = intervals(rows, axis="change of ASLD, nats", null=0.0)
        alt = "Change of ASLD: corpus − start, and corpus − placebo."
        yield Plot("corpus-shift", "Effect of the corpus", alt, chart)
