"""Families of pairs, an original with its paraphrases, and the verdicts of a model and measure on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from unmask.audit.scoring import ScoredItem
from unmask.core.errors import DataError
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Dataset, Floats, Ints, Pair
from unmask.data.pairs import ITSELF, NUMBER, ORIGINAL
from unmask.diagnose.paraphrase import ALL
from unmask.diagnose.scores import find_originals
from unmask.stats.agreement import FamilyAgreement, family_agreement, share_of_members
from unmask.stats.intervals import mean, mean_interval
from unmask.stats.shares import wilson

PER_TOKEN, SUM, OWN = "mean per token", "sum", "the measure's own"
UNITS = {PER_TOKEN: "nats per token", SUM: "nats", OWN: "units of the measure"}
KEEP, REPLACEMENT = "keep", "replacement"  # columns of generated files: the reviewer's decision, the new word
NO = ("no", "n", "false", "0")


@dataclass(frozen=True, slots=True)
class Family:
    """Score differences of an original, which comes first, and of its paraphrases."""

    original: str
    category: str
    differences: Floats
    numbers: tuple[int, ...] = ()  # which of the original's pairs each difference is of: some may be unscored

    def outcomes(self, band: float) -> Ints:
        """1 towards the stereotype, -1 against it, 0 nearly equally likely: at most `band` from zero."""
        return np.where(np.abs(self.differences) <= band, 0, np.sign(self.differences)).astype(np.int64)

    @property
    def conflict(self) -> float:
        """How far the wordings oppose each other: the distance from zero of the weaker side."""
        return float(min(-self.differences.min(), self.differences.max()))


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
    known = originals | find_originals(reworded.keys() - originals.keys())
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
    families: dict[str, tuple[Family, ...]] = {}
    for scale in (PER_TOKEN, SUM) if in_nats else (OWN,):
        by_item = {item.row.item: _difference(item, scale) for item in scored}
        values = {name: np.array([by_item[pair.id] for pair in pairs]) for name, pairs in paraphrases.pairs.items()}
        families[scale] = tuple(
            Family(
                name,
                paraphrases.pairs[name][0].groups.get("category", ""),
                own[~np.isnan(own)],
                tuple(np.flatnonzero(~np.isnan(own)).tolist()),
            )
            for name, own in values.items()
            if not np.isnan(own[0]) and not np.isnan(own[1:]).all()
        )
    return families


def _difference(item: ScoredItem, scale: str) -> float:
    """M_DIFF: score of the stereotyping sentence minus score of the other; NaN when unscored."""
    return item.difference_per_token if scale == PER_TOKEN else item.row.difference


@dataclass(frozen=True, eq=False)
class FamilyVerdicts:
    """The families of one model, dataset, measure and scale."""

    model: str
    data: str
    measure: str
    scale: str
    families: tuple[Family, ...]
    seed: int

    @property
    def key(self) -> dict[str, str]:
        """The first cells of every row."""
        return {"model": self.model, "data": self.data, "measure": self.measure}

    @property
    def categories(self) -> tuple[str, ...]:
        """Bias types in the order of the data."""
        return tuple(dict.fromkeys(family.category for family in self.families if family.category))

    @property
    def unit(self) -> str:
        """Unit of the differences."""
        return UNITS[self.scale]

    @property
    def by_kind(self) -> dict[str, list[Floats]]:
        """The difference of every original, and the differences of its paraphrases."""
        return {
            "originals": [family.differences[:1] for family in self.families],
            "paraphrases": [family.differences[1:] for family in self.families],
        }

    @property
    def all_differences(self) -> list[Floats]:
        """The differences of every original and its paraphrases."""
        return [family.differences for family in self.families]

    @cached_property
    def in_sign(self) -> FamilyAgreement:
        """Agreement in sign of all families."""
        return self.agreement(0.0)

    @cached_property
    def signs(self) -> dict[str, FamilyAgreement]:
        """Agreement in sign: of all families, and of each bias type."""
        return {ALL: self.in_sign, **{name: self.agreement(0.0, name) for name in self.categories}}

    def agreement(self, band: float, category: str | None = None) -> FamilyAgreement:
        """Agreement of outcomes within families, overall or of one bias type."""
        families = [family for family in self.families if category in (None, family.category)]
        outcomes, types = [each.outcomes(band) for each in families], [each.category for each in families]
        return family_agreement(outcomes, types, rng=self._rng(f"{band}/{category}"))

    def undecided_share(self, band: float) -> Value:
        """Percent of families whose differences all lie within the band."""
        held = [bool((family.outcomes(band) == 0).all()) for family in self.families]
        return wilson(sum(held), len(held))

    def opposed_share(self, band: float) -> Value:
        """Percent of families with one difference above the band and one below."""
        held = [set(family.outcomes(band)) >= {-1, 1} for family in self.families]
        return wilson(sum(held), len(held))

    def share_within(self, groups: Sequence[Floats], band: float, label: str) -> Value:
        """Percent of all differences within the band; families are resampled."""
        counted = np.array([float((np.abs(group) <= band).sum()) for group in groups])
        sizes = np.array([float(group.size) for group in groups])
        return share_of_members(counted, sizes, rng=self._rng(f"{label}/within/{band}"))

    def mean_difference(self, groups: Sequence[Floats], label: str, *, absolute: bool) -> Value:
        """Mean over families of the mean difference, or of the mean absolute difference."""
        means = np.array([mean(np.abs(group) if absolute else group) for group in groups])
        return mean_interval(means, rng=self._rng(f"{label}/{absolute}"), unit="originals")

    def _rng(self, label: str) -> np.random.Generator:
        return generator(self.seed, "/".join((*self.key.values(), self.scale, label)))
