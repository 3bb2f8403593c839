"""Prefix trees: sequences of a causal model that begin alike share a row, which holds their common prefix once.

    the nurse said he left    ┐
    the nurse said she left   ┴►   the nurse said he left she left

A token attends to its ancestors in the tree and to itself. Nodes are in depth-first order, so node j is an ancestor
of node i (or i itself) exactly if j ≤ i < ends[j]. One forward pass over the trees gives every sequence's states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from unmask.core.types import Ints

# Measured on models of 10 and 135 million parameters: sharing fewer tokens makes rows longer than it is worth, and
# larger trees spend on attention what they save elsewhere.
SHORTEST_PREFIX = 4
LARGEST_TREE = 128


@dataclass(frozen=True, slots=True)
class PrefixTrees:
    """Sequences laid out as prefix trees, one tree in a row."""

    ids: Ints  # (trees, nodes), padded
    positions: Ints  # of each node in its sequences
    ends: Ints  # for each node, the end of its descendants
    row: Ints  # for each sequence, its tree
    columns: Ints  # (sequences, positions): the node of each token

    def flat(self, sequence: Ints, position: Ints) -> Ints:
        """Indices into the flattened trees of these positions of sequences."""
        flat: Ints = self.row[sequence] * self.ids.shape[1] + self.columns[sequence, position]
        return flat


def pack_trees(
    sequences: Sequence[tuple[int, ...]], tokens: int, padding: int, largest: int = LARGEST_TREE
) -> Iterator[tuple[Ints, Ints]]:
    """Pack sequences into batches of trees, smallest first; yields their numbers and the number of each one's tree.

    A batch has at most so many padded tokens, unless it is a single tree, and so much padding. The sequences of a
    tree follow one another in lexicographic order, as `plant_trees` takes them.
    """
    order, trees, sizes = _group(sequences, min(LARGEST_TREE, largest, tokens))
    batches: list[list[int]] = []
    nodes = 0
    for tree in np.argsort(sizes, kind="stable").tolist():
        size = int(sizes[tree])
        padded = (len(batches[-1]) + 1) * size if batches else 0
        if not batches or padded > tokens or padded - nodes - size > padding:
            batches.append([])
            nodes = 0
        batches[-1].append(tree)
        nodes += size
    begins = np.append(np.searchsorted(trees, np.arange(len(sizes))), len(order))
    for batch in batches:
        members = np.concatenate([np.arange(begins[tree], begins[tree + 1]) for tree in batch])
        yield order[members], trees[members]


def plant_trees(ids: Ints, lengths: Ints, tree: Ints, pad: int) -> PrefixTrees:
    """Lay out padded sequences as trees; those of one tree follow one another in lexicographic order."""
    count, width = ids.shape
    numbers, depth = np.arange(count)[:, None], np.arange(width)
    shared = _shared_with_previous(ids, lengths)
    is_first = np.diff(tree, prepend=-1) != 0
    shared[is_first] = 0
    new = (depth >= shared[:, None]) & (depth < lengths[:, None])
    row = np.cumsum(is_first) - 1
    end = np.cumsum(new.sum(1))
    begin = end - new.sum(1)
    begin -= begin[is_first][row]
    node = begin[:, None] + depth - shared[:, None]
    owner = np.maximum.accumulate(np.where(depth >= shared[:, None], numbers, 0))  # the sequence that adds the node
    shape = (int(row[-1]) + 1, int((begin + new.sum(1)).max()))
    branches = np.where(depth >= shared[:, None], numbers, count)
    branch = np.full((count + 1, width), count)  # the next sequence that leaves the path to the node
    branch[:-1] = np.minimum.accumulate(branches[::-1])[::-1]
    leaver = branch[1:]
    inner = (leaver < count) & (np.append(row, -1)[leaver] == row[:, None])
    ends = np.where(inner, np.append(begin, 0)[leaver], shape[1])
    where = np.broadcast_to(row[:, None], new.shape)[new], node[new]
    table = np.full((3, *shape), 0)
    table[0] = pad
    table[2] = shape[1]
    for target, values in zip(table, (ids, np.broadcast_to(depth, ids.shape), ends), strict=True):
        target[where] = values[new]
    return PrefixTrees(table[0], table[1], table[2], row, node[owner, depth])


def stack(sequences: Sequence[tuple[int, ...]], pad: int) -> tuple[Ints, Ints]:
    """Sequences as rows padded on the right, and their lengths."""
    lengths = np.fromiter(map(len, sequences), dtype=np.int64)
    ids = np.full((len(lengths), int(lengths.max(initial=0))), pad, dtype=np.int64)
    ids[np.arange(ids.shape[1]) < lengths[:, None]] = np.fromiter(chain.from_iterable(sequences), dtype=np.int64)
    return ids, lengths


def _group(sequences: Sequence[tuple[int, ...]], largest: int) -> tuple[Ints, Ints, Ints]:
    """The sequences in lexicographic order, the tree of each, and the size of each tree."""
    order = sorted(range(len(sequences)), key=sequences.__getitem__)
    ids, lengths = stack([sequences[number] for number in order], -1)
    trees: list[int] = []
    sizes: list[int] = []
    for length, shared in zip(lengths.tolist(), _shared_with_previous(ids, lengths).tolist(), strict=True):
        if sizes and shared >= SHORTEST_PREFIX and sizes[-1] + length - shared <= largest:
            sizes[-1] += length - shared
        else:
            sizes.append(length)
        trees.append(len(sizes) - 1)
    return np.array(order, dtype=np.int64), np.array(trees, dtype=np.int64), np.array(sizes, dtype=np.int64)


def _shared_with_previous(ids: Ints, lengths: Ints) -> Ints:
    """For each sequence, how many tokens it has in common with the beginning of the one before it."""
    inside = np.arange(ids.shape[1]) < lengths[:, None]
    same = (ids[1:] == ids[:-1]) & inside[1:] & inside[:-1]
    shared = np.zeros(len(ids), dtype=np.int64)
    shared[1:] = np.logical_and.accumulate(same, axis=1).sum(1)
    return shared
