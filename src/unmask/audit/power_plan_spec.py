"""The settings of `unmask plan`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unmask.audit.gate import PerStatistic
from unmask.core.errors import DataError
from unmask.core.options import MAX_SEED, check_values, option


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """What should be seen, and what is known of the data."""

    effect: PerStatistic = option(
        PerStatistic({"bias-score": 5.0}),
        "Difference to see: points, or by statistic as in bias-score=5,appd=0.05.",
        shown="5 points of a bias score",
    )
    power: float = option(0.8, "Probability of seeing it, 0.5 to 0.99.", least=0.5, most=0.99)
    design_effect: float | None = option(
        None, "Design effect.", shown="from the runs, or from the units of the data and --icc", least=0.1, most=1000
    )
    icc: float = option(
        0.01, "Without runs: how alike pairs of one writer, term, … are (intraclass correlation).", least=0, most=1
    )
    disagree: float | None = option(
        None, "Share of pairs on which two models disagree.", shown="from two runs, or 0.5: unrelated", least=0, most=1
    )
    seed: int = option(0, "Random seed of the bootstrap.", least=0, most=MAX_SEED)

    def __post_init__(self) -> None:
        """Parse what the command line gives as text, and refuse invalid values."""
        given: Any = self.effect
        default = PerStatistic({"bias-score": 5.0})
        object.__setattr__(self, "effect", PerStatistic.parse(given, "effect", 0.0) or default)
        check_values(self)
        for value in (*self.effect.by_name.values(), self.effect.common):
            if value is not None and not value > 0:
                raise DataError(f"effect is {value:g}, expected more than 0")

    def effect_of(self, statistic: str) -> float | None:
        """The difference to see of a statistic; one number is for bias scores."""
        found = self.effect.by_name.get(statistic)
        return self.effect.common if found is None and statistic == "bias-score" else found
