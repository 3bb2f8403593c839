"""A padded batch on the host: distinct rows, and where each read is found in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.types import Ints
from unmask.models.requests import Piece


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
    def width(self) -> int:
        """Positions of a row that states come back for; the next-sentence head gives one."""
        return 1 if self.pieces[0].request.head == "next" else self.ids.shape[1]

    def head_reads(self) -> HeadReads:
        """The reads by place: each place once, however many tokens are read there."""
        where = self.reads[:, 0] * self.width + self.reads[:, 1]
        order = np.argsort(where, kind="stable")
        places, number = np.unique(where[order], return_inverse=True)
        return HeadReads(places, number, self.reads[order, 2], np.argsort(order, kind="stable"))


@dataclass(frozen=True, slots=True)
class HeadReads:
    """Where the head is applied and what is read there, in the order of places."""

    places: Ints  # rows laid end to end
    number: Ints  # of every read: which of the places
    tokens: Ints
    back: Ints  # to the order of `Batch.reads`


def build_batch(pieces: Sequence[Piece], mask: int, pad: int) -> Batch:
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
