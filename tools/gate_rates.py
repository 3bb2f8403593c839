"""How often the gate is wrong: runs with a known worsening, drawn at random, and the answers of `unmask gate`.

python -m tools.gate_rates --draws 1000
python -m tools.gate_rates --draws 200 --pairs 360 --verdicts 1 10 --jobs 4

Pairs are won if a latent normal variable is below a threshold; that of the second run correlates with that of the
first (`related`: 0.9, a model and its fine-tuned version, which disagree on 14% of pairs; `unrelated`: 0), and the
verdicts of one gate, measures on the same pairs, with each other (0.5). The worsening is planted in one verdict. With
`--writers` the pairs were written by so many people, whose pairs correlate (0.1).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from scipy.special import ndtri

from unmask.core.types import Measure, Row
from unmask.findings import Table
from unmask.findings.markdown import table as markdown
from unmask.measures import MEASURES
from unmask.stats.compare import PairedRuns
from unmask.stats.detectable import ALPHA
from unmask.stats.gate import Allowance, decide
from unmask.stats.table import ScoreTable
from unmask.stats.worsening import Worsening, headline_worsening

SHARE = 0.55  # of pairs that the baseline wins
AMONG_VERDICTS = 0.5  # correlation of the measures of one gate
AMONG_WRITERS = 0.1  # correlation of the pairs of one writer
RELATED = {"related": 0.9, "unrelated": 0.0}
COLUMNS = ("pairs", "writers", "verdicts", "runs", "worsening")
ANSWERS = ("pass, %", "fail, %", "cannot tell, %", "fail without Holm, %")


@dataclass(frozen=True)
class Scenario:
    """What is drawn."""

    pairs: int
    verdicts: int
    runs: str
    worsening: float  # points of bias score, of the first verdict
    writers: int = 0  # who wrote the pairs, as many each; 0: pairs are independent

    def draw(self, template: ScoreTable, rng: np.random.Generator) -> Iterator[Worsening]:
        """The worsenings of one gate."""
        own, shared = RELATED[self.runs], self._normal(rng)
        for verdict in range(self.verdicts):
            first = math.sqrt(AMONG_VERDICTS) * shared + math.sqrt(1 - AMONG_VERDICTS) * self._normal(rng)
            second = own * first + math.sqrt(1 - own**2) * self._normal(rng)
            share = SHARE + (self.worsening / 100 if verdict == 0 else 0.0)
            runs = [_run(template, each < ndtri(level)) for each, level in ((first, SHARE), (second, share))]
            yield headline_worsening(PairedRuns(runs[0], runs[1], 0), "bias-score", 0)

    def _normal(self, rng: np.random.Generator) -> np.ndarray:
        """Standard normal variables of the pairs, alike within a writer."""
        drawn = rng.normal(size=self.pairs)
        if not self.writers:
            return drawn
        of_writers = rng.normal(size=self.writers)[np.arange(self.pairs) % self.writers]
        return math.sqrt(AMONG_WRITERS) * of_writers + math.sqrt(1 - AMONG_WRITERS) * drawn


def _run(template: ScoreTable, wins: np.ndarray) -> ScoreTable:
    return replace(template, outcome=np.where(wins, "more", "less"), more=np.where(wins, 1.0, -1.0))


def rates(scenario: Scenario, draws: int, seed: int = 0) -> dict[str, float]:
    """The share of gates with each answer, and of those that would fail without Holm's correction, in percent."""
    rng = np.random.default_rng([seed, scenario.pairs, scenario.verdicts])
    template = _template(scenario.pairs, scenario.writers)
    found: Counter[str] = Counter()
    for _ in range(draws):
        verdicts = decide(list(scenario.draw(template, rng)), [Allowance()] * scenario.verdicts)
        answers = {verdict.answer for verdict in verdicts}
        found["fail" if "worse" in answers else "cannot tell" if "cannot tell" in answers else "pass"] += 1
        found["uncorrected"] += any(verdict.p < ALPHA for verdict in verdicts)
    return {name: 100 * found[name] / draws for name in ("pass", "fail", "cannot tell", "uncorrected")}


def _template(pairs: int, writers: int) -> ScoreTable:
    measure: Measure = MEASURES["aul"]
    scores = {"more": 1.0, "less": 0.0}
    groups = [{"writer": str(i % writers)} if writers else {} for i in range(pairs)]
    rows = [Row("aul", "drawn", f"{i:05}", groups[i], scores, "more") for i in range(pairs)]  # type: ignore[arg-type]
    return ScoreTable.of(measure, rows, data="drawn")


def main(words: Sequence[str] | None = None) -> None:
    """Print a table of rates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--pairs", type=int, nargs="+", default=[30, 360, 1508])
    parser.add_argument("--verdicts", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--worsening", type=float, nargs="+", default=[0, 5, 10])
    parser.add_argument("--writers", type=int, nargs="+", default=[0], help="0: independent pairs")
    parser.add_argument("--jobs", type=int, default=1, help="processes; the table does not depend on their number")
    given = parser.parse_args(words)
    scenarios = [
        Scenario(pairs, verdicts, runs, worsening, writers)
        for pairs, writers, verdicts, runs, worsening in product(
            given.pairs, given.writers, given.verdicts, RELATED, given.worsening
        )
    ]
    rows = []
    with ProcessPoolExecutor(given.jobs) as processes:
        found = processes.map(partial(rates, draws=given.draws), scenarios)
        for each, shares in zip(scenarios, found, strict=True):
            own = each.pairs, each.writers or "independent", each.verdicts, each.runs, float(each.worsening)
            rows.append((*own, *shares.values()))
            print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    print(markdown(Table("", COLUMNS + ANSWERS, tuple(rows), digits=1)))


if __name__ == "__main__":
    main()
