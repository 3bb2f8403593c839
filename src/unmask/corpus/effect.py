"""`corpus bias`: the effect of training on a corpus on the bias of a model, beside that of a placebo.

Another seed alone may move a score by more than the noise of the items. So the intervals and tests of several trainings
cover both, and one training has an interval over items and no test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from unmask.core.estimate import Estimate
from unmask.core.files import file_name
from unmask.core.options import Opening, Options, TextLayout, fill_groups
from unmask.core.request import with_request
from unmask.core.types import ONE_TRAINING, Row
from unmask.corpus.spec import EffectSettings, Files
from unmask.corpus.training_effect import (
    ARMS,
    Placebo,
    TrainingEffect,
    TrainingPlan,
    folder_name,
    kept_names,
    measure_effect,
    placebo_from_sentences,
    shuffle_gender,
)
from unmask.data.documents import existing_files
from unmask.data.texts import load_corpus
from unmask.findings import Cell, Finding, Plot, Section, Table
from unmask.findings.envelope import Result, build
from unmask.findings.folder import result_folder
from unmask.findings.numbers import number
from unmask.findings.sentences import cannot_tell, difference, quantity
from unmask.findings.table import table
from unmask.measures import find
from unmask.mitigate.comparison import NO_PREFERENCE, category, count_tests, p_of
from unmask.mitigate.evaluation import (
    BALANCED_APPD,
    GENDERED,
    HELD_OUT,
    WORD_APPD,
    BiasEvaluation,
    compare_headlines,
    correct_tested,
    headline_pairs,
)
from unmask.stats.paired import Comparison, reference_value
from unmask.stats.trainings import mean_over_trainings
from unmask.training.utility import accuracy, perplexity

TITLE = "Effect of a corpus on a model"
ADVICE = 5  # trainings
SEVERAL = (
    "{0} trainings on each, which share a seed in pairs: intervals and p-values cover items and trainings (Student's "
    "t, degrees of freedom at most {1}; with few trainings only large effects show)"
)
ONE = (
    "One training on the corpus and one on the placebo: the intervals cover the choice of items only, and another seed "
    "alone may move the scores as much. So there is no p-value and no verdict: several trainings (seeds, such as "
    f"{ADVICE}) give both."
)


@with_request("corpus bias", "files")
def bias(
    files: Files, model: str | Path | None = None, *, placebo: Files = (), out: str | Path | None = None, **options: Any
) -> Result:
    """Measure how training on a corpus changes the bias of a model, compared with training on a placebo.

    With one training of each (`seeds=1`) there is an interval over items and no p-value: another seed alone may move
    the scores. `seeds=5` trains five times, and intervals and p-values cover items and trainings.

    Args:
        files: the corpus: text, JSON lines, CSV, TSV or Parquet, also compressed.
        model: hub name or folder of the model to train further, preferably mitigated; None: built-in.
        placebo: files of your own placebo text; default: the corpus with gender swapped at random.
        out: the result folder, where the checkpoints stay, an interrupted run resumes and more seeds can be added;
            None: nothing is kept.
        options: fields of `EffectSettings`, `TextLayout`, `Opening` and `Options` (`limit` counts
            documents), or these groups themselves as `settings`, `layout`, `opening` and `options`.
    """
    settings, layout, opening, run = fill_groups(
        options, settings=EffectSettings, layout=TextLayout, opening=Opening, options=Options
    )
    kept = kept_names(None if out is None else Path(out), settings)
    with (
        TemporaryDirectory() if out is None else nullcontext(str(out)) as work,
        result_folder(out, "corpus", also=kept) as folder,
    ):
        paths = existing_files(files)
        text = load_corpus(paths, layout, limit=run.limit)
        other = existing_files(placebo) if placebo else []
        given = load_corpus(other, layout).sentences if other else []

        def placebo_of(seed: int) -> Placebo:
            if other:
                return placebo_from_sentences(given, len(text.sentences), file_name(other[0]))
            return shuffle_gender(text.sentences, seed=seed)

        plan = TrainingPlan(model, opening, settings, run)
        effect = measure_effect(plan, text.sentences, placebo_of, text.held_out_sentences, Path(work))
        changes, ability = effect_changes(effect), ability_estimates(effect)
        lead = f"{effect.model['id']} trained further on {', '.join(map(file_name, paths[:5]))}."
        return folder.finish(
            build(
                "corpus",
                title=TITLE,
                lead=lead,
                models=[effect.model],
                data=text.files,
                options=asdict(settings) | asdict(layout) | {"limit": run.limit},
                estimates=[*changes.estimates(), *ability],
                findings=[Section("corpus", TITLE, lead, effect_finding(effect, changes, ability))],
                details={
                    "documents": len(text.documents),
                    "held_out": len(text.held_out),
                    "placebo": effect.placebo_about,
                    "trainings": effect.trainings,
                },
            )
        )


@dataclass(frozen=True, slots=True)
class EffectChanges:
    """The changes from the start and from the placebo to the corpus, of the same statistics."""

    shifts: tuple[Comparison, ...]
    against: tuple[Comparison, ...]
    spreads: tuple[float | None, ...]  # of corpus − placebo between trainings, standard deviations
    left_out: int  # items that only some of the models could score

    def estimates(self) -> Iterator[Estimate]:
        """The change of every statistic, against the placebo first."""
        for changes, name in ((self.against, "placebo"), (self.shifts, "start")):
            for row in changes:
                same = {field: getattr(row, field) for field in ("measure", "data", "group", "n", "p", "p_holm")}
                statistic = f"{row.statistic}-corpus-minus-{name}"
                yield Estimate.of(row.difference, statistic=statistic, null=0.0, **same)


def effect_changes(effect: TrainingEffect) -> EffectChanges:
    """Compare the corpus with the start and with the placebo; p-values are corrected by Holm over the rows of each."""
    arms, left_out = _same_items([effect.arm(name) for name in ("start", "placebo", "corpus")])
    start, placebo, corpus = arms
    if len(corpus) > 1:
        shifts, _ = _over_trainings(start, corpus)
        against, spreads = _over_trainings(placebo, corpus)
        return EffectChanges(shifts, against, spreads, left_out)
    shifts, against = (_of_one(before[0], corpus[0]) for before in (start, placebo))
    return EffectChanges(shifts, against, (None,) * len(against), left_out)


def _is_compared(group: str, statistic: str) -> bool:
    """Whether it is about a whole dataset, or ASLD of a category."""
    return statistic != WORD_APPD and (group == "all" or statistic == "asld")


def _of_one(a: BiasEvaluation, b: BiasEvaluation) -> tuple[Comparison, ...]:
    """The changes by one training: intervals over items, no p-values."""
    compared = compare_headlines(a, b, lambda row: _is_compared(row.group, row.statistic))
    return tuple(replace(row, p=None, p_holm=None, method=f"{row.method}; {ONE_TRAINING}") for row in compared)


def _over_trainings(
    a: Sequence[BiasEvaluation], b: Sequence[BiasEvaluation]
) -> tuple[tuple[Comparison, ...], tuple[float | None, ...]]:
    """The mean changes from a to b over trainings, seed by seed, and their standard deviations between trainings."""
    by_seed = [headline_pairs(first, second) for first, second in zip(a, b, strict=True)]
    changes, spreads = [], []
    for (measure, name, group, statistic), pair in by_seed[0].items():
        if not _is_compared(group, statistic):
            continue
        pairs = [of_seed[measure, name, group, statistic] for of_seed in by_seed]
        before, after = (np.stack(values) for values in zip(*(of_seed.values() for of_seed in pairs), strict=True))
        difference, p = mean_over_trainings(after - before, pair.units)
        changes.append(
            Comparison(
                measure=measure,
                data=name,
                group=group,
                statistic=statistic,
                a_value=float(before.mean()),
                b_value=float(after.mean()),
                change=difference.value,
                low=difference.low,
                high=difference.high,
                n=before.shape[1],
                flips=sum(of_seed.flips for of_seed in pairs),
                left_out=pair.left_out,
                method=difference.method,
                p=p,
                unit=difference.unit,
                null=reference_value(find(measure), statistic),
            )
        )
        spreads.append(float((after - before).mean(axis=1).std(ddof=1)))
    return correct_tested(changes), tuple(spreads)


def _same_items(arms: Sequence[Sequence[BiasEvaluation]]) -> tuple[list[list[BiasEvaluation]], int]:
    """The evaluations without the items that only some of the models could score, and how many these are."""
    whole = [evaluation for arm in arms for evaluation in arm]
    dropped: dict[tuple[str, str], frozenset[str]] = {}
    for key in whole[0].rows:
        unscored = [frozenset(row.item for row in each.rows[key] if not _is_scored(row)) for each in whole]
        dropped[key] = frozenset.union(*unscored) - frozenset.intersection(*unscored)
    kept = [[_without(evaluation, dropped) for evaluation in arm] for arm in arms]
    return kept, sum(map(len, dropped.values()))


def _is_scored(row: Row) -> bool:
    return bool(row.scores) and all(map(isfinite, row.scores.values()))


def _without(evaluation: BiasEvaluation, dropped: Mapping[tuple[str, str], frozenset[str]]) -> BiasEvaluation:
    rows = {key: [row for row in scored if row.item not in dropped[key]] for key, scored in evaluation.rows.items()}
    return replace(evaluation, rows=rows)


def ability_estimates(effect: TrainingEffect) -> list[Estimate]:
    """Accuracy, then perplexity, of every model on held-out text of the corpus."""
    trained = {folder_name(*key): evaluation for key, evaluation in effect.evaluations.items()}
    models, about = {"start": effect.start, **trained}, {"measure": "language-modelling", "data": HELD_OUT}
    return [
        Estimate.of(
            statistic(evaluation.ability, seed=effect.start.seed),
            **about,
            statistic=statistic.__name__,
            n=int(evaluation.ability.lost.size),
            model=name,
        )
        for statistic in (accuracy, perplexity)
        for name, evaluation in models.items()
    ]


def effect_finding(effect: TrainingEffect, changes: EffectChanges, ability: Sequence[Estimate]) -> Finding:
    """ASLD and other measures at the start, after the corpus and the placebo, and their differences."""
    seeds = effect.seeds
    other = "" if len(seeds) == 1 else f" (with seed {seeds[0]}; those of the other seeds are sampled alike)"
    notes = [
        f"placebo: {effect.placebo_about}{other}; trained for as many steps as on the corpus",
        "corpus − placebo is the shift caused by gender in the corpus; "
        "corpus − start also includes the effect of further training as such",
        ONE if len(seeds) == 1 else SEVERAL.format(len(seeds), len(seeds) - 1),
    ]
    if changes.left_out:
        notes.append(f"{changes.left_out:,} items that only some of the models could score are left out")
    of_models = table(
        "Language ability on held-out text of the corpus",
        ability,
        rows={"model": "model", "texts": "n"},
        across="statistic",
        note="Accuracy: percent of masked tokens predicted correctly; pseudo-perplexity for masked models. Documents "
        "held out by hash.",
    )
    return Finding(
        tuple(_answers(changes, len(seeds))), (_table(changes, len(seeds)), of_models), _plots(changes), tuple(notes)
    )


def _answers(changes: EffectChanges, trainings: int) -> Iterator[str]:
    """The shift of the headline statistics, and whether it is more than the placebo's."""
    over = "one training each" if trainings == 1 else f"over {trainings} trainings each"
    for shift, other in zip(changes.shifts, changes.against, strict=True):
        if shift.group == "all" and shift.statistic in ("asld", BALANCED_APPD):
            what = f"{shift.statistic} on {shift.data}"
            values = [number(value, 3) for value in (shift.a_value, shift.b_value, other.a_value)]
            groups = "after the corpus", "after the placebo"
            gap = difference(shift.statistic, *groups, other.difference, p=p_of(other), of=shift.statistic)
            if trainings == 1:
                amount = quantity(other.difference, digits=3)
                gap = cannot_tell(f"corpus − placebo {amount}", "it may be the noise of training")
            yield (
                f"{what}: {values[0]} at the start, {values[1]} after the corpus, {values[2]} after the placebo; "
                f"{gap}, {over} (n = {shift.n})."
            )


def _table(changes: EffectChanges, trainings: int) -> Table:
    spread = ("sd between trainings",) if trainings > 1 else ()
    rows: list[tuple[Cell, ...]] = []
    for shift, other, sd in zip(changes.shifts, changes.against, changes.spreads, strict=True):
        about = f"{shift.measure} {shift.statistic}", shift.data, category(shift), shift.n
        values = shift.a_value, shift.b_value, other.a_value, shift.difference, other.difference
        rows.append((*about, *values, *((sd,) if spread else ()), other.p_holm))
    if trainings == 1:
        how = "Intervals: 95%, over the same items, paired; no p with one training. "
    else:
        how = (
            "Means over trainings. Intervals: 95%, over the same items and over trainings, paired by both. sd between "
            "trainings: of corpus − placebo. p: corpus against placebo, corrected by Holm over the "
            f"{count_tests(changes.against)} tests of this table. "
        )
    return Table(
        "Measures before and after",
        ("measure", "data", "group", "n", "start", *ARMS, "corpus − start", "corpus − placebo", *spread, "p"),
        tuple(rows),
        f"{how}{NO_PREFERENCE[:1].upper()}{NO_PREFERENCE[1:]}. {' and '.join(GENDERED)}: there a preference is right.",
        digits=3,
    )


def _plots(changes: EffectChanges) -> tuple[Plot, ...]:
    from unmask.findings.charts import intervals

    rows = [
        {"label": f"asld {row.data}", "value": row.change, "low": row.low, "high": row.high, "series": name}
        for name, compared in (("corpus − start", changes.shifts), ("corpus − placebo", changes.against))
        for row in compared
        if row.group == "all" and row.statistic == "asld"
    ]
    chart = intervals(rows, axis="change of ASLD, nats", null=0.0) if rows else None
    alt = "Change of ASLD: corpus − start, and corpus − placebo."
    return () if chart is None else (Plot("corpus-shift", "Effect of the corpus", alt, chart),)
