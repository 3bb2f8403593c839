"""Families of pairs: an original with its paraphrases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unmask import data as datasets
from unmask.audit.scoring import ScoredItem
from unmask.core.errors import DataError
from unmask.core.types import Dataset, Floats, Ints, Pair, SentenceScore
from unmask.data.finspector import ITSELF, NUMBER, ORIGINAL

PER_TOKEN, SUM, OWN = "mean per token", "sum", "the measure's own"
KEEP, REPLACEMENT = "keep", "replacement"  # columns of generated files: the reviewer's decision, the new word
NO = ("no", "n", "false", "0")


@dataclass(frozen=True, slots=True)
class Family:
    """Score differences of an original, which comes first, and of its paraphrases."""

    original: str
    category: str
    differences: Floats

    def outcomes(self, band: float) -> Ints:
        """1 towards the stereotype, -1 against it, 0 nearly equally likely: at most `band` from zero."""
        return np.where(np.abs(self.differences) <= band, 0, np.sign(self.differences)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class ParaphraseSet:
    """Pairs by original, the original first, and notes on what was left out."""

    pairs: Mapping[str, tuple[Pair, ...]]
    notes: tuple[str, ...]

    def dataset(self, data: Dataset) -> Dataset:
        """All pairs as one dataset, renamed because it may contain originals from another."""
        items = {pair.id: pair for family in self.pairs.values() for pair in family}
        card = replace(data.card, name=f"{data.card.name}, with originals")
        return replace(data, card=card, items=tuple(items.values()))


def family_set(data: Dataset) -> ParaphraseSet:
    """The families of a dataset; a missing original is looked up in the dataset its id names."""
    named = [item for item in data.items if item.groups.get(ORIGINAL)]
    kept = [item for item in named if item.groups.get(KEEP, "").lower() not in NO]
    originals = {item.groups[ORIGINAL]: item for item in kept if item.groups.get(NUMBER) == ITSELF}
    reworded: dict[str, list[Pair]] = {}
    for item in kept:
        if item.groups.get(NUMBER) != ITSELF:
            reworded.setdefault(item.groups[ORIGINAL], []).append(item)
    known = originals | _originals_elsewhere(reworded.keys() - originals.keys())
    pairs = {name: (known[name], *items) for name, items in reworded.items() if name in known}
    if not pairs:
        raise DataError(
            f"{data.card.name}: no original with a paraphrase; expected pairs with the groups {ORIGINAL} and "
            f"{NUMBER}, the original itself as paraphrase {ITSELF}"
        )
    fresh = [item for item in kept if item.groups.get(REPLACEMENT) and not item.groups.get(KEEP)]
    counts = {
        "pairs without an original were left out": len(data.items) - len(named),
        "paraphrases rejected by a reviewer were left out": len(named) - len(kept),
        "generated paraphrases were used without review": len(fresh),
        "originals were not found: their paraphrases were left out": len(reworded) - len(pairs),
        "originals without a paraphrase were left out": len(originals.keys() - reworded.keys()),
    }
    return ParaphraseSet(pairs, tuple(f"{data.card.name}: {n:,} {what}" for what, n in counts.items() if n))


def family_differences(
    paraphrases: ParaphraseSet, scored: Sequence[ScoredItem], *, in_nats: bool
) -> dict[str, tuple[Family, ...]]:
    """Families by scale: measures that sum log-probabilities have the mean per token and the sum.

    Unscored pairs are left out; a family needs its original and at least one paraphrase.
    """
    scales = (PER_TOKEN, SUM) if in_nats else (OWN,)
    by_item = {item.row.item: item for item in scored}
    return {scale: tuple(_families(paraphrases, by_item, scale)) for scale in scales}


def _families(paraphrases: ParaphraseSet, by_item: Mapping[str, ScoredItem], scale: str) -> list[Family]:
    families = []
    for name, pairs in paraphrases.pairs.items():
        values = np.array([_difference(by_item[pair.id], scale) for pair in pairs])
        if not np.isnan(values[0]) and not np.isnan(values[1:]).all():
            category = pairs[0].groups.get("category", "")
            families.append(Family(name, category, values[~np.isnan(values)]))
    return families


def _difference(item: ScoredItem, scale: str) -> float:
    """M_DIFF: score of the stereotyping sentence minus score of the other; NaN when unscored."""
    if not item.sentences:
        return float("nan")
    more, less = item.sentences["more"], item.sentences["less"]
    return _value(more, scale) - _value(less, scale)


def _value(sentence: SentenceScore, scale: str) -> float:
    return sentence.value / len(sentence.logprobs) if scale == PER_TOKEN else sentence.value


def _originals_elsewhere(names: set[str]) -> dict[str, Pair]:
    """Originals from other installed datasets, by id: `nine-axes/0000`."""
    originals: dict[str, Pair] = {}
    for source in sorted({name.rpartition("/")[0] for name in names} & set(datasets.names())):
        try:
            items = datasets.load(source).items
        except DataError:
            continue
        originals |= {item.id: item for item in items if item.id in names}
    return originals
