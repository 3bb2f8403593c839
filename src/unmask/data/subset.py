"""A part of a dataset (`--limit`): a random sample with the shares of categories and directions of the whole.

Files are often sorted, so that the first rows are of one category or direction, and their score is not that of the
dataset.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from unmask.core.types import Dataset

STRATA = ("category", "direction", "goal")
FAMILY = "original"  # paraphrases of one sentence are drawn together


def sample_dataset(data: Dataset, limit: int, seed: int) -> Dataset:
    """At most `limit` items of a dataset, which keep their order."""
    if len(data.items) <= limit:
        return data
    strata = [tuple(item.groups.get(name, "") for name in STRATA) for item in data.items]
    families = [item.groups.get(FAMILY, item.id) for item in data.items]
    drawn = sample_positions(strata, limit, seed, families=families)
    return replace(data, items=tuple(data.items[position] for position in drawn), total=data.whole_size)


def sample_positions(
    strata: Sequence[Hashable], limit: int, seed: int, *, families: Sequence[Hashable] = ()
) -> list[int]:
    """Positions of a sample, in order: every stratum in proportion to its size, families drawn whole."""
    from unmask.core.seeds import generator

    grouped: dict[Hashable, dict[Hashable, list[int]]] = {}
    for position, (stratum, family) in enumerate(zip(strata, families or range(len(strata)), strict=True)):
        grouped.setdefault(stratum, {}).setdefault(family, []).append(position)
    rng = generator(seed, "subset")
    queues = [[list(each.values())[place] for place in rng.permutation(len(each))] for each in grouped.values()]
    lacking = [limit * sum(map(len, queue)) / len(strata) for queue in queues]  # of each stratum's share
    drawn: list[int] = []
    while fitting := [at for at, queue in enumerate(queues) if queue and len(drawn) + len(queue[-1]) <= limit]:
        most = max(fitting, key=lacking.__getitem__)
        members = queues[most].pop()
        drawn += members
        lacking[most] -= len(members)
    return sorted(drawn or queues[0][-1][:limit])  # a part of a family if none fits
