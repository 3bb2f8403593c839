"""Merge probes into requests so that equal inputs run once, and pack requests into batches by length."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from unmask.core.types import Probe
from unmask.models.store import StoredReadings

Identity = tuple[tuple[int, ...], tuple[int, ...], bool, int, str]


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
        unread = [
            position for position, token in self.request.reads if (position, token) not in known.answers
        ]
        if not self.request.one_at_a_time:
            lacks_attention = self.request.attention and known.attention_received is None
            return self if unread or lacks_attention else None
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
    alone = (
        len(probe.masked) == 1 and not probe.attention and all(p == probe.masked[0] for p, _ in probe.reads)
    )
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


def pack_batches(
    requests: Iterable[Request], limits: BatchLimits, attention_maps: int
) -> Iterator[list[Piece]]:
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
