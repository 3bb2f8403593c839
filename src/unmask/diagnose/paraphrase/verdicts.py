"""Verdicts on families of paraphrases under one model and measure, and their agreement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Floats
from unmask.diagnose.paraphrase.families import OWN, PER_TOKEN, Family
from unmask.stats.concordance import FamilyAgreement, family_agreement, share_of_members
from unmask.stats.means import mean, mean_interval
from unmask.stats.shares import wilson

ALL = "all"
UNITS = {PER_TOKEN: "nats per token", OWN: "units of the measure"}


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
    def key_cells(self) -> tuple[str, str, str]:
        """Model, data and measure: the first cells of every row."""
        return self.model, self.data, self.measure

    @property
    def categories(self) -> tuple[str, ...]:
        """Bias types in the order of the data."""
        return tuple(dict.fromkeys(family.category for family in self.families if family.category))

    @property
    def unit(self) -> str:
        """Unit of the differences."""
        return UNITS.get(self.scale, "nats")

    @property
    def originals(self) -> list[Floats]:
        """The difference of every original."""
        return [family.differences[:1] for family in self.families]

    @property
    def paraphrases(self) -> list[Floats]:
        """The differences of the paraphrases of every original."""
        return [family.differences[1:] for family in self.families]

    @property
    def all_differences(self) -> list[Floats]:
        """The differences of every original and its paraphrases."""
        return [family.differences for family in self.families]

    @cached_property
    def signs(self) -> dict[str, FamilyAgreement]:
        """Agreement in sign: of all families, and of each bias type."""
        return {ALL: self.agreement(0.0), **{name: self.agreement(0.0, name) for name in self.categories}}

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
        return generator(self.seed, "/".join((*self.key_cells, self.scale, label)))
