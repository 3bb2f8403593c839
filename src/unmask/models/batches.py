"""Merge probes into requests so that equal inputs run once; pack requests into padded batches by length."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from unmask.core.types import Ints, Probe
from unmask.models.store import StoredReadings

Identity = tuple[tuple[int, ...], tuple[int, ...], bool, int, str]
Owner = tuple[bytes, list[tuple[int, int]]]  # the key of a request, and its reads


@dataclass(slots=True)
class Request:
    """The union of all probes with the same model input."""

    ids: tuple[int, ...]
    masked: tuple[int, ...]  # masked together; empty when `one_at_a_time`
    one_at_a_time: bool
    split: int
    head: str
    key: bytes = b""  # its key in the store: a hash of the input alone, not of what is read from it
    reads: dict[tuple[int, int], None] = field(default_factory=dict)  # an ordered set
    attention: bool = False

    def __post_init__(self) -> None:
        numbers = array("i", (self.one_at_a_time, self.split, len(self.masked), *self.masked, *self.ids))
        self.key = hashlib.blake2b(numbers.tobytes(), digest_size=16, person=self.head.encode()).digest()


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a request that fits a batch."""

    request: Request
    positions: tuple[int, ...]  # masked in one row each when the request is `one_at_a_time`; else together

    @property
    def rows(self) -> int:
        """Rows it adds to a batch."""
        return len(self.positions) if self.request.one_at_a_time else 1

    @property
    def tokens(self) -> int:
        """Tokens it adds to a batch."""
        return self.rows * len(self.request.ids)

    def reads(self) -> list[tuple[int, int]]:
        """The (position, token) reads of its rows."""
        if not self.request.one_at_a_time or len(self.positions) == len(self.request.reads):
            return list(self.request.reads)
        positions = set(self.positions)
        return [read for read in self.request.reads if read[0] in positions]

    def missing(self, known: StoredReadings | None) -> Piece | None:
        """The part that is not in `known` yet; None when nothing is missing."""
        if known is None:
            return self
        unread = [read[0] for read in self.request.reads if read not in known.answers]
        if not self.request.one_at_a_time:
            return self if unread or (self.request.attention and known.attention_received is None) else None
        positions = tuple(position for position in self.positions if position in set(unread))
        return Piece(self.request, positions) if positions else None


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much is held in memory at once."""

    tokens: int  # padded tokens in a batch
    padding: int  # padding tokens in a batch; beyond this a longer sequence starts a new batch
    attention: int  # attention weights (layers × heads × tokens²) held at once
    items: int = 128  # dataset items planned, run and scored together


def input_identity(probe: Probe) -> Identity:
    """The model input of a probe: probes of equal identity share a forward pass.

    A single position masked "together" is the same input as that position masked one at a time.
    """
    alone = len(probe.masked) == 1 and not probe.attention and all(p == probe.masked[0] for p, _ in probe.reads)
    one_at_a_time = probe.one_at_a_time or alone
    return probe.ids, () if one_at_a_time else probe.masked, one_at_a_time, probe.split, probe.head


def merge_probes(probes: Iterable[Probe]) -> dict[Identity, Request]:
    """The requests that answer all probes, in the order in which they first occur."""
    requests: dict[Identity, Request] = {}
    for probe in probes:
        identity = input_identity(probe)
        request = requests.get(identity)
        if request is None:
            request = requests[identity] = Request(*identity)
        request.reads.update(dict.fromkeys(probe.reads))
        request.attention |= probe.attention
    return requests


def pack_batches(requests: Iterable[Request], limits: BatchLimits, attention_maps: int) -> Iterator[list[Piece]]:
    """Pack requests, shortest first, so that the rows of a batch have (nearly) one length.

    The packing depends on the requests alone, never on what is stored, so a resumed run forms the same
    batches and ends with the same digits.
    """
    by_length = sorted(requests, key=lambda request: len(request.ids))
    for attention, head in ((False, "lm"), (True, "lm"), (False, "next")):
        chosen = (request for request in by_length if request.attention == attention and request.head == head)
        pieces = (piece for request in chosen for piece in _split_request(request, limits.tokens))
        yield from _pack(pieces, limits, attention_maps if attention else 0)


def split_batch(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Piece]]:
    """Two smaller batches for one that did not fit; both empty when it cannot be divided."""
    if len(pieces) > 1:
        middle = len(pieces) // 2
        return list(pieces[:middle]), list(pieces[middle:])
    request, positions = pieces[0].request, pieces[0].positions
    if not request.one_at_a_time or len(positions) < 2:
        return [], []
    middle = len(positions) // 2
    return [Piece(request, positions[:middle])], [Piece(request, positions[middle:])]


def chunks_by_length(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Indices of sequences of one length, as many as fit into so many tokens: nothing is padded."""
    order = sorted(range(len(lengths)), key=lambda index: lengths[index])
    for length, group in groupby(order, key=lambda index: lengths[index]):
        indices, step = list(group), max(1, tokens // max(1, length))
        yield from (indices[begin : begin + step] for begin in range(0, len(indices), step))


def _pack(pieces: Iterable[Piece], limits: BatchLimits, attention_maps: int) -> Iterator[list[Piece]]:
    batch: list[Piece] = []
    rows = unpadded = 0
    for piece in pieces:
        length = len(piece.request.ids)
        tokens = (rows + piece.rows) * length
        full = tokens > limits.tokens or tokens * length * attention_maps > limits.attention
        if batch and (full or tokens - unpadded - piece.tokens > limits.padding):
            yield batch
            batch, rows, unpadded = [], 0, 0
        batch.append(piece)
        rows, unpadded = rows + piece.rows, unpadded + piece.tokens
    if batch:
        yield batch


def _split_request(request: Request, tokens: int) -> Iterator[Piece]:
    if not request.one_at_a_time:
        yield Piece(request, request.masked)
        return
    positions = tuple(dict.fromkeys(position for position, _ in request.reads))
    max_rows = max(1, tokens // len(request.ids))
    for begin in range(0, len(positions), max_rows):
        yield Piece(request, positions[begin : begin + max_rows])


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows for one forward pass; equal rows of different pieces are kept once."""

    pieces: Sequence[Piece]
    ids: Ints  # distinct rows, padded
    lengths: Ints
    splits: Ints
    row_of: Ints  # for every requested row, the index of its distinct row
    reads: Ints  # (n, 3): distinct row, position, token
    owners: list[Owner]  # in the order of `reads`

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
    owners: list[Owner] = []
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
    numbers: dict[bytes, int] = {}  # of the distinct rows
    rows_and_facts = np.concatenate([ids, facts], axis=1)
    row_of = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in rows_and_facts], dtype=np.int64)
    first = np.unique(row_of, return_index=True)[1]
    all_reads = np.concatenate(reads)
    all_reads[:, 0] = row_of[all_reads[:, 0]]
    return Batch(pieces, ids[first], facts[first, 0], facts[first, 1], row_of, all_reads, owners)


def _read_indices(piece: Piece, reads: list[tuple[int, int]], begin: int) -> Ints:
    """(row, position, token) of every read of a piece whose rows start at `begin`."""
    indices = np.empty((len(reads), 3), dtype=np.int64)
    indices[:, 1:] = reads
    indices[:, 0] = begin
    if piece.request.one_at_a_time:
        row_at = {position: row for row, position in enumerate(piece.positions)}
        indices[:, 0] += [row_at[position] for position, _ in reads]
    return indices
