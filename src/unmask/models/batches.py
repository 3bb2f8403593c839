"""A padded batch on the host: its distinct rows, and where each read is found in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unmask.core.types import Ints
from unmask.models.requests import Piece


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows for one forward pass; equal rows of different pieces are kept once."""

    pieces: Sequence[Piece]
    ids: Ints  # distinct rows, padded
    lengths: Ints
    splits: Ints
    row_of: Ints  # for every requested row, the index of its distinct row
    reads: Ints  # (n, 3): distinct row, position, token
    owners: list[tuple[bytes, list[tuple[int, int]]]]  # in the order of `reads`: request key and its reads

    @property
    def width(self) -> int:
        """Positions per row for which states are returned; the next-sentence head gives one."""
        return 1 if self.pieces[0].request.head == "next" else self.ids.shape[1]

    def head_reads(self) -> HeadReads:
        """The reads grouped by position: each position once, however many tokens are read there."""
        flat = self.reads[:, 0] * self.width + self.reads[:, 1]
        order = np.argsort(flat, kind="stable")
        positions, index = np.unique(flat[order], return_inverse=True)
        return HeadReads(positions, index, self.reads[order, 2], np.argsort(order, kind="stable"))


@dataclass(frozen=True, slots=True)
class HeadReads:
    """Positions at which the head is applied and the tokens read there, sorted by position."""

    positions: Ints  # indices into the flattened batch (row × width + position)
    index: Ints  # for every read, the index of its position in `positions`
    tokens: Ints
    inverse: Ints  # permutation back to the order of `Batch.reads`


def build_batch(pieces: Sequence[Piece], mask: int, pad: int) -> Batch:
    """Write the rows of all pieces with their masks, then keep each distinct row once."""
    rows = sum(piece.rows for piece in pieces)
    ids = np.full((rows, max(len(piece.request.ids) for piece in pieces)), pad, dtype=np.int64)
    facts = np.empty((rows, 2), dtype=np.int64)  # length, split
    reads: list[Ints] = []
    owners: list[tuple[bytes, list[tuple[int, int]]]] = []
    begin = 0
    for piece in pieces:
        request, end = piece.request, begin + piece.rows
        ids[begin:end, : len(request.ids)] = request.ids
        facts[begin:end] = len(request.ids), request.split
        if piece.positions:
            ids[np.arange(begin, end) if request.one_at_a_time else begin, piece.positions] = mask
        piece_reads = piece.reads()
        reads.append(_read_indices(piece, piece_reads, begin))
        owners.append((request.key, piece_reads))
        begin = end
    return _deduplicate(pieces, ids, facts, np.concatenate(reads), owners)


def _read_indices(piece: Piece, reads: list[tuple[int, int]], begin: int) -> Ints:
    """(row, position, token) of every read of a piece whose rows start at `begin`."""
    indices = np.empty((len(reads), 3), dtype=np.int64)
    indices[:, 1:] = reads
    indices[:, 0] = begin
    if piece.request.one_at_a_time:
        row_at = {position: row for row, position in enumerate(piece.positions)}
        indices[:, 0] += [row_at[position] for position, _ in reads]
    return indices


def _deduplicate(
    pieces: Sequence[Piece],
    ids: Ints,
    facts: Ints,
    reads: Ints,
    owners: list[tuple[bytes, list[tuple[int, int]]]],
) -> Batch:
    numbers: dict[bytes, int] = {}
    rows = np.concatenate([ids, facts], axis=1)
    row_of = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows], dtype=np.int64)
    first = np.unique(row_of, return_index=True)[1]
    reads[:, 0] = row_of[reads[:, 0]]
    return Batch(pieces, ids[first], facts[first, 0], facts[first, 1], row_of, reads, owners)
