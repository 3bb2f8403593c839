"""How often certified precision leaves a decision wrong: pairs with known errors, drawn at random, and its own choice.

python -m tools.certified_rates --draws 250
python -m tools.certified_rates --draws 250 --unseen 0.03 0.1 0.2 1 --only normal "3 df" "1 pair in"

The differences of 1,508 pairs have a Laplace distribution of scale 60, in units of the usual error, and the pairs
with large errors are as stated. `any wrong` is the share of draws in which a decision left in the lower precision is
not that of the higher one, with its standard error; `estimated` is what a report states, on average. `--unseen`
changes the size of the guard: at 1 it has 64 pairs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from unittest.mock import patch

import numpy as np

from unmask.audit import selection
from unmask.audit.selection import Differences, select
from unmask.findings import Table
from unmask.findings.markdown import table as markdown

PAIRS, SCALE, SAMPLE = 1508, 60.0, 256
COLUMNS = ("errors", "unseen, %", "any wrong, %", "error", "estimated, %", "scored again, %", "fell back, %")
Rng = np.random.Generator
Draw = Callable[[Rng], np.ndarray]


def _normal(rng: Rng) -> np.ndarray:
    return rng.normal(size=PAIRS)


def _student(df: float) -> Draw:
    return lambda rng: rng.standard_t(df, size=PAIRS)


def _longest(share: float, factor: float, draw: Draw = _normal) -> Draw:
    """Errors of the longest pairs, which come last, are larger, or of another kind."""
    first = PAIRS - round(share * PAIRS)
    return lambda rng: np.where(np.arange(PAIRS) < first, _normal(rng), factor * draw(rng))


def _rare(share: float, factor: float) -> Draw:
    return lambda rng: _normal(rng) * np.where(rng.random(PAIRS) < share, factor, 1.0)


ERRORS: dict[str, Draw] = {
    "normal": _normal,
    "longest quarter 3 times": _longest(0.25, 3),
    "longest quarter 10 times": _longest(0.25, 10),
    "t, 3 df": _student(3),
    "t, 2 df": _student(2),
    "t, 1.5 df": _student(1.5),
    "longest quarter t, 2 df, 5 times": _longest(0.25, 5, _student(2)),
    "longest quarter t, 1.5 df, 3 times": _longest(0.25, 3, _student(1.5)),
    "longest 5% 30 times": _longest(0.05, 30),
    "longest 2% 50 times": _longest(0.02, 50),
    "1 pair in 200 50 times": _rare(1 / 200, 50),
    "1 pair in 500 100 times": _rare(1 / 500, 100),
}


def rates(row: tuple[str, float], draws: int, seed: int = 0) -> tuple[float, ...]:
    """The row of the table for one kind of error and one risk of unseen errors, in percent."""
    name, limit = row
    rng = np.random.default_rng([seed, list(ERRORS).index(name)])
    lengths, scales = np.arange(PAIRS, dtype=float), np.ones(PAIRS)
    outcomes = []
    with patch.object(selection, "UNSEEN", limit):
        for _ in range(draws):
            exact, errors = rng.laplace(0, SCALE, PAIRS), ERRORS[name](rng)
            low = exact + errors
            (chosen,) = select(
                *([Differences(np.abs(low), scales)], lengths, SAMPLE),
                **{"part": 1.0, "rng": rng, "oracle": lambda asked, errors=errors: [errors[each] for each in asked]},
            )
            wrong = (np.sign(low) != np.sign(exact))[chosen.left].any()
            outcomes.append(
                (wrong, 0.0, chosen.estimate + chosen.unseen, 1 - chosen.left.size / PAIRS, chosen.fell_back)
            )
    means = np.mean(outcomes, axis=0)
    means[1] = np.sqrt(means[0] * (1 - means[0]) / draws)
    return tuple(100 * means)


def main(words: Sequence[str] | None = None) -> None:
    """Print a table of rates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=250)
    parser.add_argument("--unseen", type=float, nargs="+", default=[selection.UNSEEN])
    parser.add_argument("--only", nargs="+", default=[""], help="kinds of error that contain one of these words")
    parser.add_argument("--jobs", type=int, default=1, help="processes; the table does not depend on their number")
    given = parser.parse_args(words)
    kinds = [name for name in ERRORS if any(word in name for word in given.only)]
    cases = list(product(kinds, given.unseen))
    rows = []
    with ProcessPoolExecutor(given.jobs) as processes:
        for case, shares in zip(cases, processes.map(partial(rates, draws=given.draws), cases), strict=True):
            rows.append((case[0], 100 * case[1], *shares))
            print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    print(markdown(Table("", COLUMNS, tuple(rows), digits=1)))


if __name__ == "__main__":
    main()
