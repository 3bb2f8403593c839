"""Contributions of tokens to the difference of two scores.

A token that both sentences share is compared with its counterpart, changed words with those that replace
them; all contributions of a pair add up to its difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from unmask.findings.numbers import is_number

TokenRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """The contribution of a token, and that of its aligned block in both sentences."""

    own: float
    block: float


Parts = list[Part | None]
Values = list[float | None]


def parts(more: Sequence[TokenRow], less: Sequence[TokenRow]) -> tuple[Parts, Parts]:
    """The contribution of each token to the difference; None if the token was not scored.

    The sentences are aligned into blocks. A token's value is its weight × log-probability; its contribution
    is that value minus its share of the mean of the block's two sides, with the sign of its side. If only one
    side of a block is scored, the contribution is the value itself.
    """
    here, there = blocks(more, less)
    ours, theirs = [_value(row) for row in more], [_value(row) for row in less]
    ups, downs = _by_block(ours, here), _by_block(theirs, there)
    totals = {key: sum(ups.get(key, ())) - sum(downs.get(key, ())) for key in (*ups, *downs)}
    return (
        [_part(v, k, ups, downs, 1.0, totals) for v, k in zip(ours, here, strict=True)],
        [_part(v, k, downs, ups, -1.0, totals) for v, k in zip(theirs, there, strict=True)],
    )


def blocks(more: Sequence[TokenRow], less: Sequence[TokenRow]) -> tuple[list[int], list[int]]:
    """The index of the block of every token; a shared token is a block of its own."""
    ours, theirs = ([str(row.get("token")) for row in rows] for rows in (more, less))
    here, there, block = [0] * len(more), [0] * len(less), 0
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        step = 1 if tag == "equal" else 0
        for k, i in enumerate(range(i1, i2)):
            here[i] = block + step * k
        for k, j in enumerate(range(j1, j2)):
            there[j] = block + step * k
        block += max(1, step * (i2 - i1))
    return here, there


Blocks = Mapping[int, Sequence[float]]


def _by_block(values: Values, keys: Sequence[int]) -> Blocks:
    by_block: dict[int, list[float]] = defaultdict(list)
    for value, key in zip(values, keys, strict=True):
        if value is not None:
            by_block[key].append(value)
    return dict(by_block)


def _part(
    value: float | None, key: int, own: Blocks, other: Blocks, sign: float, totals: Mapping[int, float]
) -> Part | None:
    if value is None:
        return None
    mean = (sum(own[key]) + sum(other[key])) / 2 / len(own[key]) if key in other else 0.0
    return Part(sign * (value - mean), totals[key])


def _value(row: TokenRow) -> float | None:
    weight, logprob = row.get("weight"), row.get("logprob")
    if not (is_number(weight) and is_number(logprob)):
        return None
    return float(weight) * float(logprob)
