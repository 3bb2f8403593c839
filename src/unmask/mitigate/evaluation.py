"""What is asked of a model before and after: pronouns, pairs, held-out text. Raw scores, no statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from unmask import data
from unmask.audit.checks import Evidence
from unmask.audit.scoring import score_items
from unmask.core.types import Dataset, Kind, Row
from unmask.measures import find
from unmask.models import Engine
from unmask.training.perplexity import Ability, measure_ability

TEMPLATES, WOMEN, MEN = "pronoun-templates", "words said of women", "words said of men"
PAIRS = ("triple-gender", "nine-axes")
_ASKED: dict[Kind, tuple[tuple[str, str], ...]] = {
    "masked": (("sld", "triple-gender"), ("aul", "triple-gender"), ("aul", "nine-axes")),
    "causal": (("sld", "triple-gender"), ("ll", "triple-gender"), ("ll", "nine-axes")),
}  # measure and data, beside ppd on the templates

EvaluationProgress = Any  # told of progress: what, share done, items


@dataclass(frozen=True, slots=True)
class BiasEvaluation:
    """The scores of one model, by measure and data, and what it made of held-out text."""

    rows: Mapping[tuple[str, str], Sequence[Row]]
    ability: Ability


def evaluate_model(
    engine: Engine, held: Sequence[str], *, seed: int = 0, progress: EvaluationProgress = None
) -> BiasEvaluation:
    """Ask a model everything."""
    plan = [("ppd", one) for one in templates()]
    plan += [(measure, data.load(name)) for measure, name in _ASKED[engine.lm.kind]]
    rows = {(measure, one.card.name): _rows(engine, measure, one, progress) for measure, one in plan}
    return BiasEvaluation(rows, measure_ability(engine, held, seed=seed))


def templates() -> tuple[Dataset, ...]:
    """The pronoun templates of words that should not lean, then those of words said of women and of men."""
    whole = data.load(TEMPLATES)
    parts = {TEMPLATES: "zero", WOMEN: "female", MEN: "male"}
    return tuple(_part(whole, name, goal) for name, goal in parts.items())


def as_json(seen: BiasEvaluation) -> dict[str, Any]:
    """Scores in full, to be judged elsewhere."""
    return {
        "rows": [asdict(row) for some in seen.rows.values() for row in some],
        "ability": {name: value.tolist() for name, value in asdict(seen.ability).items()},
    }


def from_json(kept: Mapping[str, Any]) -> BiasEvaluation:
    """The scores `as_json` wrote."""
    rows: dict[tuple[str, str], list[Row]] = {}
    for one in kept["rows"]:
        rows.setdefault((one["measure"], one["data"]), []).append(Row(**one))
    return BiasEvaluation(rows, Ability(**{name: np.array(value) for name, value in kept["ability"].items()}))


def _part(whole: Dataset, name: str, goal: str) -> Dataset:
    """The items of one goal, which is then theirs no longer: all of them count."""
    items = tuple(
        replace(one, groups={key: value for key, value in one.groups.items() if key != "goal"})
        for one in whole.items
        if one.groups["goal"] == goal
    )
    return replace(whole, card=replace(whole.card, name=name, size=len(items)), items=items)


def _rows(engine: Engine, measure: str, asked: Dataset, progress: EvaluationProgress) -> list[Row]:
    name = asked.card.name
    step = (
        (lambda _: None)
        if progress is None
        else partial(_told, progress, f"{measure}, {name}", len(asked.items))
    )
    chunks = score_items(name, asked.items, [find(measure)], engine, evidence=Evidence(), progress=step)
    return [one.row for chunk in chunks for one in chunk]


def _told(progress: EvaluationProgress, what: str, total: int, share: float) -> None:
    progress(what, share, total)
