"""A padded batch on the host: distinct rows, and where each read is found in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.models.requests import Piece
from unmask.types import Ints


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows to put through a network; equal rows of different pieces stand once."""

    pieces: Sequence[Piece]
    ids: Ints  # distinct rows, padded
    lengths: Ints
    splits: Ints
    row_of: Ints  # of every row asked: which distinct row holds it
    reads: Ints  # (n, 3): distinct row, position, token
    owners: list[
        tuple[bytes, list[tuple[int, int]]]
    ]  # in the order of `reads`: whose they are, what was read

    @property
    def kept(self) -> Ints | None:
        """1 at true tokens, 0 at padding; None when there is none."""
        if (self.lengths == self.ids.shape[1]).all():
            return None
        return (np.arange(self.ids.shape[1]) < self.lengths[:, None]).astype(np.int64)

    @property
    def segments(self) -> Ints | None:
        """0 and 1 for first and second text; None when no row has two."""
        if not self.splits.any():
            return None
        second = np.arange(self.ids.shape[1]) >= self.splits[:, None]
        return (second & (self.splits[:, None] > 0)).astype(np.int64)


def laid_out(pieces: Sequence[Piece], mask: int, pad: int) -> Batch:
    """Write the rows of all pieces with their masks, then keep each distinct row once."""
    rows = sum(piece.rows for piece in pieces)
    ids = np.full((rows, max(len(piece.request.ids) for piece in pieces)), pad, dtype=np.int64)
    facts = np.empty((rows, 2), dtype=np.int64)  # length, split
    where: list[Ints] = []
    owners: list[tuple[bytes, list[tuple[int, int]]]] = []
    begin = 0
    for piece in pieces:
        request, end = piece.request, begin + piece.rows
        ids[begin:end, : len(request.ids)] = request.ids
        facts[begin:end] = len(request.ids), request.split
        if piece.places:
            ids[np.arange(begin, end) if request.apart else begin, piece.places] = mask
        mine = piece.reads()
        where.append(_found(piece, mine, begin))
        owners.append((request.key, mine))
        begin = end
    return _distinct(pieces, ids, facts, np.concatenate(where), owners)


def _found(piece: Piece, reads: list[tuple[int, int]], begin: int) -> Ints:
    """(row, position, token) of every read of a piece whose rows start at `begin`."""
    found = np.empty((len(reads), 3), dtype=np.int64)
    found[:, 1:] = reads
    found[:, 0] = begin
    if piece.request.apart:
        row_at = {place: step for step, place in enumerate(piece.places)}
        found[:, 0] += [row_at[place] for place, _ in reads]
    return found


def _distinct(
    pieces: Sequence[Piece],
    ids: Ints,
    facts: Ints,
    reads: Ints,
    owners: list[tuple[bytes, list[tuple[int, int]]]],
) -> Batch:
    seen: dict[bytes, int] = {}
    everything = np.concatenate([ids, facts], axis=1)
    row_of = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in everything], dtype=np.int64)
    first = np.unique(row_of, return_index=True)[1]
    reads[:, 0] = row_of[reads[:, 0]]
    return Batch(pieces, ids[first], facts[first, 0], facts[first, 1], row_of, reads, owners)
