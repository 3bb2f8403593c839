"""Evaluate a model before or after mitigation (pronouns, pairs, held-out text), and compare two evaluations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from unmask import data
from unmask.audit.checks import Evidence
from unmask.audit.scoring import score_items
from unmask.core.errors import DataError, quote
from unmask.core.estimate import NAN, Estimate
from unmask.core.progress import Progress, steps_of
from unmask.core.seeds import generator
from unmask.core.statistic import BALANCED, OF_WORDS
from unmask.core.types import Dataset, Kind, Row
from unmask.data.builtin_tables import with_usual_gender
from unmask.data.items import sample_dataset
from unmask.data.pairs import ORIGINAL
from unmask.measures import find
from unmask.mitigate.spec import MethodOptions, PairOptions
from unmask.models import Engine
from unmask.stats import estimates
from unmask.stats.intervals import crossed_mean
from unmask.stats.paired import Comparison, PairedRuns, apply_holm, comparisons, paired_statistics
from unmask.training.utility import Ability, accuracy, measure_ability, perplexity

TEMPLATES, WOMEN, MEN = "pronoun-templates", "words said of women", "words said of men"
GENDERED = (WOMEN, MEN)
HELD_OUT = "held-out text"
PAIRS = ("triple-gender", "nine-axes")
# Pairs are judged by two kinds of measures: of some words in the context of the others, and of the whole sentence.
PAIR_MEASURES: dict[Kind, tuple[str, ...]] = {"masked": ("sss", "aul"), "causal": ("cll", "ll")}
MEASURES = tuple(name for names in PAIR_MEASURES.values() for name in names)
BALANCED_APPD, WORD_APPD = f"{BALANCED}appd", f"{OF_WORDS}appd"
Key = tuple[str, str, str, str]  # measure, data, group and statistic


@dataclass(frozen=True)
class BiasEvaluation:
    """Scores of one model by (measure, dataset), and its language-modelling ability on held-out text."""

    rows: Mapping[tuple[str, str], Sequence[Row]]
    ability: Ability
    seed: int = 0  # of intervals

    def comparable_rows(self, measure: str, name: str) -> Sequence[Row]:
        """The rows of one measure and dataset; of professions with their usual gender."""
        rows = self.rows[measure, name]
        return with_usual_gender(rows) if name == TEMPLATES else rows

    @cached_property
    def estimates(self) -> dict[Key, Estimate]:
        """All estimates of the scores, as an audit computes them, and APPD towards the usual gender of professions."""
        by_measure = (
            estimates(find(measure), rows, data=name, rng_seed=self.seed) for (measure, name), rows in self.rows.items()
        )
        every = [estimate for several in by_measure for estimate in several]
        return {estimate.key: estimate for estimate in [*every, *self._of_professions()]}

    def _of_professions(self) -> Iterator[Estimate]:
        """APPD of professions towards the gender of most who work in them, women's and men's counted alike.

        The plain mean of all professions mostly says how much the model expects "he": of the 136 professions of the
        templates 65 are men's and 24 women's, by the US labour statistics. A model that expects "he" everywhere has 0
        here. There is none without professions of both genders.
        """
        rows = self.comparable_rows("ppd", TEMPLATES)
        for pair in paired_statistics(find("ppd"), rows, rows, data=TEMPLATES):
            if pair.statistic == BALANCED_APPD:
                values, _ = pair.values()
                value, p = crossed_mean(values, pair.units, rng=generator(self.seed, pair.statistic))
                named = {"measure": "ppd", "data": TEMPLATES, "statistic": pair.statistic}
                yield Estimate.of(value, **named, null=0.0, n=values.size, p=p)

    def estimate(self, change: Comparison) -> Estimate:
        """The estimate of the statistic that a change is of; without a value if this model alone has none."""
        key = (change.measure, change.data, change.group, change.statistic)
        return self.estimates.get(key, Estimate(NAN, statistic=change.statistic))


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
    return BiasEvaluation(rows, ability, seed)


def is_headline(measure: str, statistic: str) -> bool:
    """Whether a mitigation is judged by a statistic: APPD, ASLD, and of pairs the bias score and mean difference."""
    plain = statistic.removeprefix(BALANCED).removeprefix(OF_WORDS)
    return plain in ("appd", "asld") or (plain in ("bias-score", "mean-difference") and measure in MEASURES)


def is_compared(row: Estimate | Comparison) -> bool:
    """Whether it is about a whole dataset, or a category of words that have a gender."""
    if row.statistic == WORD_APPD:
        return row.data == TEMPLATES
    return row.group == "all" or (row.data in GENDERED and row.group.startswith("category="))


def bias_estimates(evaluation: BiasEvaluation) -> list[Estimate]:
    """The estimates of one evaluation: every measure, the size of a word's lean, language modelling.

    Words that have a gender have no null value: for them a lean is right, and no gate must reward its loss.
    """
    headlines = [
        replace(estimate, null=None, p=None, p_holm=None) if estimate.data in GENDERED else estimate
        for estimate in evaluation.estimates.values()
        if is_headline(estimate.measure, estimate.statistic) and is_compared(estimate)
    ]
    ability, about = evaluation.ability, {"measure": "language-modelling", "data": HELD_OUT}
    right = accuracy(ability, seed=evaluation.seed)
    surprise = perplexity(ability, seed=evaluation.seed)
    return [
        *headlines,
        Estimate.of(right, **about, statistic="accuracy", n=ability.tries.size),
        Estimate.of(surprise, **about, statistic="perplexity", n=ability.tokens.size),
    ]


def compare_headlines(
    a: BiasEvaluation, b: BiasEvaluation, keep: Callable[[Comparison], bool] = is_compared
) -> tuple[Comparison, ...]:
    """Paired comparisons of the headline statistics that `keep` accepts; p-values corrected by Holm."""
    compared: list[Comparison] = []
    for measure, name in a.rows:
        rows, others = (evaluation.comparable_rows(measure, name) for evaluation in (a, b))
        compared += comparisons(find(measure), rows, others, data=name, rng_seed=a.seed)
    return correct_tested([row for row in compared if is_headline(row.measure, row.statistic) and keep(row)])


def headline_pairs(a: BiasEvaluation, b: BiasEvaluation) -> dict[Key, PairedRuns]:
    """The headline statistics of two evaluations, in the order of `compare_headlines`, item by item."""
    pairs: dict[Key, PairedRuns] = {}
    for measure, name in a.rows:
        rows, others = (evaluation.comparable_rows(measure, name) for evaluation in (a, b))
        for pair in paired_statistics(find(measure), rows, others, data=name):
            if is_headline(measure, pair.statistic):
                pairs[measure, name, pair.group, pair.statistic] = pair
    return pairs


def correct_tested(compared: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons with `p_holm` over those that are tested; the others have no p, but the size of a word's lean."""
    return correct_family(
        [row if is_tested(row, compared) or row.statistic == WORD_APPD else replace(row, p=None) for row in compared]
    )


def correct_family(compared: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons with `p_holm` over all of them; the size of a word's lean only stands beside the lean."""
    return apply_holm(compared, lambda row: "" if row.statistic == WORD_APPD else "tested")


def is_tested(row: Comparison, compared: Iterable[Comparison]) -> bool:
    """Whether a statistic is tested, and not only shown beside another.

    Where most pairs have one direction, the mean of both directions is tested in place of that of all pairs. The size
    of a word's lean stands beside the lean.
    """
    if row.measure not in MEASURES:
        return row.statistic != WORD_APPD
    key = (row.measure, row.data, row.group, f"{BALANCED}{row.statistic}")
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


def load_training_pairs(options: PairOptions) -> Dataset:
    """The pairs to train on: a dataset by name, or the user's file."""
    return data.load(str(options.train_pairs), data_dir=options.data_dir)


def trained_data(options: MethodOptions) -> frozenset[str]:
    """The datasets that the training pairs are of, or are paraphrases of; none if the method trains on no pairs."""
    if not isinstance(options, PairOptions):
        return frozenset()
    pairs = load_training_pairs(options)
    originals = {item.groups[ORIGINAL].partition("/")[0] for item in pairs.items if ORIGINAL in item.groups}
    return frozenset({pairs.card.name, *originals})


def check_overlap(options: MethodOptions, evaluated: Iterable[Dataset]) -> None:
    """Refuse training pairs with a sentence of the evaluated data: a measure would be tested on its training data."""
    if not isinstance(options, PairOptions):
        return
    pairs = load_training_pairs(options)
    sentences = {_normal(text) for item in pairs.items for text in (item.more, item.less)}
    for dataset in evaluated:
        shared = [item.id for item in dataset.items if {_normal(item.more), _normal(item.less)} & sentences]
        if shared:
            raise DataError(
                f"train_pairs {quote(str(options.train_pairs))}: {len(shared)} pairs of {dataset.card.name}, on which "
                f"the mitigation is evaluated, have a sentence of it ({shared[0]}): remove them, or give other pairs"
            )


def _normal(text: str) -> str:
    """A sentence without differences of case and white space."""
    return " ".join(text.lower().split())
