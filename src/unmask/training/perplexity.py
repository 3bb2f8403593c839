"""How well a model foresees held-out text, text by text.

Masked: of each text 15% of the tokens are hidden together and guessed (accuracy); of each of some texts every
token is hidden alone (pseudo-perplexity). Causal: every token is foreseen from those before it (both).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.errors import DataError, Unscorable
from unmask.core.types import Encoded, Floats, Probe
from unmask.models import Engine, Lm
from unmask.training.collators import MASKED_SHARE

TEXTS, ALONE = 500, 200  # texts guessed at; of which so many token by token
SHORTEST, LONGEST = 8, 64  # tokens of a text


@dataclass(frozen=True, slots=True)
class Ability:
    """What a model made of held-out texts, one value a text."""

    hits: Floats  # tokens that were the model's first guess
    tries: Floats  # tokens asked for
    lost: Floats  # −log-probability of all tokens of a text, for as many texts as were asked token by token
    tokens: Floats  # of those texts

    @property
    def accuracy(self) -> float:
        """Percent of hidden tokens that are the first guess."""
        return 100 * float(self.hits.sum() / self.tries.sum())

    @property
    def perplexity(self) -> float:
        """Exp of the mean −log-probability of a token; pseudo-perplexity for a masked model."""
        return float(np.exp(self.lost.sum() / self.tokens.sum()))


def measure_ability(engine: Engine, texts: Sequence[str], *, seed: int = 0) -> Ability:
    """Ask a model about held-out texts; which of them and which tokens depends on the seed alone."""
    rows = _rows(engine.lm, texts, seed)
    if engine.lm.kind == "causal":
        alone = [Probe(row.ids, tuple((at - 1, row.ids[at]) for at in row.content if at)) for row in rows]
        hidden = alone
    else:
        hidden = [_hidden(row, seed) for row in rows]
        alone = [
            Probe(row.ids, _own(row, row.content), row.content, one_at_a_time=True) for row in rows[:ALONE]
        ]
    read = engine.read([*hidden, *alone])
    return Ability(
        hits=np.array([(read[one].ranks == 0).sum() for one in hidden], dtype=np.float64),
        tries=np.array([len(one.reads) for one in hidden], dtype=np.float64),
        lost=np.array([-read[one].logprobs.sum() for one in alone]),
        tokens=np.array([len(one.reads) for one in alone], dtype=np.float64),
    )


def _rows(lm: Lm, texts: Sequence[str], seed: int) -> list[Encoded]:
    """Different texts of a bearable length, in an order of chance."""
    different = list(dict.fromkeys(texts))
    chosen: list[Encoded] = []
    for place in _dice(seed, "held-out texts").permutation(len(different)):
        try:
            row = lm.encode(different[place])
        except Unscorable:
            continue
        if SHORTEST <= len(row.content) <= LONGEST:
            chosen.append(row)
        if len(chosen) == TEXTS:
            break
    if len(chosen) < 2:
        raise DataError(
            f"held-out text: {len(chosen)} of {len(different)} texts have {SHORTEST} to {LONGEST} tokens, "
            "at least 2 are needed; give more text, or --held FILE"
        )
    return chosen


def _hidden(row: Encoded, seed: int) -> Probe:
    number = max(1, round(MASKED_SHARE * len(row.content)))
    chosen = _dice(seed, str(row.ids)).choice(row.content, number, replace=False)
    places = tuple(sorted(chosen.tolist()))
    return Probe(row.ids, _own(row, places), places)


def _own(row: Encoded, places: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple((place, row.ids[place]) for place in places)


def _dice(seed: int, label: str) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(label.encode())])
