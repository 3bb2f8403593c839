"""What a corpus did to a model, in words, tables and plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unmask.corpus.training_effect import TrainingEffect
from unmask.findings import Finding, Plot, Table, Value
from unmask.measures import find
from unmask.mitigate.evaluation import MEN, WOMEN, BiasEvaluation
from unmask.stats import Comparison, apply_holm, comparisons
from unmask.training.utility import accuracy, perplexity

HEADLINES = ("asld", "appd", "bias-score")
SURE = 0.05


def effect_finding(effect: TrainingEffect, *, seed: int = 0) -> Finding:
    """ASLD and the other measures: start, after the corpus, after the placebo, and the differences."""
    shifts = _compared(effect.start, effect.corpus, seed)
    against = _compared(effect.placebo, effect.corpus, seed)
    return Finding(
        tuple(_answers(shifts, against)),
        (_bias(shifts, against), _ability(effect, seed)),
        tuple(_plots(shifts, against)),
        (
            f"placebo: {effect.placebo_about}; trained on for as many steps as on the corpus",
            "corpus − placebo is the shift that the genders in the corpus made; "
            "start − corpus holds mere further training, too",
            "one training each: another seed gives other weights, so run several before saying much",
        ),
    )


def _compared(a: BiasEvaluation, b: BiasEvaluation, seed: int) -> list[Comparison]:
    """Paired comparisons of the headline statistics, and ASLD by category."""
    found = [
        one
        for (measure, name), rows in a.rows.items()
        for one in comparisons(find(measure), rows, b.rows[measure, name], data=name, rng_seed=seed)
        if one.statistic in HEADLINES and (one.group == "all" or one.statistic == "asld")
    ]
    return list(apply_holm(found))


def _answers(shifts: Sequence[Comparison], against: Sequence[Comparison]) -> Iterator[str]:
    for shift, other in zip(shifts, against, strict=True):
        if shift.group != "all" or shift.statistic != "asld":
            continue
        sure = other.p_holm is not None and other.p_holm < SURE
        said = "beyond what the placebo did" if sure else "not told apart from the placebo's"
        yield (
            f"ASLD on {shift.data}: {shift.a_value:.3f} at the start, {shift.b_value:.3f} after the corpus "
            f"({_shown(_change(shift))}), {other.a_value:.3f} after the placebo; corpus − placebo "
            f"{_shown(_change(other))}: {said} (n = {shift.n})."
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
                f"{one.measure} {one.statistic}", one.data, one.group.removeprefix("category="), one.n,
                one.a_value, one.b_value, other.a_value, _change(one), _change(other), other.p_holm,
            )
            for one, other in zip(shifts, against, strict=True)
        ),
        note="Intervals: 95%, over the same items, paired. p: corpus against placebo, corrected by Holm over "
        "the rows. No preference: asld and appd 0, bias-score 50. "
        f"{WOMEN} and {MEN}: there a lean is right.",
        digits=3,
    )  # fmt: skip


def _ability(effect: TrainingEffect, seed: int) -> Table:
    parts = {"start": effect.start, "corpus": effect.corpus, "placebo": effect.placebo}
    return Table(
        title="Language ability on held-out text of the corpus",
        columns=("model", "texts", "accuracy, %", "perplexity"),
        rows=tuple(
            (
                name,
                int(one.ability.lost.size),
                accuracy(one.ability, seed=seed),
                perplexity(one.ability, seed=seed),
            )
            for name, one in parts.items()
        ),
        note="Hidden tokens guessed right; pseudo-perplexity for masked models. Documents held out by hash.",
    )


def _plots(shifts: Sequence[Comparison], against: Sequence[Comparison]) -> Iterator[Plot]:
    from unmask.findings.charts import intervals

    rows = [
        {
            "label": f"{one.statistic} {one.data}",
            "value": one.change,
            "low": one.low,
            "high": one.high,
            "series": name,
        }
        for name, many in (("corpus − start", shifts), ("corpus − placebo", against))
        for one in many
        if one.group == "all" and one.statistic == "asld"
    ]
    if rows:
        chart = intervals(rows, axis="change of ASLD, nats", null=0.0)
        yield Plot(
            "corpus-shift", "What the corpus did", "ASLD after the corpus less before, less placebo.", chart
        )


def _change(one: Comparison) -> Value:
    return Value(one.change, one.low, one.high, one.method)


def _shown(one: Value) -> str:
    ends = f", {one.low:+.3f} to {one.high:+.3f}" if one.low == one.low else f", {one.method}"
    return f"{one.value:+.3f}{ends}"
