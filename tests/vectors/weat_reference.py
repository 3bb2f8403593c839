"""Association tests written out plainly: loops over words, partitions by `itertools.combinations`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

Vector = Sequence[float]


def cosine(u: Vector, v: Vector) -> float:
    dot = sum(a * b for a, b in zip(u, v, strict=True))
    return dot / math.sqrt(sum(a * a for a in u)) / math.sqrt(sum(b * b for b in v))


def s(w: Vector, a: Sequence[Vector], b: Sequence[Vector]) -> float:
    return sum(cosine(w, v) for v in a) / len(a) - sum(cosine(w, v) for v in b) / len(b)


def values(x, y, a, b):  # type: ignore[no-untyped-def]
    return [s(w, a, b) for w in x], [s(w, a, b) for w in y]


def effect(x: Sequence[Vector], y: Sequence[Vector], a: Sequence[Vector], b: Sequence[Vector], less: int = 1) -> float:
    """`less`: what is taken off the number of words in the variance."""
    first, second = values(x, y, a, b)
    both = first + second
    middle = sum(both) / len(both)
    variance = sum((one - middle) ** 2 for one in both) / (len(both) - less)
    return (sum(first) / len(first) - sum(second) / len(second)) / math.sqrt(variance)


def statistic(x: Sequence[Vector], y: Sequence[Vector], a: Sequence[Vector], b: Sequence[Vector]) -> float:
    first, second = values(x, y, a, b)
    return sum(first) - sum(second)


def exact_p(first: Sequence[float], second: Sequence[float]) -> tuple[float, int]:
    """Share of all partitions that do at least as much, and how many partitions there are."""
    both = [*first, *second]
    observed = sum(first) - sum(second)
    hits = total = 0
    for chosen in combinations(range(len(both)), len(first)):
        inside = set(chosen)
        found = sum(one if place in inside else -one for place, one in enumerate(both))
        hits += found >= observed - 1e-11
        total += 1
    return hits / total, total
