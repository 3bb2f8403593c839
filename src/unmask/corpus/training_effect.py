"""The effect of a corpus on a model: continue training on it and on a placebo of equal size (Barza 2023).

By default the placebo is the corpus with the gender of each sentence swapped with probability 1/2.

The evaluations become paired comparisons, estimates, sentences, tables and plots.

start ──┬─► trained on the corpus  ──► evaluated ──┐
        └─► trained on the placebo ──► evaluated ──┴─► differences, paired by item
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from unmask.audit.plan import engine_for
from unmask.core.boundary import read_json, validate
from unmask.core.errors import DataError, ResultError
from unmask.core.estimate import Estimate, Value
from unmask.core.files import write_json, writing
from unmask.core.options import Opening, Options
from unmask.core.progress import with_label
from unmask.core.seeds import generator
from unmask.corpus.spec import EffectSettings
from unmask.findings import Finding, Plot, Table
from unmask.findings.numbers import signed_number
from unmask.mitigate.evaluation import MEN, WOMEN, BiasEvaluation, compare_headlines, evaluate_model
from unmask.mitigate.mlm import rows_digest
from unmask.mitigate.swap import Swapper, default_lexicon
from unmask.models import open_lm
from unmask.stats import Comparison
from unmask.training import train
from unmask.training.checkpoints import save_model
from unmask.training.collators import collator_for, encode_rows, padding_multiple
from unmask.training.utility import accuracy, perplexity

RECORD = "training.json"
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Placebo:
    """As many sentences as the corpus has, and a description of them."""

    sentences: tuple[str, ...]
    about: str


def shuffle_gender(sentences: Sequence[str], *, seed: int = 0) -> Placebo:
    """Swap the gender of every sentence with probability 1/2; other co-occurrences stay as they are.

    All gendered words of a sentence are swapped together: grammar and coreference stay correct, and the
    corpus says the same about women and men.
    """
    swapped = Swapper(default_lexicon()).swap_all(list(sentences))
    gendered = [other != sentence for sentence, other in zip(sentences, swapped, strict=True)]
    if not any(gendered):
        raise DataError("no sentence of the corpus has a gendered word: there is nothing to shuffle")
    flips = generator(seed, "placebo").integers(2, size=len(swapped))
    chosen = [other if flip else sentence for sentence, other, flip in zip(sentences, swapped, flips, strict=True)]
    changed = sum(sentence != other for sentence, other in zip(sentences, chosen, strict=True))
    about = (
        f"the corpus itself with the gender of each sentence swapped at random: of {sum(gendered):,} "
        f"sentences with gendered words {changed:,} were swapped"
    )
    return Placebo(tuple(chosen), about)


def placebo_from_sentences(sentences: Sequence[str], size: int, name: str) -> Placebo:
    """The first `size` sentences of a text given by the user."""
    if len(sentences) < size:
        raise DataError(
            f"{name} has {len(sentences):,} sentences, the corpus {size:,}: give as many, or limit the corpus"
        )
    return Placebo(tuple(sentences[:size]), f"the first {size:,} sentences of {name}")


@dataclass(frozen=True, slots=True)
class TrainingPlan:
    """How to open and train the model."""

    model: str | Path | None
    opening: Opening
    settings: EffectSettings
    options: Options


@dataclass(frozen=True, slots=True)
class TrainingEffect:
    """Evaluations of the model at the start, after the corpus, and after the placebo."""

    model: dict[str, Any]
    evaluations: dict[str, BiasEvaluation]  # "start", "corpus", "placebo"
    trainings: dict[str, dict[str, Any]]  # "corpus", "placebo"
    placebo_about: str


def measure_effect(
    plan: TrainingPlan, sentences: Sequence[str], placebo: Placebo, held_out: Sequence[str], out: Path
) -> TrainingEffect:
    """Train twice from one start and evaluate all three; checkpoints in `out` are reused."""
    texts = {"corpus": sentences, "placebo": placebo.sentences}
    lm = start = open_lm(plan.model, plan.opening)
    evaluations, trainings = {}, {}
    for name in ("start", *texts):
        if name in texts:
            trainings[name] = _train_checkpoint(plan, texts[name], out / name)
            lm = open_lm(out / name, plan.opening)
        with engine_for(lm, plan.options) as engine:
            progress, seed = plan.options.progress, plan.settings.seed
            evaluations[name] = evaluate_model(engine, held_out, seed=seed, progress=progress)
    return TrainingEffect(asdict(start.facts), evaluations, trainings, placebo.about)


def _train_checkpoint(plan: TrainingPlan, texts: Sequence[str], folder: Path) -> dict[str, Any]:
    """Train a checkpoint on the texts, unless the same one exists already."""
    lm = open_lm(plan.model, plan.opening)
    causal = lm.kind == "causal"
    rows = encode_rows(texts, lm.tokenizer, length=min(plan.settings.length, lm.facts.max_length), causal=causal)
    settings = plan.settings.for_device(lm.network.device)
    request = {"start": lm.facts.fingerprint, "rows": rows_digest(rows), "settings": asdict(settings)}
    record = folder / RECORD
    saved = _read_record(record)
    if saved is not None and saved["asked"] == json.loads(json.dumps(request)):
        return dict(saved)
    collate = collator_for(lm.tokenizer, causal=causal, multiple=padding_multiple(lm.network.model))
    outcome = train(
        lm.network.model,
        rows,
        collate,
        settings,
        folder.with_name(f"{folder.name}-unfinished"),
        progress=with_label(plan.options.progress, f"training on the {folder.name}"),
        key=rows_digest(rows),
        count=collate.count,
    )
    with writing(record):
        record.unlink(missing_ok=True)
    save_model(lm.network.model, lm.tokenizer, folder)
    content = {"asked": request, "texts": len(texts), "steps": outcome.steps, "losses": outcome.losses}
    return dict(validate(TrainingRecord, write_json(record, content), str(record), ResultError))


class TrainingRecord(TypedDict):
    """What is kept of the training of a checkpoint."""

    asked: dict[str, Any]
    texts: int
    steps: int
    losses: list[tuple[int, float]]


def _read_record(path: Path) -> TrainingRecord | None:
    """The record of a trained checkpoint; None if there is none, or if it is damaged: then it is trained again."""
    try:
        return validate(TrainingRecord, read_json(path, ResultError), str(path), ResultError)
    except ResultError:
        return None


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

    def is_compared(each: Comparison) -> bool:  # about a whole dataset, or ASLD of a category
        return each.group == "all" or each.statistic == "asld"

    shifts, against = (
        compare_headlines(evaluations[name], evaluations["corpus"], is_compared, seed=seed)
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
            same = {field: getattr(change, field) for field in ("measure", "data", "group", "n", "p", "p_holm")}
            statistic = f"{change.statistic}-corpus-minus-{name}"
            yield Estimate.of(change.difference, statistic=statistic, null=0.0, **same)
    for statistic, values in (("accuracy", summary.accuracies), ("perplexity", summary.perplexities)):
        for name, value in values.items():
            texts = int(summary.effect.evaluations[name].ability.lost.size)
            about = {"measure": "language-modelling", "data": "held-out text", "statistic": statistic}
            yield Estimate.of(value, **about, n=texts, model=name)


def effect_finding(summary: EffectSummary) -> Finding:
    """ASLD and other measures at the start, after the corpus and the placebo, and their differences."""
    shifts, against = summary.shifts, summary.against
    ability = Table(
        title="Language ability on held-out text of the corpus",
        columns=("model", "texts", "accuracy, %", "perplexity"),
        rows=tuple(
            (name, int(each.ability.lost.size), summary.accuracies[name], summary.perplexities[name])
            for name, each in summary.effect.evaluations.items()
        ),
        note="Masked tokens predicted correctly; pseudo-perplexity for masked models. Documents held out by hash.",
    )
    return Finding(
        tuple(_answers(shifts, against)),
        (_bias(shifts, against), ability),
        tuple(_plots(shifts, against)),
        (
            f"placebo: {summary.effect.placebo_about}; trained for as many steps as on the corpus",
            "corpus − placebo is the shift caused by gender in the corpus; "
            "corpus − start also includes the effect of further training as such",
            "one training run each: another seed gives other weights, so run several",
        ),
    )


def _answers(shifts: Sequence[Comparison], against: Sequence[Comparison]) -> Iterator[str]:
    for shift, other in zip(shifts, against, strict=True):
        if shift.group != "all" or shift.statistic != "asld":
            continue
        significant = other.p_holm is not None and other.p_holm < ALPHA
        change, excess = (
            f"{signed_number(value.value, 3)}, "
            + (
                f"{signed_number(value.low, 3)} to {signed_number(value.high, 3)}"
                if value.has_interval
                else value.method
            )
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


def _plots(shifts: Sequence[Comparison], against: Sequence[Comparison]) -> Iterator[Plot]:
    from unmask.findings.charts import intervals

    rows = [
        {"label": f"asld {each.data}", "value": each.change, "low": each.low, "high": each.high, "series": name}
        for name, compared in (("corpus − start", shifts), ("corpus − placebo", against))
        for each in compared
        if each.group == "all" and each.statistic == "asld"
    ]
    if rows:
        chart = intervals(rows, axis="change of ASLD, nats", null=0.0)
        alt = "Change of ASLD: corpus − start, and corpus − placebo."
        yield Plot("corpus-shift", "Effect of the corpus", alt, chart)
