"""Language-modelling ability on held-out text: accuracy and (pseudo-)perplexity, and their changes.

Masked: accuracy on 15% of the tokens of each text, masked together; pseudo-perplexity on a subset of the
texts, with every token masked one at a time. Causal: both from every token given those before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.errors import DataError, Unscorable
from unmask.core.estimate import Value
from unmask.core.seeds import generator
from unmask.core.types import Encoded, Floats, Probe
from unmask.models import Engine, Lm
from unmask.stats.bootstrap import bootstrap_value
from unmask.stats.shares import HitCounts, difference_interval, share_interval
from unmask.training.collators import MASKED_SHARE

MAX_TEXTS = 500  # texts scored
PSEUDO_PERPLEXITY_TEXTS = 200  # of which so many are scored one token at a time by masked models
MIN_TOKENS, MAX_TOKENS = 8, 64  # tokens of a text


@dataclass(frozen=True, slots=True)
class Ability:
    """Scores on held-out texts, one value per text."""

    hits: Floats  # tokens predicted correctly (rank 0)
    tries: Floats  # tokens predicted
    lost: Floats  # −log-probability of all tokens of a text, for the texts of the (pseudo-)perplexity
    tokens: Floats  # of those texts

    @property
    def accuracy(self) -> float:
        """Percent of predicted tokens that are correct."""
        return 100 * float(self.hits.sum() / self.tries.sum())

    @property
    def perplexity(self) -> float:
        """Exp of the mean −log-probability of a token; pseudo-perplexity for a masked model."""
        return float(np.exp(self.lost.sum() / self.tokens.sum()))


def measure_ability(engine: Engine, texts: Sequence[str], *, seed: int = 0) -> Ability:
    """Score a model on held-out texts; the choice of texts and tokens depends on the seed alone."""
    encoded = _sample_texts(engine.lm, texts, seed)
    if engine.lm.kind == "causal":
        single = [Probe(text.ids, tuple((p - 1, text.ids[p]) for p in text.content if p)) for text in encoded]
        masked = single
    else:
        masked = [_masked_probe(text, seed) for text in encoded]
        few = encoded[:PSEUDO_PERPLEXITY_TEXTS]
        single = [Probe(text.ids, _own_tokens(text, text.content), text.content, one_at_a_time=True) for text in few]
    readings = engine.read([*masked, *single])
    return Ability(
        hits=np.array([(readings[probe].ranks == 0).sum() for probe in masked], dtype=np.float64),
        tries=np.array([len(probe.reads) for probe in masked], dtype=np.float64),
        lost=np.array([-readings[probe].logprobs.sum() for probe in single]),
        tokens=np.array([len(probe.reads) for probe in single], dtype=np.float64),
    )


def accuracy(ability: Ability, *, seed: int = 0) -> Value:
    """Percent of predicted tokens that are correct."""
    return share_interval(HitCounts(ability.hits, ability.tries), rng=generator(seed, "accuracy"), unit="texts")


def accuracy_change(before: Ability, after: Ability, *, seed: int = 0) -> Value:
    """Change of accuracy in percentage points, over the same texts."""
    new, old = (HitCounts(ability.hits, ability.tries) for ability in (after, before))
    return difference_interval(new, old, rng=generator(seed, "accuracy change"), unit="texts")


def perplexity(ability: Ability, *, seed: int = 0) -> Value:
    """Perplexity with a bootstrap interval over texts."""
    columns, rng = (ability.lost, ability.tokens), generator(seed, "perplexity")
    return bootstrap_value(ability.perplexity, columns, _perplexity, rng=rng, unit="texts")


def perplexity_change(before: Ability, after: Ability, *, seed: int = 0) -> Value:
    """Perplexity after minus before, over the same texts."""

    def difference(old: Floats, new: Floats, tokens: Floats, axis: int = -1) -> Floats:
        return _perplexity(new, tokens, axis) - _perplexity(old, tokens, axis)

    change, rng = after.perplexity - before.perplexity, generator(seed, "perplexity change")
    return bootstrap_value(change, (before.lost, after.lost, before.tokens), difference, rng=rng, unit="texts")


def _sample_texts(lm: Lm, texts: Sequence[str], seed: int) -> list[Encoded]:
    """Distinct texts of suitable length, in random order."""
    unique = list(dict.fromkeys(texts))
    chosen: list[Encoded] = []
    for index in generator(seed, "held-out texts").permutation(len(unique)):
        try:
            encoded = lm.encode(unique[index])
        except Unscorable:
            continue
        if MIN_TOKENS <= len(encoded.content) <= MAX_TOKENS:
            chosen.append(encoded)
        if len(chosen) == MAX_TEXTS:
            break
    if len(chosen) < 2:
        raise DataError(
            f"held-out text: {len(chosen)} of {len(unique)} texts have {MIN_TOKENS} to {MAX_TOKENS} tokens, "
            "at least 2 are needed; give more held-out text"
        )
    return chosen


def _masked_probe(text: Encoded, seed: int) -> Probe:
    count = max(1, round(MASKED_SHARE * len(text.content)))
    positions = tuple(sorted(generator(seed, str(text.ids)).choice(text.content, count, replace=False).tolist()))
    return Probe(text.ids, _own_tokens(text, positions), positions)


def _own_tokens(text: Encoded, positions: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple((position, text.ids[position]) for position in positions)


def _perplexity(lost: Floats, tokens: Floats, axis: int = -1) -> Floats:
    return np.asarray(np.exp(lost.sum(axis) / tokens.sum(axis)))
