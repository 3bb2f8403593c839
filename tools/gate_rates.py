"""How often the gate is wrong: runs with a known worsening, drawn at random, and the answers of `unmask gate`.

python -m tools.gate_rates --draws 200
python -m tools.gate_rates --draws 200 --between 0 0.3 --baselines 1 3 --worsening 0

The scores of a pair differ by a normal variable, whose mean gives the baseline 55% of the pairs; a pair's own part is
shared by all runs (`related`: 0.9 of the variance, a model and its fine-tuned version, which disagree on 14% of pairs;
`unrelated`: none) and in part by the measures of one gate (`--correlation`), and so is what changes it from run to run.
The worsening, in points of bias score, is planted in all measures and all bias types, or in one of the bias types
(`--planted type`). `--between` is the standard deviation of what a training does to each bias type, in those of a pair;
`--together` the share of its variance that all bias types have in common, `--noisier` a factor of it in the first one;
`--writers` says how many people wrote the pairs, whose pairs correlate (0.1).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from scipy.special import ndtri

from unmask.core.statistic import LEVEL
from unmask.core.types import Row
from unmask.findings import Table
from unmask.findings.markdown import table as markdown
from unmask.measures import MEASURES
from unmask.stats.worsening import Worsening, decide, worsenings

SHARE = 0.55  # of pairs that the baseline wins
AMONG_WRITERS = 0.1  # correlation of the pairs of one writer
RELATED = {"related": 0.9, "unrelated": 0.0}
COLUMNS = ("pairs", "writers", "measures", "types", "runs", "between trainings", "baselines", "worsening", "planted")
ANSWERS = ("pass, %", "fail, %", "cannot tell, %", "fail without Holm, %")


@dataclass(frozen=True)
class Scenario:
    """What is drawn."""

    pairs: int
    writers: int  # who wrote the pairs, as many each; 0: pairs are independent
    measures: int
    types: int  # bias types, as many pairs each
    runs: str
    between: float
    baselines: int
    worsening: float
    planted: str = "all"
    correlation: float = 0.5  # of the measures of one gate, in their level and in their change
    together: float = 0.0  # share of the variance between trainings that all bias types have in common
    noisier: float = 1.0  # the standard deviation between trainings of the first bias type, in those of the others

    def draw(self, rng: np.random.Generator) -> Iterator[Worsening]:
        """The worsenings of one gate."""
        own, kinds = RELATED[self.runs], np.arange(self.pairs) % self.types
        trained = self._trained(rng)
        shift = ndtri(SHARE + self.worsening / 100) - ndtri(SHARE)
        level = self._normal(rng)
        moves = [rng.normal(size=self.pairs) for _ in range(self.baselines + 1)]
        for _ in range(self.measures):
            item = self._mixed(level, self._normal(rng))
            runs = []
            for number, move in enumerate(moves):
                change = self._mixed(move, rng.normal(size=self.pairs))
                scores = ndtri(SHARE) + math.sqrt(own) * item + math.sqrt(1 - own) * change + trained[number, kinds]
                if number == self.baselines:
                    scores = scores + shift * (self.planted == "all" or kinds == 0)
                runs.append(self._rows(scores, kinds))
            yield from worsenings(MEASURES["aul"], runs[:-1], runs[-1], data="drawn", rng_seed=0)

    def _trained(self, rng: np.random.Generator) -> np.ndarray:
        """What each training does to each bias type."""
        own = rng.normal(size=(self.baselines + 1, self.types))
        if self.together:
            own = math.sqrt(1 - self.together) * own + math.sqrt(self.together) * rng.normal(size=(len(own), 1))
        return self.between * own * np.where(np.arange(self.types) == 0, self.noisier, 1.0)

    def _rows(self, scores: np.ndarray, kinds: np.ndarray) -> list[Row]:
        groups = [{"category": str(kind)} | ({"writer": str(i % self.writers)} if self.writers else {})
                  for i, kind in enumerate(kinds)]  # fmt: skip
        return [
            Row("aul", "drawn", f"{i:05}", groups[i], {"more": score, "less": 0.0}, "more" if score > 0 else "less")
            for i, score in enumerate(scores.tolist())
        ]

    def _normal(self, rng: np.random.Generator) -> np.ndarray:
        """Standard normal variables of the pairs, alike within a writer."""
        drawn = rng.normal(size=self.pairs)
        if not self.writers:
            return drawn
        of_writers = rng.normal(size=self.writers)[np.arange(self.pairs) % self.writers]
        return math.sqrt(AMONG_WRITERS) * of_writers + math.sqrt(1 - AMONG_WRITERS) * drawn

    def _mixed(self, shared: np.ndarray, own: np.ndarray) -> np.ndarray:
        return math.sqrt(self.correlation) * shared + math.sqrt(1 - self.correlation) * own


def rates(scenario: Scenario, draws: int, seed: int = 0) -> dict[str, float]:
    """The share of gates with each answer, and of those that would fail without Holm's correction, in percent."""
    rng = np.random.default_rng([seed, scenario.pairs, scenario.measures, scenario.baselines])
    found: Counter[str] = Counter()
    for _ in range(draws):
        drawn = list(scenario.draw(rng))
        verdicts = decide(drawn)
        over_all = {verdict.answer for verdict in verdicts if verdict.group == "all"}
        failed = any(verdict.answer == "worse" for verdict in verdicts)
        found["fail" if failed else "cannot tell" if "cannot tell" in over_all else "pass"] += 1
        found["uncorrected"] += any(verdict.p < LEVEL for verdict in verdicts)
    return {name: 100 * found[name] / draws for name in ("pass", "fail", "cannot tell", "uncorrected")}


def main(words: Sequence[str] | None = None) -> None:
    """Print a table of rates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--pairs", type=int, nargs="+", default=[40, 360, 1508])
    parser.add_argument("--writers", type=int, nargs="+", default=[0], help="0: independent pairs")
    parser.add_argument("--measures", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--types", type=int, nargs="+", default=[9])
    parser.add_argument("--runs", nargs="+", default=["related"], choices=[*RELATED])
    parser.add_argument("--between", type=float, nargs="+", default=[0])
    parser.add_argument("--baselines", type=int, nargs="+", default=[1])
    parser.add_argument("--worsening", type=float, nargs="+", default=[0, 5, 10])
    parser.add_argument("--planted", choices=("all", "type"), default="all")
    parser.add_argument("--correlation", type=float, default=0.5, help="of the measures of one gate")
    parser.add_argument("--together", type=float, default=0, help="share of what trainings do to all bias types alike")
    parser.add_argument("--noisier", type=float, default=1, help="of what trainings do to the first bias type")
    parser.add_argument("--jobs", type=int, default=1, help="processes; the table does not depend on their number")
    given = parser.parse_args(words)
    scenarios = [
        Scenario(*each, given.planted, given.correlation, given.together, given.noisier)
        for each in product(
            *(given.pairs, given.writers, given.measures, given.types),
            *(given.runs, given.between, given.baselines, given.worsening),
        )
    ]
    rows = []
    with ProcessPoolExecutor(given.jobs) as processes:
        found = processes.map(partial(rates, draws=given.draws), scenarios)
        for each, shares in zip(scenarios, found, strict=True):
            own = each.pairs, each.writers or "independent", each.measures, each.types, each.runs
            rows.append((*own, each.between, each.baselines, each.worsening, each.planted, *shares.values()))
            print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    print(markdown(Table("", COLUMNS + ANSWERS, tuple(rows), digits=1)))


if __name__ == "__main__":
    main()
