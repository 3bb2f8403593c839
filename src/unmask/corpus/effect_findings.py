"""The effect of a corpus on a model: comparisons as estimates, sentences, tables and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from unmask.core.estimate import Estimate, Value
from unmask.corpus.training_effect import TrainingEffect
from unmask.findings import Finding, Plot, Table
from unmask.mitigate.evaluation import MEN, WOMEN, compare_headlines
from unmask.stats import Comparison
from unmask.training.utility import accuracy, perplexity

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class EffectSummary:
    """The paired comparisons of a training effect, and the ability of its three models."""

    effect: TrainingEffect
    shifts: tuple[Comparison, ...]  # corpus − start
    against: tuple[Comparison, ...]  # corpus − placebo, of the same statistics
    accuracies: dict[str, Value]
    perplexities: dict[str, Value]


def summarize_effect(effect: TrainingEffect, *, seed: int = 0) -> EffectSummary:
    """Compare the three evaluations; p-values are corrected by Holm over the rows of one comparison."""
    evaluations = effect.evaluations
    abilities = {name: evaluation.ability for name, evaluation in evaluations.items()}
    shifts, against = (
        compare_headlines(evaluations[name], evaluations["corpus"], _is_compared, seed=seed)
        for name in ("start", "placebo")
    )
    return EffectSummary(
        effect,
        shifts,
        against,
        {name: accuracy(ability, seed=seed) for name, ability in abilities.items()},
        {name: perplexity(ability, seed=seed) for name, ability in abilities.items()},
    )


def effect_estimates(summary: EffectSummary) -> Iterator[Estimate]:
    """The change of every statistic, against the placebo first; then the ability of the three models."""
    for compared, name in ((summary.against, "placebo"), (summary.shifts, "start")):
        for change in compared:
            yield Estimate.of(
                change.difference,
                measure=change.measure,
                data=change.data,
                group=change.group,
                statistic=f"{change.statistic}-corpus-minus-{name}",
                null=0.0,
                n=change.n,
                p=change.p,
                p_holm=change.p_holm,
            )
    for statistic, values in (("accuracy", summary.accuracies), ("perplexity", summary.perplexities)):
        for name, value in values.items():
            texts = int(summary.effect.evaluations[name].ability.lost.size)
            about = {"measure": "language-modelling", "data": "held-out text", "statistic": statistic}
            yield Estimate.of(value, **about, n=texts, model=name)


def effect_finding(summary: EffectSummary) -> Finding:
    """ASLD and other measures at the start, after the corpus and the placebo, and their differences."""
    shifts, against = summary.shifts, summary.against
    return Finding(
        tuple(_answers(shifts, against)),
        (_bias(shifts, against), _ability(summary)),
        tuple(_plots(shifts, against)),
        (
            f"placebo: {summary.effect.placebo_about}; trained for as many steps as on the corpus",
            "corpus − placebo is the shift caused by gender in the corpus; "
            "corpus − start also includes the effect of further training as such",
            "one training run each: another seed gives other weights, so run several",
        ),
    )


def _is_compared(each: Comparison) -> bool:
    """Whether it is about a whole dataset, or ASLD of a category."""
    return each.group == "all" or each.statistic == "asld"


def _answers(shifts: Sequence[Comparison], against: Sequence[Comparison]) -> Iterator[str]:
    for shift, other in zip(shifts, against, strict=True):
        if shift.group != "all" or shift.statistic != "asld":
            continue
        significant = other.p_holm is not None and other.p_holm < ALPHA
        change, excess = (
            f"{value.value:+.3f}, "
            + (f"{value.low:+.3f} to {value.high:+.3f}" if value.has_interval else value.method)
            for value in (shift.difference, other.difference)
        )
        verdict = "beyond what the placebo did" if significant else "not distinguishable from the placebo"
        yield (
            f"ASLD on {shift.data}: {shift.a_value:.3f} at the start, {shift.b_value:.3f} after the corpus "
            f"({change}), {other.a_value:.3f} after the placebo; corpus − placebo "
            f"{excess}: {verdict} (n = {shift.n})."
        )


def _bias(shifts: Sequence[Comparison], against: Sequence[Comparison]) -> Table:
    return Table(
        title="Measures before and after",
        columns=(
            "measure", "data", "group", "n", "start", "corpus", "placebo",
            "corpus − start", "corpus − placebo", "p",
        ),
        rows=tuple(
            (
                f"{shift.measure} {shift.statistic}", shift.data, shift.group.removeprefix("category="),
                shift.n,
                shift.a_value, shift.b_value, other.a_value, shift.difference, other.difference, other.p_holm,
            )
            for shift, other in zip(shifts, against, strict=True)
        ),
        note="Intervals: 95%, over the same items, paired. p: corpus against placebo, corrected by Holm over "
        "the rows. No preference: asld and appd 0, bias-score 50. "
        f"{WOMEN} and {MEN}: there a preference is correct.",
        digits=3,
    )  # fmt: skip


def _ability(summary: EffectSummary) -> Table:
    return Table(
        title="Language ability on held-out text of the corpus",
        columns=("model", "texts", "accuracy, %", "perplexity"),
        rows=tuple(
            (name, int(each.ability.lost.size), summary.accuracies[name], summary.perplexities[name])
            for name, each in summary.effect.evaluations.items()
        ),
        note="Masked tokens predicted correctly; pseudo-perplexity for masked models. "
        "Documents held out by hash.",
    )


def _plots(shifts: Sequence[Comparison], against: Sequence[Comparison]) -> Iterator[Plot]:
    from unmask.findings.charts import intervals

    rows = [
        {
            "label": f"asld {each.data}",
            "value": each.change,
            "low": each.low,
            "high": each.high,
            "series": name,
        }
        for name, compared in (("corpus − start", shifts), ("corpus − placebo", against))
        for each in compared
        if each.group == "all" and each.statistic == "asld"
    ]
    if rows:
        chart = intervals(rows, axis="change of ASLD, nats", null=0.0)
        alt = "Change of ASLD: corpus − start, and corpus − placebo."
        yield Plot("corpus-shift", "Effect of the corpus", alt, chart)
