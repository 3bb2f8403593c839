"""Evaluate a model before or after mitigation: pronouns, pairs, held-out text. Raw scores, no statistics."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from unmask import data
from unmask.audit.checks import Evidence
from unmask.audit.scoring import score_items
from unmask.core.progress import Progress, steps_of
from unmask.core.statistic import BALANCED
from unmask.core.types import Dataset, Floats, Kind, Row
from unmask.data.occupations import with_usual_gender
from unmask.data.subset import sample_dataset
from unmask.measures import find
from unmask.models import Engine
from unmask.stats.paired import Comparison, apply_holm, comparisons, paired_statistics
from unmask.stats.units import Units
from unmask.training.utility import Ability, measure_ability

TEMPLATES, WOMEN, MEN = "pronoun-templates", "words said of women", "words said of men"
PAIRS = ("triple-gender", "nine-axes")
# Pairs are judged by two kinds of measures: of some words in the context of the others, and of the whole sentence.
PAIR_MEASURES: dict[Kind, tuple[str, ...]] = {"masked": ("sss", "aul"), "causal": ("cll", "ll")}
Key = tuple[str, str, str, str]  # measure, data, group and statistic
_OF_PAIRS = {name for names in PAIR_MEASURES.values() for name in names}


@dataclass(frozen=True, slots=True)
class BiasEvaluation:
    """Scores of one model by (measure, dataset), and its language-modelling ability on held-out text."""

    rows: Mapping[tuple[str, str], Sequence[Row]]
    ability: Ability

    def comparable_rows(self, measure: str, name: str) -> Sequence[Row]:
        """The rows of one measure and dataset; of professions with their usual gender."""
        rows = self.rows[measure, name]
        return with_usual_gender(rows) if name == TEMPLATES else rows


class PairedValues(NamedTuple):
    """The values whose mean is a statistic, in two runs over the same items, and what the items share."""

    a: Floats
    b: Floats
    units: Units
    left_out: int = 0  # items in one run only, or not scored in both
    flips: int = 0  # items on which the runs disagree whether `more` wins


def evaluated_data(kind: Kind, without: Collection[str] = (), items: int | None = None) -> list[tuple[str, Dataset]]:
    """The measures and the data that a mitigation is evaluated by, at most `items` of each dataset.

    `without` are datasets that were trained on.
    """
    plan = [("ppd", dataset) for dataset in templates()]
    of_pairs = [("sld", PAIRS[0]), *product(PAIR_MEASURES[kind], PAIRS)]
    plan += [(measure, data.load(name)) for measure, name in of_pairs if name not in without]
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


def is_headline(measure: str, statistic: str) -> bool:
    """Whether a mitigation is judged by a statistic: APPD, ASLD, and of pairs the bias score and mean difference."""
    plain = statistic.removeprefix(BALANCED)
    return plain in ("appd", "asld") or (plain in ("bias-score", "mean-difference") and measure in _OF_PAIRS)


def compare_headlines(
    a: BiasEvaluation, b: BiasEvaluation, keep: Callable[[Comparison], bool], *, seed: int
) -> tuple[Comparison, ...]:
    """Paired comparisons of the headline statistics that `keep` accepts; p-values corrected by Holm."""
    compared: list[Comparison] = []
    for measure, name in a.rows:
        rows, others = (each.comparable_rows(measure, name) for each in (a, b))
        compared += comparisons(find(measure), rows, others, data=name, rng_seed=seed)
    return correct_tested([each for each in compared if is_headline(each.measure, each.statistic) and keep(each)])


def headline_values(a: BiasEvaluation, b: BiasEvaluation) -> Iterator[tuple[Key, PairedValues]]:
    """The headline statistics of two evaluations, in the order of `compare_headlines`, as values by item."""
    for measure, name in a.rows:
        rows, others = (each.comparable_rows(measure, name) for each in (a, b))
        for pair in paired_statistics(find(measure), rows, others, data=name):
            if is_headline(measure, pair.statistic):
                values = PairedValues(*pair.values(), pair.units, pair.left_out, pair.flips)
                yield (measure, name, pair.group, pair.statistic), values


def correct_tested(compared: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons with `p_holm` over those that are tested.

    Where most pairs have one direction, the mean of both directions is tested; that of all pairs only stands beside it.
    """
    return apply_holm([replace(each, p=each.p if is_tested(each, compared) else None) for each in compared])


def is_tested(each: Comparison, compared: Iterable[Comparison]) -> bool:
    """Whether a statistic is tested: unless, for pairs, the mean of both directions is tested in its place."""
    if each.measure not in _OF_PAIRS:
        return True
    key = (each.measure, each.data, each.group, f"{BALANCED}{each.statistic}")
    return all((other.measure, other.data, other.group, other.statistic) != key for other in compared)


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
