"""Scores of several models as matrices: of models just observed, of result folders, and of tables of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from unmask.audit.parquet import rows_of
from unmask.audit.result import load_audit
from unmask.audit.session import unique_name
from unmask.core.errors import DataError
from unmask.core.types import Card, Dataset, Floats, Row
from unmask.data.matrices import ScoreMatrix
from unmask.data.pairs import NUMBER, ORIGINAL
from unmask.diagnose.spec import DiagnosisObservation, Observations
from unmask.findings import Cell
from unmask.findings.envelope import RESULT
from unmask.measures import find
from unmask.stats.table import ScoreTable, headline_statistic, item_values

PAIR_SUMMARIES = ("share", "magnitude")  # measures of pairs, whose scores have a direction


@dataclass(frozen=True, slots=True)
class MeasuredScores:
    """A matrix of scores, the measure and statistic they are of, and what was left out to make it complete."""

    matrix: ScoreMatrix
    measure: str  # empty for a table of scores
    statistic: str
    notes: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """Data and measure in a sentence or a title."""
        return f"{self.matrix.name}, {self.measure}" if self.measure else self.matrix.name

    def category_means(self) -> Floats:
        """The means over the items of each category, in the order of their names."""
        of = np.array(self.matrix.categories)
        names = sorted(set(self.matrix.categories))
        return np.stack([self.matrix.scores[:, of == name].mean(axis=1) for name in names], axis=1)

    def item_key(self, place: int) -> dict[str, Cell]:
        """The first cells of a row about an item."""
        matrix = self.matrix
        return {"item": matrix.items[place], "category": matrix.categories[place] if matrix.categories else ""}


def is_run(path: object) -> bool:
    """Whether it is a result folder."""
    return isinstance(path, str | Path) and (Path(path) / RESULT).is_file()


def observe_run(folder: str | Path, taken: Sequence[str], data: Sequence[str]) -> list[DiagnosisObservation]:
    """The rows of an audit as observations of its model, one for each dataset (of `data`, if any are named)."""
    result = load_audit(folder)
    rows = rows_of(result.items)
    facts = result.meta["model"] | {"id": unique_name(result.meta["model"]["id"], taken)}
    observations = []
    for known in result.meta["data"]:
        fit = {
            measure: scored
            for (measure, name), scored in rows.items()
            if name == known["name"] and find(measure).summary in PAIR_SUMMARIES
        }
        if fit and (not data or known["name"] in data):
            observations.append(DiagnosisObservation(facts, _dataset(known), fit))
    if not observations:
        asked = f" on {', '.join(data)}" if data else ""
        raise DataError(f"{folder}: no measure of pairs{asked} in this audit; audit the model on pairs")
    return observations


def _dataset(facts: dict[str, object]) -> Dataset:
    """The dataset of an audit, without its items."""
    text = {name: str(facts.get(name) or "") for name in ("name", "title", "licence", "citation", "source", "problems")}
    listed = facts.get("languages")
    languages = tuple(map(str, listed)) if isinstance(listed, list) else ()
    size = facts.get("size") or facts.get("n")
    card = Card(folder="audit", files=(), languages=languages, size=size if isinstance(size, int) else 0, **text)
    return Dataset(card, (), str(facts.get("sha256") or ""), facts.get("verified") is True)


def matrices(observations: Observations, *, centre: bool) -> list[MeasuredScores]:
    """A matrix for every table of scores, and for every measure that several models have on one dataset."""
    tables = [each.result for each in observations if isinstance(each.result, ScoreMatrix)]
    every = [MeasuredScores(matrix, "", "score") for matrix in tables]
    of_measure: dict[tuple[str, str], list[DiagnosisObservation]] = {}
    for each in observations:
        for measure in () if isinstance(each.result, ScoreMatrix) else each.result:
            of_measure.setdefault((each.names[1], measure), []).append(each)
    every += [_of_measure(members, measure) for (_, measure), members in of_measure.items()]
    if centre:
        every = [replace(each, matrix=centre_scores(each.matrix)) for each in every]
    return [_complete(each) for each in every]


def _of_measure(observations: Observations, measure: str) -> MeasuredScores:
    """The headline values of one measure, by model, item and wording."""
    statistic, data = headline_statistic(find(measure)), observations[0].data
    cells: dict[tuple[str, str, str], float] = {}
    categories: dict[str, str] = {}
    nested = False
    for each in observations:
        rows = sorted(each.result[measure], key=lambda row: row.item)
        values = item_values(ScoreTable.of(find(measure), rows, data=each.names[1]), statistic)
        for row, value in zip(rows, values.tolist(), strict=True):
            item, wording, within = _place(row)
            nested |= within
            cells[each.names[0], item, wording] = value
            categories[item] = row.groups.get("category", "")
    axes = [list(dict.fromkeys(key[axis] for key in cells)) for axis in range(3)]
    scores = np.full([len(axis) for axis in axes], np.nan)
    places = [{name: place for place, name in enumerate(axis)} for axis in axes]
    for key, value in cells.items():
        scores[tuple(of_axis[name] for of_axis, name in zip(places, key, strict=True))] = value
    models, items, wordings = (tuple(axis) for axis in axes)
    known = tuple(categories[item] for item in items)
    kinds = tuple(str(each.model.get("kind", "")) for each in observations)
    matrix = ScoreMatrix(
        data,
        models,
        items,
        wordings,
        scores,
        categories=known if all(known) else (),
        groups=kinds if all(kinds) else (),
        nested=nested,
    )
    return MeasuredScores(matrix, measure, statistic)


def _place(row: Row) -> tuple[str, str, bool]:
    """The item and the wording of a row, and whether wordings belong to one item only."""
    if row.groups.get(ORIGINAL) and row.groups.get(NUMBER):
        return row.groups[ORIGINAL], row.groups[NUMBER], True
    if row.groups.get("template") and row.groups.get("cluster"):
        return row.groups["cluster"], row.groups["template"], False
    return row.item, "", False


def centre_scores(matrix: ScoreMatrix) -> ScoreMatrix:
    """The scores without what a model prefers in a wording whatever is said: one of the two groups of the items.

    The middle between the mean preferences on the items of either direction is taken off, so that the mean score is
    half the difference between the two, as GEST's rate is. Without directions nothing is changed.
    """
    if not matrix.directions:
        return matrix
    signs = np.where(np.array(matrix.directions) == min(matrix.directions), -1.0, 1.0)[None, :, None]
    preference = matrix.scores * signs
    with np.errstate(invalid="ignore"):
        ends = [_mean(np.where(signs == sign, preference, np.nan)) for sign in (-1.0, 1.0)]
    return replace(matrix, scores=(preference - (ends[0] + ends[1]) / 2) * signs)


def _mean(scores: Floats) -> Floats:
    """Means over items, ignoring NaN."""
    kept = np.isfinite(scores)
    total = np.where(kept, scores, 0.0).sum(axis=1, keepdims=True)
    return np.asarray(total / np.maximum(kept.sum(axis=1, keepdims=True), 1))


def _complete(scores: MeasuredScores) -> MeasuredScores:
    """The models that scored anything, and the items that all of these scored in every wording."""
    matrix, notes = scores.matrix, list(scores.notes)
    scored = np.isfinite(matrix.scores)
    models = np.flatnonzero(scored.any(axis=(1, 2))).tolist()
    items = np.flatnonzero(scored[models].all(axis=(0, 2))).tolist()
    if silent := [name for place, name in enumerate(matrix.models) if place not in models]:
        notes.append(f"{scores.where}: no scores of {', '.join(silent)}")
    if lost := len(matrix.items) - len(items):
        notes.append(
            f"{scores.where}: {lost:,} of {len(matrix.items):,} items were not scored by every model in every wording "
            "and are left out"
        )
    return replace(scores, matrix=take(matrix, models, items), notes=tuple(notes))


def take(matrix: ScoreMatrix, of_models: Sequence[int], of_items: Sequence[int]) -> ScoreMatrix:
    """Some models and items of a matrix."""
    return replace(
        matrix,
        models=tuple(matrix.models[place] for place in of_models),
        items=tuple(matrix.items[place] for place in of_items),
        scores=matrix.scores[np.ix_(of_models, of_items)],
        categories=tuple(matrix.categories[place] for place in of_items) if matrix.categories else (),
        directions=tuple(matrix.directions[place] for place in of_items) if matrix.directions else (),
        groups=tuple(matrix.groups[place] for place in of_models) if matrix.groups else (),
    )


def join_matrices(matrices: Sequence[ScoreMatrix]) -> ScoreMatrix:
    """One matrix of the items that several have in common, the means over wordings; groups of models are kept.

    Models of a matrix without groups get its name as their group.
    """
    first = matrices[0]
    known = set(first.items).intersection(*(other.items for other in matrices[1:]))
    common = [item for item in first.items if item in known]
    models: list[str] = []
    parts = []
    for matrix in matrices:
        place = {item: number for number, item in enumerate(matrix.items)}
        parts.append(matrix.scores[:, [place[item] for item in common]].mean(axis=2))
        models += [unique_name(model, models) for model in matrix.models]
    places = [place for place, item in enumerate(first.items) if item in known]
    name = " and ".join(dict.fromkeys(matrix.name for matrix in matrices))
    return replace(
        take(first, range(len(first.models)), places),
        data=replace(first.data, card=replace(first.card, name=name)),
        models=tuple(models),
        wordings=("",),
        scores=np.concatenate(parts)[:, :, None],
        groups=tuple(group for each in matrices for group in each.groups or (each.name,) * len(each.models)),
        nested=False,
    )
