"""Evaluate a model before or after mitigation: pronouns, pairs, held-out text. Raw scores, no statistics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from unmask import data
from unmask.audit.checks import Evidence
from unmask.audit.scoring import score_items
from unmask.core.progress import Progress, steps_of
from unmask.core.types import Dataset, Kind, Row
from unmask.data.subset import sample_dataset
from unmask.measures import find
from unmask.models import Engine
from unmask.stats import Comparison, apply_holm, comparisons
from unmask.training.utility import Ability, measure_ability

TEMPLATES, WOMEN, MEN = "pronoun-templates", "words said of women", "words said of men"
HEADLINES = ("appd", "asld", "bias-score")
_MEASURES: dict[Kind, tuple[tuple[str, str], ...]] = {
    "masked": (("sld", "triple-gender"), ("aul", "triple-gender"), ("aul", "nine-axes")),
    "causal": (("sld", "triple-gender"), ("ll", "triple-gender"), ("ll", "nine-axes")),
}  # measure and dataset, in addition to ppd on the templates


@dataclass(frozen=True, slots=True)
class BiasEvaluation:
    """Scores of one model by (measure, dataset), and its language-modelling ability on held-out text."""

    rows: Mapping[tuple[str, str], Sequence[Row]]
    ability: Ability


def evaluated_data(kind: Kind, without: Collection[str] = (), items: int | None = None) -> list[tuple[str, Dataset]]:
    """The measures and the data that a mitigation is evaluated by, at most `items` of each dataset.

    `without` are datasets that were trained on.
    """
    plan = [("ppd", dataset) for dataset in templates()]
    plan += [(measure, data.load(name)) for measure, name in _MEASURES[kind] if name not in without]
    return [(measure, dataset if items is None else sample_dataset(dataset, items, 0)) for measure, dataset in plan]


def evaluate_model(
    engine: Engine,
    held_out: Sequence[str],
    *,
    seed: int = 0,
    progress: Progress | None = None,
    without: Collection[str] = (),
    items: int | None = None,
) -> BiasEvaluation:
    """Score a model on every measure and dataset but those `without`, and on held-out sentences.

    `items`: at most as many of each dataset, sampled.
    """
    ability = measure_ability(engine, held_out, seed=seed)  # first: it refuses too little text
    plan = evaluated_data(engine.lm.kind, without, items)
    rows = {(measure, dataset.card.name): score_rows(engine, measure, dataset, progress) for measure, dataset in plan}
    return BiasEvaluation(rows, ability)


def compare_headlines(
    a: BiasEvaluation, b: BiasEvaluation, keep: Callable[[Comparison], bool], *, seed: int
) -> tuple[Comparison, ...]:
    """Paired comparisons of the headline statistics that `keep` accepts; p-values corrected by Holm."""
    return apply_holm(
        [
            comparison
            for (measure, name), rows in a.rows.items()
            for comparison in comparisons(find(measure), rows, b.rows[measure, name], data=name, rng_seed=seed)
            if comparison.statistic in HEADLINES and keep(comparison)
        ]
    )


def templates() -> tuple[Dataset, ...]:
    """Pronoun templates of words that should be neutral, then of words said of women and of men."""
    whole, goals = data.load(TEMPLATES), {TEMPLATES: "zero", WOMEN: "female", MEN: "male"}
    parts = []
    for name, goal in goals.items():  # the group `goal` is dropped so that statistics count all items
        items = tuple(
            replace(item, groups={key: value for key, value in item.groups.items() if key != "goal"})
            for item in whole.items
            if item.groups["goal"] == goal
        )
        parts.append(replace(whole, card=replace(whole.card, name=name, size=len(items)), items=items))
    return tuple(parts)


def score_rows(engine: Engine, measure: str, dataset: Dataset, progress: Progress | None = None) -> list[Row]:
    """Score a dataset by one measure."""
    name = dataset.card.name
    step = steps_of(progress, f"{measure}, {name}", len(dataset.items))
    chunks = score_items(name, dataset.items, [find(measure)], engine, evidence=Evidence(), progress=step)
    return [scored.row for chunk in chunks for scored in chunk]
