"""Sentence lengths in tokens, and scores by length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask.audit.scoring import ScoredItem
from unmask.audit.session import Session
from unmask.core.errors import Unscorable
from unmask.core.estimate import Estimate, Value
from unmask.core.seeds import generator
from unmask.core.types import Dataset, Measure
from unmask.diagnose import regression_tables
from unmask.diagnose.spec import DiagnosisSettings
from unmask.measures import find
from unmask.stats import Comparison, comparisons
from unmask.stats.regression import PropertyRegression, correlation
from unmask.stats.shares import bias_score
from unmask.stats.subsets import Contrast, SubsetComparison, compare_subset, share_gap
from unmask.stats.table import ScoreTable

WHAT = "sentence length"
CLASSES = {
    "longer": 1,
    "equal": 0,
    "shorter": -1,
}  # sign of the stereotyping sentence's length minus the other's
TWICE, ONCE = "aula", "aula-normalised"
Lengths = Mapping[str, tuple[int, int]]  # by item: content tokens of `more` and of `less`


@dataclass(frozen=True, slots=True)
class LengthClasses:
    """A measure's bias score by which sentence is longer."""

    scores: Mapping[str, Estimate]  # by class
    gap: Contrast  # longer minus shorter
    unequal: SubsetComparison  # pairs of unequal length against the others


@dataclass(frozen=True, slots=True)
class LengthResult:
    """Sentence lengths under one model's tokenizer, and every measure by length."""

    lengths: Lengths
    regressions: Mapping[str, PropertyRegression]
    classes: Mapping[str, LengthClasses]
    correlations: Mapping[str, tuple[int, Value]]  # sentences, and their score's correlation with length
    aula: Mapping[str, Comparison]  # by part of the pairs: as published, then normalised once

    @property
    def gaps(self) -> list[int]:
        """Tokens of the stereotyping sentence minus tokens of the other, by pair."""
        return [more - less for more, less in self.lengths.values()]


def observe(session: Session, data: Dataset, settings: DiagnosisSettings) -> LengthResult:
    """Count tokens, score every pair, and relate scores to lengths."""
    name, seed = data.card.name, settings.seed
    lengths = dict(_lengths(session, data))
    scores = session.scores(data, _measures(session, data, settings))
    by = {item: float(more - less) for item, (more, less) in lengths.items()}
    shares = {measure: items for measure, items in scores.items() if by and find(measure).summary == "share"}
    return LengthResult(
        lengths=lengths,
        regressions=regression_tables.measure_regressions(scores, by, data=name, seed=seed),
        classes={measure: _length_classes(measure, items, by, name) for measure, items in shares.items()},
        correlations={measure: _correlation(items, lengths, seed) for measure, items in shares.items()},
        aula=_aula(scores, by, name, seed) if {TWICE, ONCE} <= scores.keys() else {},
    )


def _measures(session: Session, data: Dataset, settings: DiagnosisSettings) -> tuple[Measure, ...]:
    """The requested or default measures; with AULA, also the variant that normalises once."""
    chosen = session.pair_measures(data, settings.measures)
    names = [measure.name for measure in chosen]
    if TWICE not in names or ONCE in names:
        return chosen
    index = names.index(TWICE) + 1
    return (*chosen[:index], find(ONCE), *chosen[index:])


def _lengths(session: Session, data: Dataset) -> Iterator[tuple[str, tuple[int, int]]]:
    """Number of content tokens of both sentences, for every pair the model can encode."""
    for item in data.items:
        try:
            more, less = session.lm.encode(item.more), session.lm.encode(item.less)
        except Unscorable:
            continue
        yield item.id, (len(more.content), len(less.content))


def _length_classes(
    measure: str, items: Sequence[ScoredItem], by: Mapping[str, float], data: str
) -> LengthClasses:
    table = ScoreTable.of(find(measure), [scored.row for scored in items if scored.row.item in by], data=data)
    signs = np.sign([by[item] for item in table.items.tolist()])
    classes = {name: table.take(signs == sign) for name, sign in CLASSES.items()}
    return LengthClasses(
        scores={name: bias_score(part, group=name) for name, part in classes.items()},
        gap=share_gap(classes["longer"], classes["shorter"]),
        unequal=compare_subset(table, signs != 0),
    )


def _correlation(items: Sequence[ScoredItem], lengths: Lengths, seed: int) -> tuple[int, Value]:
    """Spearman's correlation over both sentences of every scored pair; pairs are resampled whole."""
    kept = [item.row for item in items if item.row.scores and item.row.item in lengths]
    tokens = [np.array([lengths[row.item][side] for row in kept], dtype=np.float64) for side in (0, 1)]
    more = np.array([row.scores["more"] for row in kept], dtype=np.float64)
    less = np.array([row.scores["less"] for row in kept], dtype=np.float64)
    return 2 * len(kept), correlation(tokens, [more, less], rng=generator(seed, "length"), ranks=True)


def _aula(
    scores: Mapping[str, Sequence[ScoredItem]], by: Mapping[str, float], data: str, seed: int
) -> dict[str, Comparison]:
    """AULA as published against the variant whose weights sum to one, pair by pair."""
    parts = {"all": set(by), "equal length": {item for item in by if not by[item]}}
    parts["unequal length"] = parts["all"] - parts["equal length"]
    comparisons_of = {}
    for name, items in parts.items():
        twice, once = (
            [
                replace(scored_item.row, measure=TWICE, groups={})
                for scored_item in scores[measure]
                if scored_item.row.item in items
            ]
            for measure in (TWICE, ONCE)
        )
        if any(row.scores for row in twice):
            comparisons_of[name] = comparisons(find(TWICE), twice, once, data=data, rng_seed=seed)[0]
    return comparisons_of
