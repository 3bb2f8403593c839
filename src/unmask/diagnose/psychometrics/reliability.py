"""`reliability`: would other items, or other wordings, rank the models alike? (generalisability, Brennan 2001)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate, Value
from unmask.core.options import option
from unmask.core.statistic import LEVEL
from unmask.diagnose.scores import score_rows, template_reason
from unmask.diagnose.spec import Diagnosis, Observations, ScoreOptions
from unmask.findings import Cell, Conclusion, Finding, Plot, Table
from unmask.models.builtin import SIBLINGS

if TYPE_CHECKING:
    from unmask.diagnose.psychometrics.matrices import MeasuredScores
    from unmask.stats.generalizability import GStudy
    from unmask.stats.reliability import Discrimination, ShortForms

MIN_CATEGORIES = 3
Z = 1.959964
ITEMS, WORDINGS = (60, 200, 1000), (1, 2, 4, 10)  # asked in the table
CURVE = (10, 20, 40, 60, 100, 200, 400, 600, 1000, 2000, 4000)  # items on the curve
LEVELS = (0.8, 0.9)
SHOWN = 20  # items listed that discriminate the wrong way
COMPONENTS = (
    "The variance of single scores that is due to models, items, wordings and their interactions. ANOVA: mean "
    "squares equated with their expectations; can be negative. REML: the mixed model, the same unless one would be "
    "negative. Share: of their sum; relative: of what differs between models. Intervals: generalised, from the "
    "distribution of mean squares of normal effects; they take the models for an independent sample, which sizes "
    "of one family are not."
)
ASKED = (
    "Of the ranking: the share of the variance of models' scores that is the models' own (generalisability "
    "coefficient). Of the scores: the same, counting also what raises or lowers the scores of all models (index "
    "of dependability). Error: standard error of a model's score, relative to the other models and in itself. "
    "Items and wordings are taken for a sample of those that could be asked."
)
CATEGORIES = " Last row: the means of categories in the place of items, as if other categories could have been asked."
NEEDED = (
    "The number of items with which the ranking has this reliability. A dash: no number is enough, because the "
    "models differ in how they take a wording; only more wordings help."
)
MODELS = (
    "Mean over all items and wordings; interval: 1.96 standard errors of the score relative to the other models, "
    "over items and wordings that could have been asked."
)
WRONG_WAY = (
    "r: correlation of the item with the mean of the others, over models. p: one-sided, of no better than chance; "
    "corrected: the false discovery rate if all items up to this one are called wrong (Benjamini–Hochberg). All "
    "items below 0.05 are in `details` of result.json."
)
SHORT = (
    "Kendall's τ between the ranking by so many items and by all, on one half of the models; the items are those "
    "that discriminate best among the other half, or as many at random. Mean and middle 95% of the splits. The "
    "short form that keeps 0.9 is in `details` of result.json."
)


@dataclass(frozen=True)
class MatrixOptions(ScoreOptions):
    """Options of diagnoses of the scores of several models."""

    centre: bool = option(
        True, "Scores with two directions: keep a model's general preference for one of them.", flag="--no-centre"
    )


@dataclass(frozen=True, slots=True)
class ReliabilityResult:
    """What is known of one matrix of scores."""

    scores: MeasuredScores
    study: GStudy
    by_category: GStudy | None  # the same with the means of categories in the place of items
    items: Discrimination | None
    short: ShortForms | None

    @property
    def where(self) -> str:
        """Data and measure in a sentence or a title."""
        return self.scores.where

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of items and of wordings."""
        return len(self.scores.matrix.items), len(self.scores.matrix.wordings)

    def wordings(self, *counts: int) -> list[int]:
        """Numbers of wordings to tell the reliability of: these and those that were asked; one if there is one."""
        return sorted({*counts, self.sizes[1]}) if self.sizes[1] > 1 else [1]


def conclude(observations: Observations, options: MatrixOptions) -> Conclusion:
    """Variance components, reliability with more or fewer items and wordings, items, short forms."""
    every = _results(observations, options)
    return Conclusion(
        Finding(
            tuple(line for each in every for line in _answers(each)),
            tuple(table for each in every for table in _tables(each)),
            tuple(_curves(each, f"-{number}" if len(every) > 1 else "") for number, each in enumerate(every, start=1)),
            tuple(note for each in every for note in (*each.scores.notes, *_notes(each))),
        ),
        tuple(estimate for each in every for estimate in _estimates(each)),
        {"items": {each.where: _item_lists(each) for each in every}},
    )


def _results(observations: Observations, options: MatrixOptions) -> list[ReliabilityResult]:
    """The result of every matrix of enough models."""
    from unmask.diagnose.psychometrics.matrices import matrices
    from unmask.stats.generalizability import MIN_MODELS

    every = matrices(observations, centre=options.centre)
    enough = [scores for scores in every if len(scores.matrix.models) >= MIN_MODELS and len(scores.matrix.items) > 1]
    if not enough:
        most = max((len(scores.matrix.models) for scores in every), default=0)
        raise StatsError(
            f"{most} {'model' if most == 1 else 'models'} with scores of the same items: expected at least "
            f"{MIN_MODELS}; name more models or result folders of audits, or a table of scores with data (--data)"
        )
    return [_result(scores, options.seed) for scores in enough]


def _result(scores: MeasuredScores, seed: int) -> ReliabilityResult:
    import numpy as np

    from unmask.core.seeds import generator
    from unmask.stats.generalizability import g_study
    from unmask.stats.reliability import MIN_MODELS, discrimination, short_forms

    matrix = scores.matrix
    means = matrix.scores.mean(axis=2)
    differ = len(matrix.models) >= MIN_MODELS and bool(np.ptp(means, axis=0).any())
    by_category = None
    if len(set(matrix.categories)) >= MIN_CATEGORIES:
        of_categories = scores.category_means()
        if matrix.nested:
            of_categories = of_categories.mean(axis=2, keepdims=True)
        by_category = g_study(of_categories, seed=seed)
    return ReliabilityResult(
        scores,
        g_study(matrix.scores, nested=matrix.nested, seed=seed),
        by_category,
        discrimination(means) if differ else None,
        short_forms(means, rng=generator(seed, "short forms")) if differ else None,
    )


def _estimates(each: ReliabilityResult) -> Iterator[Estimate]:
    """Reliability of the ranking and of scores, with all wordings and with one; error; items the wrong way."""
    items, wordings = each.sizes
    numbers = [("all", "variance-of-models", each.study.share(0, relative=True))]
    for count in sorted({1, wordings}, reverse=True):
        group = "all" if count == wordings else f"wordings={count}"
        numbers += [
            (group, "generalisability", each.study.reliability(items, count)),
            (group, "dependability", each.study.reliability(items, count, absolute=True)),
            (group, "standard-error", each.study.standard_error(items, count, absolute=True)),
        ]
    if each.items is not None:
        numbers.append(("all", "negative-items", each.items.negative))
    what = {"measure": f"reliability/{each.scores.measure or 'scores'}", "data": each.scores.matrix.name}
    for group, name, value in numbers:
        yield Estimate.of(value, **what, group=group, statistic=name, n=len(each.scores.matrix.models))


def _item_lists(each: ReliabilityResult) -> dict[str, list[str]]:
    """The items of the short form, and all that discriminate the wrong way beyond chance."""
    names = each.scores.matrix.items
    ratios = each.items.q.tolist() if each.items else []
    short = each.short.best[: each.short.enough] if each.short and each.short.is_worth_choosing else ()
    return {
        "wrong_way": [name for name, q in zip(names, ratios, strict=False) if q < LEVEL],
        "short_form": [names[place] for place in short],
    }


def _tables(each: ReliabilityResult) -> Iterator[Table]:
    """All tables of one matrix."""
    where = each.where
    counts = each.wordings(*WORDINGS)
    yield Table.of(f"Variance components: {where}", _component_records(each), COMPONENTS, digits=3)
    asked = ASKED + (CATEGORIES if each.by_category else "")
    yield Table.of(f"Reliability of what could be asked: {where}", _asked_records(each), asked, digits=3)
    yield Table.of(
        f"Items needed: {where}",
        (
            {"wordings": count, **{f"for {level}": each.study.items_needed(level, count) for level in LEVELS}}
            for count in (WORDINGS if len(counts) > 1 else (1,))
        ),
        NEEDED,
    )
    yield Table.of(f"Models: {where}", _model_records(each), MODELS, digits=3)
    yield Table.of(f"Items that push the wrong way most: {where}", _wrong_way_records(each), WRONG_WAY)
    if each.short is not None:
        columns = ("items", "τ, chosen", "τ, at random")
        sizes = zip(each.short.sizes, each.short.chosen, each.short.random, strict=True)
        yield Table(f"Fewer items, other models: {where}", columns, tuple(sizes), SHORT)


def _component_records(each: ReliabilityResult) -> Iterator[dict[str, Cell]]:
    from unmask.stats.generalizability import MODEL

    study = each.study
    for number, effect in enumerate(study.effects):
        yield {
            "effect": effect.name,
            "df": int(study.freedom[number]),
            "ANOVA": study.component(number),
            "REML": float(study.restricted_components[number]),
            "share, %": study.share(number),
            "relative, %": study.share(number, relative=True) if MODEL in effect.facets else None,
        }


def _asked_records(each: ReliabilityResult) -> Iterator[dict[str, Cell]]:
    items = each.sizes[0]
    for n in sorted({*(size for size in ITEMS if size < items), items}):
        for count in each.wordings(*WORDINGS):
            yield {"asked": f"{n:,} items", **_reliabilities(each.study, n, count)}
    if each.by_category is not None:
        n, count = each.by_category.sizes["item"], each.by_category.sizes["wording"]
        yield {"asked": f"{n} categories", **_reliabilities(each.by_category, n, count)}


def _reliabilities(study: GStudy, items: int, wordings: int) -> dict[str, Cell]:
    return {
        "wordings": wordings,
        "of the ranking": study.reliability(items, wordings),
        "of the scores": study.reliability(items, wordings, absolute=True),
        "error, relative": study.standard_error(items, wordings),
        "error": study.standard_error(items, wordings, absolute=True),
    }


def _model_records(each: ReliabilityResult) -> Iterator[dict[str, Cell]]:
    """The score of every model with the error of that score."""
    import numpy as np
    from scipy.stats import rankdata

    matrix = each.scores.matrix
    means = matrix.scores.mean(axis=(1, 2))
    half = Z * each.study.standard_error(*each.sizes).value
    ranks = rankdata(-means, method="min")
    groups = matrix.groups or ("",) * len(means)
    for place in np.argsort(-means, kind="stable"):
        mean = float(means[place])
        yield {
            "model": matrix.models[place],
            "group": groups[place],
            "rank": int(ranks[place]),
            each.scores.statistic: Value(mean, mean - half, mean + half, "standard error"),
        }


def _wrong_way_records(each: ReliabilityResult) -> Iterator[dict[str, Cell]]:
    if each.items is None:
        return
    import numpy as np

    items, r = each.items, each.items.r
    worst = [place for place in np.argsort(np.nan_to_num(r, nan=2.0), kind="stable")[:SHOWN] if r[place] < 0]
    for place in worst:
        numbers = {"r": float(r[place]), "p": float(items.p[place]), "p corrected": float(items.q[place])}
        yield {**each.scores.item_key(place), **numbers}


def _curves(each: ReliabilityResult, number: str) -> Plot:
    """Reliability of the ranking against the number of items, for several numbers of wordings."""
    from unmask.findings import charts

    items, counts = each.sizes[0], each.wordings(*WORDINGS)
    rows = []
    for count in counts:
        for n in sorted({*(size for size in CURVE if size < 1.2 * items), items}):
            value = each.study.reliability(n, count)
            series = f"{count} wording{'s' if count > 1 else ''}"
            rows.append({"series": series, "x": n, "y": value.value, "low": value.low, "high": value.high})
    return Plot(
        f"reliability{number}",
        f"What more items and wordings would buy: {each.where}",
        "Reliability of the ranking of models against the number of items, a curve for each number of wordings.",
        charts.curves(rows, x="items", y="reliability of the ranking", band=len(counts) == 1),
    )


def _answers(each: ReliabilityResult) -> Iterator[str]:
    """The reliability, what two models must differ by, the items needed, and items that push the wrong way."""
    from unmask.findings import sentences

    study, (items, wordings), where = each.study, each.sizes, each.where
    for count in sorted({1, wordings}, reverse=True):
        asked = f"{items:,} items" + (f" in {count} wording{'s' if count > 1 else ''}" if wordings > 1 else "")
        what = f"{where}: the ranking of {len(each.scores.matrix.models)} models by {asked} has a reliability of"
        yield sentences.size(what, study.reliability(items, count))
    yield sentences.share(
        f"{where}: of what differs between models in single answers, the models' own share is",
        study.share(0, relative=True),
    )
    visible = Z * math.sqrt(2) * study.standard_error(items, wordings).value
    yield f"{where}: two models must differ by {visible:.3g} ({each.scores.statistic}) to be distinguished"
    needed = {count: study.items_needed(LEVELS[-1], count) for count in each.wordings(1, WORDINGS[-1])}
    texts = [f"{n:,} items in {count} wording(s)" for count, n in needed.items() if n]
    yield f"{where}: a reliability of {LEVELS[-1]} takes {', '.join(texts) or 'more than any number of items'}"
    if each.items is not None:
        chance = f"the noise of few models alone would give {each.items.by_noise:.0f}%"
        truly = f"with many models it would be {each.items.truly_negative:.0f}%"
        yield sentences.share(f"{where}: items that push the wrong way ({chance}; {truly}):", each.items.negative)
    if each.short is not None:
        yield _short_form(where, each.short)


def _short_form(where: str, short: ShortForms) -> str:
    """How few items keep the ranking, chosen or drawn at random."""
    from unmask.stats.reliability import ENOUGH

    ways = {"chosen by discrimination": short.enough, "drawn at random": short.enough_random}
    texts = [f"{few:,} {way}" if few else f"no number {way}" for way, few in ways.items()]
    return f"{where}: items that keep a rank correlation of {ENOUGH} with the whole on other models: {'; '.join(texts)}"


def _notes(each: ReliabilityResult) -> Iterator[str]:
    from unmask.stats.reliability import MIN_MODELS

    if each.items is None:
        yield f"{each.where}: fewer than {MIN_MODELS} models, or none that differ: no item discrimination"
    elif each.short is None:
        yield f"{each.where}: too few models or items to choose some on one half and test them on the other"


RELIABILITY = Diagnosis(
    name="reliability",
    title="Reliability of scores and rankings",
    question="Would other items, or the same ones in other words, have ranked the models alike?",
    observe=score_rows,
    conclude=conclude,
    options=MatrixOptions,
    order=12,
    unfit_reason=template_reason,
    data=("paraphrases",),
    models=SIBLINGS,
    citation="brennan-2001-generalizability",
    takes_scores=True,
)
