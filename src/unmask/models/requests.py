"""Probes become requests, equal questions asked once, and requests become batches packed by length."""

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
    """The union of all probes that put the same input before the model."""

    ids: tuple[int, ...]
    masked: tuple[int, ...]  # hidden together; empty when `apart`
    apart: bool
    split: int
    head: str
    key: bytes = b""  # what the store knows it by: the input alone, not what is read from it
    reads: dict[tuple[int, int], None] = field(default_factory=dict)  # an ordered set
    attention: bool = False

    def __post_init__(self) -> None:
        numbers = array("i", (self.apart, self.split, len(self.masked), *self.masked, *self.ids))
        self.key = hashlib.blake2b(numbers.tobytes(), digest_size=16, person=self.head.encode()).digest()


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a request that fits a batch."""

    request: Request
    places: tuple[int, ...]  # hidden: one at a time, a row each, when the request is `apart`; else together

    @property
    def rows(self) -> int:
        """Sentences it puts into a batch."""
        return len(self.places) if self.request.apart else 1

    @property
    def tokens(self) -> int:
        """Tokens it puts into a batch."""
        return self.rows * len(self.request.ids)

    def reads(self) -> list[tuple[int, int]]:
        """What is read of its rows."""
        if not self.request.apart or len(self.places) == len(self.request.reads):
            return list(self.request.reads)
        mine = set(self.places)
        return [read for read in self.request.reads if read[0] in mine]

    def lacking(self, known: StoredReadings | None) -> Piece | None:
        """The part that must still be asked; None when all is known."""
        if known is None:
            return self
        lacks = [place for place, token in self.request.reads if (place, token) not in known.answers]
        if not self.request.apart:
            return self if lacks or (self.request.attention and known.received is None) else None
        places = tuple(place for place in self.places if place in set(lacks))
        return Piece(self.request, places) if places else None


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much is held at once: the size of a batch, and of what batches are formed from."""

    tokens: int  # padded tokens in a batch
    padding: int  # tokens of padding in a batch: more, and it is closed before the longer sentence
    attention: int  # attention weights (layers × heads × tokens²) held at once
    items: int = 128  # planned, asked and scored together


def input_identity(probe: Probe) -> Identity:
    """Probes of one identity share a forward pass.

    A single position hidden "together with itself" is the same input as that position hidden alone.
    """
    alone = (
        len(probe.masked) == 1 and not probe.attention and all(p == probe.masked[0] for p, _ in probe.reads)
    )
    apart = probe.one_at_a_time or alone
    return probe.ids, () if apart else probe.masked, apart, probe.split, probe.head


def merge_probes(probes: Iterable[Probe]) -> dict[Identity, Request]:
    """The requests that answer all probes, in the order of their first asking."""
    requests: dict[Identity, Request] = {}
    for probe in probes:
        key = input_identity(probe)
        request = requests.get(key)
        if request is None:
            request = requests[key] = Request(*key)
        request.reads.update(dict.fromkeys(probe.reads))
        request.attention |= probe.attention
    return requests


def pack_batches(
    requests: Iterable[Request], limits: BatchLimits, attention_maps: int
) -> Iterator[list[Piece]]:
    """Pack requests, shortest first, so that rows of one batch have one length, or nearly.

    The packing depends on the requests alone, never on what is stored, so an interrupted run that is taken
    up again forms the same batches and ends with the same digits.
    """
    everything = sorted(requests, key=lambda request: len(request.ids))
    for attention, head in ((False, "lm"), (True, "lm"), (False, "next")):
        chosen = (one for one in everything if one.attention == attention and one.head == head)
        pieces = (piece for one in chosen for piece in _pieces(one, limits.tokens))
        yield from _packed(pieces, limits, attention_maps if attention else 0)


def split_batch(pieces: Sequence[Piece]) -> tuple[list[Piece], list[Piece]]:
    """Two smaller batches for one that did not fit; both empty when it cannot be divided."""
    if len(pieces) > 1:
        middle = len(pieces) // 2
        return list(pieces[:middle]), list(pieces[middle:])
    request, places = pieces[0].request, pieces[0].places
    if not request.apart or len(places) < 2:
        return [], []
    middle = len(places) // 2
    return [Piece(request, places[:middle])], [Piece(request, places[middle:])]


def _packed(pieces: Iterable[Piece], limits: BatchLimits, attention_maps: int) -> Iterator[list[Piece]]:
    batch: list[Piece] = []
    rows = own = 0
    for piece in pieces:
        length = len(piece.request.ids)
        tokens = (rows + piece.rows) * length
        full = tokens > limits.tokens or tokens * length * attention_maps > limits.attention
        if batch and (full or tokens - own - piece.tokens > limits.padding):
            yield batch
            batch, rows, own = [], 0, 0
        batch.append(piece)
        rows, own = rows + piece.rows, own + piece.tokens
    if batch:
        yield batch


def _pieces(request: Request, tokens: int) -> Iterator[Piece]:
    if not request.apart:
        yield Piece(request, request.masked)
        return
    places = tuple(dict.fromkeys(place for place, _ in request.reads))
    most = max(1, tokens // len(request.ids))
    for begin in range(0, len(places), most):
        yield Piece(request, places[begin : begin + most])
