"""`reliability`: would other items, or other wordings, rank the models alike? (generalisability, Brennan 2001)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from unmask.core.errors import StatsError
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.diagnose.reliability_tables import LEVELS, WORDINGS, ReliabilityResult, curves, tables
from unmask.diagnose.score_matrices import MeasuredScores, matrices
from unmask.diagnose.spec import DiagnosisObservation, DiagnosisSettings, Observations
from unmask.findings import Finding
from unmask.stats.generalizability import MIN_MODELS as LEAST
from unmask.stats.generalizability import GStudy, g_study
from unmask.stats.reliability import ENOUGH, MIN_MODELS, ShortForms, discrimination, short_forms

MIN_CATEGORIES = 3
FALSE_DISCOVERIES = 0.05
Z = 1.959964


def conclude(observations: Observations, settings: DiagnosisSettings) -> Finding:
    """Variance components, reliability with more or fewer items and wordings, items, short forms."""
    found = _results(tuple(observations), settings)
    numbers = [f"-{number}" if len(found) > 1 else "" for number in range(1, len(found) + 1)]
    return Finding(
        tuple(line for each in found for line in _answers(each)),
        tuple(table for each in found for table in tables(each) if table.rows),
        tuple(curves(each, number) for each, number in zip(found, numbers, strict=True)),
        tuple(note for each in found for note in (*each.scores.notes, *_notes(each))),
    )


def estimates(observations: Observations, settings: DiagnosisSettings) -> list[Estimate]:
    """Reliability of the ranking and of scores, with all wordings and with one; error; items the wrong way."""
    every = []
    for each in _results(tuple(observations), settings):
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
        named = {"measure": f"reliability/{each.scores.measure or 'scores'}", "data": each.scores.matrix.name}
        every += [
            Estimate.of(value, **named, group=group, statistic=statistic, n=len(each.scores.matrix.models))
            for group, statistic, value in numbers
        ]
    return every


def details(observations: Observations, settings: DiagnosisSettings) -> dict[str, Any]:
    """The items of each short form, and all that discriminate the wrong way beyond chance."""
    lists: dict[str, Any] = {}
    for each in _results(tuple(observations), settings):
        names = each.scores.matrix.items
        wrong = np.flatnonzero(each.items.q < FALSE_DISCOVERIES) if each.items else ()
        short = each.short.best[: each.short.enough] if each.short and each.short.is_worth_choosing else ()
        lists[each.scores.where] = {
            "wrong_way": [names[place] for place in wrong],
            "short_form": [names[place] for place in short],
        }
    return {"items": lists}


@lru_cache(maxsize=1)  # for the finding, the estimates and the details
def _results(observations: tuple[DiagnosisObservation, ...], settings: DiagnosisSettings) -> list[ReliabilityResult]:
    """The result of every matrix of enough models."""
    found = matrices(observations, centre=settings.centre)
    enough = [scores for scores in found if len(scores.matrix.models) >= LEAST and len(scores.matrix.items) > 1]
    if not enough:
        most = max((len(scores.matrix.models) for scores in found), default=0)
        raise StatsError(
            f"{most} {'model' if most == 1 else 'models'} with scores of the same items: expected at least {LEAST}; "
            "name more models or result folders of audits, or a table of scores with data (--data)"
        )
    return [_result(scores, settings.seed) for scores in enough]


def _result(scores: MeasuredScores, seed: int) -> ReliabilityResult:
    matrix = scores.matrix
    means = matrix.scores.mean(axis=2)
    differ = len(matrix.models) >= MIN_MODELS and bool(np.ptp(means, axis=0).any())
    return ReliabilityResult(
        scores,
        g_study(matrix.scores, nested=matrix.nested, seed=seed),
        _by_category(scores, seed),
        discrimination(means) if differ else None,
        short_forms(means, rng=generator(seed, "short forms")) if differ else None,
    )


def _by_category(scores: MeasuredScores, seed: int) -> GStudy | None:
    """A study of the means of categories: what if other categories had been asked?"""
    matrix = scores.matrix
    names = sorted(set(matrix.categories))
    if len(names) < MIN_CATEGORIES:
        return None
    of = np.array(matrix.categories)
    means = np.stack([matrix.scores[:, of == name].mean(axis=1) for name in names], axis=1)
    return g_study(means.mean(axis=2, keepdims=True) if matrix.nested else means, seed=seed)


def _answers(each: ReliabilityResult) -> list[str]:
    study, (items, wordings), where = each.study, each.sizes, each.scores.where
    asked = f"{items:,} items" + (f" in {wordings} wordings" if wordings > 1 else "")
    in_one = f"; in one wording {_words(study.reliability(items, 1))}" if wordings > 1 else ""
    visible = Z * math.sqrt(2) * study.standard_error(items, wordings).value
    lines = [
        f"{where}: the ranking of {len(each.scores.matrix.models)} models by {asked} has a reliability of "
        f"{_words(study.reliability(items, wordings))}{in_one}",
        f"{where}: {_words(study.share(0, relative=True), 1, '%')} of what differs between models in single answers is "
        f"of the models, the rest depends on the item and its wording; two models must differ by {visible:.3g} "
        f"({each.scores.statistic}) to be distinguished",
        f"{where}: a reliability of {LEVELS[-1]} takes {_needed(study, wordings)}",
    ]
    if each.items is not None:
        lines.append(
            f"{where}: {_words(each.items.negative, 0, '%')} of the items push the wrong way: models that lean more on "
            f"the others lean less on them; if all items were equal, the noise of so few models would give "
            f"{each.items.by_noise:.0f}%; with many models it would be {each.items.truly_negative:.0f}%"
        )
    return [*lines, f"{where}: {_short_form(each.short)}"] if each.short else lines


def _words(value: Value, digits: int = 2, unit: str = "") -> str:
    ends = f" ({value.low:.{digits}f} to {value.high:.{digits}f})" if value.has_interval else ""
    return f"{value.value:.{digits}f}{unit}{ends}"


def _needed(study: GStudy, wordings: int) -> str:
    """The numbers of items that give the highest of `LEVELS`, by the number of wordings."""
    texts = []
    for count in sorted({1, wordings, WORDINGS[-1]}) if wordings > 1 else [1]:
        n = study.items_needed(LEVELS[-1], count)
        in_wordings = f" in {count} wording{'s' if count > 1 else ''}" if wordings > 1 else ""
        texts.append((f"{n:,} items" if n else "more than any number of items") + in_wordings)
    return ", ".join(texts)


def _short_form(short: ShortForms) -> str:
    """How few items keep the ranking, chosen or drawn at random, whichever takes fewer first."""
    ways = {"chosen by discrimination": short.enough, "drawn at random": short.enough_random}
    (best, few), (other, many) = sorted(ways.items(), key=lambda way: way[1] or math.inf)
    if few is None:
        return f"no short form keeps a rank correlation of {ENOUGH} with the whole on models it was not chosen on"
    more = f"{other}, it takes {many:,}" if many else f"{other}, no number does"
    return f"{few:,} items {best} keep a rank correlation of {ENOUGH} with the whole on other models; {more}"


def _notes(each: ReliabilityResult) -> list[str]:
    notes = []
    if each.items is None:
        notes.append(
            f"{each.scores.where}: fewer than {MIN_MODELS} models, or none that differ: no item discrimination"
        )
    elif each.short is None:
        notes.append(
            f"{each.scores.where}: too few models or items to choose some on one half and test them on the other"
        )
    return notes
