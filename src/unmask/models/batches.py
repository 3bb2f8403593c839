"""Merge probes so that equal inputs run once, and pack their rows into padded batches by length.

    probes ──► inputs (tokens and masks) ──► rows (an input, or a masked copy of it) ──► reads (position, token)

Each of these is numbered and kept as columns, so that everything about a batch is an index computation; the
answers are columns over the reads.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmask.core.types import Columns, Floats, Ints, Probe, Reading
from unmask.models.prefixes import PrefixTrees, pack_trees, plant_trees

Identity = tuple[tuple[int, ...], tuple[int, ...], bool, int, str]  # ids, masked together, one at a time, split, head
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much is held in memory at once."""

    tokens: int  # padded tokens in a batch
    padding: int  # padding tokens in a batch; beyond this a longer sequence starts a new batch
    attention: int  # attention weights (layers × heads × tokens²) held at once
    items: int = 128  # dataset items planned, run and scored together
    by_length: int = 1  # dataset items among which those of one length are put together


def input_identity(probe: Probe) -> Identity:
    """The model input of a probe: probes of equal identity share a forward pass.

    A single position masked "together" is the same input as that position masked one at a time.
    """
    masked = probe.masked
    if probe.one_at_a_time:
        return probe.ids, (), True, probe.split, probe.head
    if len(masked) == 1 and not probe.attention and all(position == masked[0] for position, _ in probe.reads):
        return probe.ids, (), True, probe.split, probe.head
    return probe.ids, masked, False, probe.split, probe.head


def input_key(identity: Identity) -> bytes:
    """The key of an input in the store: a hash of the input alone, not of what is read from it."""
    ids, masked, one_at_a_time, split, head = identity
    numbers = array("i", (one_at_a_time, split, len(masked), *masked, *ids))
    return hashlib.blake2b(numbers.tobytes(), digest_size=16, person=head.encode()).digest()


class Submission:
    """Probes that are answered together: their inputs, rows and reads, and the answers."""

    def __init__(self, probes: Iterable[Probe], mask: int) -> None:
        self.numbers: dict[Probe, int] = {}  # of the distinct probes
        numbers = self.numbers
        self.given = _numbers(numbers.setdefault(probe, len(numbers)) for probe in probes)
        found: dict[Identity, int] = {}
        self.input_of_probe = _numbers(found.setdefault(input_identity(probe), len(found)) for probe in numbers)
        self.inputs = list(found)
        self._mask = mask
        self._add_inputs()
        self._add_reads()
        self._add_rows()
        reads = len(self.read_position)
        self.logprobs = np.zeros(reads)
        self.ranks = np.zeros(reads, dtype=np.int64)
        self.is_read = np.zeros(reads, dtype=bool)
        self.received = np.zeros(int(self.length @ self.attention))  # of inputs with attention, one after another
        self.is_received = np.zeros(len(self.inputs), dtype=bool)

    def _add_inputs(self) -> None:
        """The tokens of all inputs, masked where they are masked together, and facts about them."""
        ids, masked, alone, split, head = zip(*self.inputs, strict=True) if self.inputs else ((),) * 5
        self.ids = _numbers(chain.from_iterable(ids))
        self.length = _numbers(map(len, ids))
        self.begin = _begins(self.length)
        together = np.repeat(self.begin, _numbers(map(len, masked)))
        self.ids[together + _numbers(chain.from_iterable(masked))] = self._mask
        self.alone = np.array(alone, dtype=bool)
        self.split = _numbers(split)
        self.is_next = np.array([name == "next" for name in head], dtype=bool)
        self.attention = np.zeros(len(self.inputs), dtype=bool)
        self.asks_attention = np.array([probe.attention for probe in self.numbers], dtype=bool)
        self.attention[self.input_of_probe[self.asks_attention]] = True
        self.received_begin = _begins(self.length * self.attention)

    def _add_reads(self) -> None:
        """The distinct reads, by input, position and token; and for every read of every probe which of them it is."""
        different = {id(probe.reads): probe.reads for probe in self.numbers}  # many probes share theirs
        pairs = _numbers(chain.from_iterable(chain.from_iterable(different.values()))).reshape(-1, 2)
        begins = dict(zip(different, _begins(_numbers(map(len, different.values()))).tolist(), strict=True))
        self.count = _numbers(len(probe.reads) for probe in self.numbers)
        self.begin_of_probe = _begins(self.count)
        position, token = pairs[_ranges(_numbers(begins[id(probe.reads)] for probe in self.numbers), self.count)].T
        owner = np.repeat(self.input_of_probe, self.count)
        self._width = int(self.length.max(initial=1))
        self._tokens = int(token.max(initial=0)) + 1
        keys = self._read_key(owner, position, token)
        self.read_keys, first, self.read_of_probe = np.unique(keys, return_index=True, return_inverse=True)
        self.read_input, self.read_position, self.read_token = owner[first], position[first], token[first]

    def _read_key(self, owner: Ints, position: Ints, token: Ints) -> Ints:
        return (owner * self._width + position) * self._tokens + token

    def _add_rows(self) -> None:
        """A row for every position read of an input that is masked one at a time; one for any other input."""
        where = self.read_input * self._width + np.where(self.alone[self.read_input], self.read_position, 0)
        without_reads = np.flatnonzero(~self.alone & (np.bincount(self.read_input, minlength=len(self.alone)) == 0))
        rows = np.sort(np.append(where[np.diff(where, prepend=-1) > 0], without_reads * self._width), kind="stable")
        self.row_input, self.row_position = np.divmod(rows, self._width)
        self.row_of_read = np.searchsorted(rows, where)
        self.reads_in_row = np.bincount(self.row_of_read, minlength=len(rows))
        self.first_read = _begins(self.reads_in_row)
        self.tree = np.full(len(rows), -1)  # the prefix tree of each row that shares one

    def find_reads(self, owner: Ints, position: Ints, token: Ints) -> tuple[Ints, Bools]:
        """For reads of inputs, which they are; and whether they are asked for at all."""
        known = (position < self._width) & (token < self._tokens)
        keys = self._read_key(owner, position, token)
        places = np.minimum(np.searchsorted(self.read_keys, keys), len(self.read_keys) - 1)
        return places, known & (self.read_keys[places] == keys)

    def rows_to_run(self) -> Bools:
        """The rows of which something is not known yet."""
        unread = np.bincount(self.row_of_read, ~self.is_read, len(self.row_input)) > 0
        return unread | (self.attention & ~self.is_received)[self.row_input]

    def pack(self, limits: BatchLimits, attention_maps: int, longest_in_trees: int = 0) -> Iterator[Ints]:
        """The rows of every batch: shortest first, so that those of a batch have (nearly) one length.

        The packing depends on the probes alone, never on what is stored, so a resumed run forms the same
        batches and ends with the same digits. The rows of an input stay together if they fit into a batch.
        Rows of at most `longest_in_trees` tokens, of a causal model, are run as prefix trees.
        """
        kind = np.where(self.is_next, 2, self.attention)[self.row_input]
        length = self.length[self.row_input]
        shares = (kind == 0) & (length <= longest_in_trees)
        if shares.any():
            yield from self._pack_trees(np.flatnonzero(shares), limits, longest_in_trees)
        order = np.lexsort((length, kind))
        order = order[~shares[order]]
        for this, maps in ((0, 0), (1, attention_maps), (2, 0)):
            rows = order[kind[order] == this]
            ends = self._piece_ends(rows, limits.tokens)
            begin = 0
            for end in _batch_ends(length[rows], ends, limits, maps):
                yield rows[begin:end]
                begin = end

    def _pack_trees(self, rows: Ints, limits: BatchLimits, longest: int) -> Iterator[Ints]:
        """The rows of every batch of prefix trees."""
        sequences = [self.inputs[number][0] for number in self.row_input[rows].tolist()]
        for chosen, trees in pack_trees(sequences, limits.tokens, limits.padding, longest):
            self.tree[rows[chosen]] = trees
            yield rows[chosen]

    def _piece_ends(self, rows: Ints, tokens: int) -> Ints:
        """Where a batch may end among these rows: after each input, or what fits of it."""
        owner = self.row_input[rows]
        begins = np.flatnonzero(np.diff(owner, prepend=-1))
        within = np.arange(len(rows)) - np.repeat(begins, np.diff(begins, append=len(rows)))
        most = np.maximum(1, tokens // self.length[owner])
        return np.append(np.flatnonzero(within % most == 0)[1:], len(rows)) if len(rows) else rows

    def build_batch(self, rows: Ints, pad: int) -> Batch:
        """The tokens of these rows with their masks, each distinct row once, and what is read from them."""
        first, row_of = _first_of_equal(self._row_hashes[rows])
        kept = rows[first]
        ids, again = self._row_ids(kept, pad), np.setdiff1d(np.arange(len(rows)), first, assume_unique=True)
        if len(again) and not self._equal(rows[again], kept[row_of[again]], pad):  # two rows have one hash
            kept, row_of = rows, np.arange(len(rows))
            ids = self._row_ids(kept, pad)
        places = _ranges(self.first_read[rows], self.reads_in_row[rows])
        row = np.repeat(row_of, self.reads_in_row[rows])
        reads = np.stack([row, self.read_position[places], self.read_token[places]], axis=1)
        owner = self.row_input[kept]
        some = self.row_input[rows[0]]
        head, attention = self.inputs[some][4], bool(self.attention[some])
        lengths, tree = self.length[owner], self.tree[kept]
        trees = plant_trees(ids, lengths, tree, pad) if tree[0] >= 0 else None
        return Batch(rows, ids, lengths, self.split[owner], row_of, reads, places, head, attention, trees)

    def _row_ids(self, rows: Ints, pad: int) -> Ints:
        """The tokens of rows, padded on the right."""
        owner = self.row_input[rows]
        columns = np.arange(self.length[owner].max())
        inside = columns < self.length[owner][:, None]
        ids = np.full(inside.shape, pad, dtype=np.int64)
        ids[inside] = self.ids[_ranges(self.begin[owner], self.length[owner])]
        alone = np.flatnonzero(self.alone[owner])
        ids[alone, self.row_position[rows[alone]]] = self._mask
        return ids

    def _equal(self, rows: Ints, others: Ints, pad: int) -> bool:
        facts = (self.length, self.split)
        same = all((fact[self.row_input[rows]] == fact[self.row_input[others]]).all() for fact in facts)
        return same and bool((self._row_ids(rows, pad) == self._row_ids(others, pad)).all())

    @cached_property
    def _row_hashes(self) -> NDArray[np.uint64]:
        """A hash of the tokens, masks, length and split of every row."""
        factors = np.random.default_rng(0).integers(1, 2**63, self._width + 2, dtype=np.uint64)
        terms = self.ids.astype(np.uint64) * factors[_ranges(np.zeros_like(self.begin), self.length)]
        hashes = np.add.reduceat(terms, self.begin)
        hashes += self.length.astype(np.uint64) * factors[-1] + self.split.astype(np.uint64) * factors[-2]
        owner, position = self.row_input, self.row_position
        change = (self._mask - self.ids[self.begin[owner] + position]).astype(np.uint64) * factors[position]
        return hashes[owner] + np.where(self.alone[owner], change, np.uint64(0))

    def record(self, batch: Batch, logprobs: Floats, ranks: Ints, received: Floats | None) -> None:
        """Add the outputs of a batch."""
        self.logprobs[batch.places] = logprobs
        self.ranks[batch.places] = ranks
        if received is not None:
            owner = self.row_input[batch.rows]
            inside = np.arange(received.shape[1]) < self.length[owner][:, None]
            places = _ranges(self.received_begin[owner], self.length[owner])
            self.received[places] = received[batch.row_of][inside]
            self.is_received[owner] = True

    def receive(self, number: int, received: Floats) -> None:
        """Add the attention that the positions of an input receive, if it was asked for."""
        if self.attention[number]:
            begin = self.received_begin[number]
            self.received[begin : begin + self.length[number]] = received
            self.is_received[number] = True

    def received_by(self, number: int) -> Floats | None:
        """The attention that the positions of an input receive, if it is known."""
        if not self.is_received[number]:
            return None
        begin = self.received_begin[number]
        return self.received[begin : begin + self.length[number]]


class Readings(Mapping[Probe, Reading]):
    """The answers to all probes of a submission; a reading is made when it is looked up."""

    def __init__(self, asked: Submission) -> None:
        self.asked = asked
        self.given = asked.given  # the numbers of the probes in the order in which they were given

    def __getitem__(self, probe: Probe) -> Reading:
        return self.reading(self.asked.numbers[probe])

    def __iter__(self) -> Iterator[Probe]:
        return iter(self.asked.numbers)

    def __len__(self) -> int:
        return len(self.asked.numbers)

    @cached_property
    def is_finite(self) -> Bools:
        """For each probe, whether every number of its reading is finite."""
        asked = self.asked
        if np.isfinite(asked.logprobs).all() and np.isfinite(asked.received).all():
            return np.ones(len(self), dtype=bool)
        return np.array([self._reading(number, finite=False).is_finite for number in range(len(self))], dtype=bool)

    @cached_property
    def all_finite(self) -> bool:
        """Whether every number is finite."""
        return bool(self.is_finite.all())

    def fullest_first(self) -> Iterable[tuple[int, int]]:
        """The numbers of all probes and of their inputs, by input; those with the most reads first."""
        owner = self.asked.input_of_probe
        order = np.lexsort((-self.asked.count, owner))
        return zip(order.tolist(), owner[order].tolist(), strict=True)

    def reading(self, number: int) -> Reading:
        """The reading of a probe by its number."""
        return self._reading(number, finite=bool(self.is_finite[number]))

    def columns(self, numbers: Ints) -> Columns:
        """What was read by these probes."""
        asked, counts = self.asked, self.asked.count[numbers]
        reads = asked.read_of_probe[_ranges(asked.begin_of_probe[numbers], counts)]
        received = None
        if asked.asks_attention[numbers].all():
            owner = np.repeat(asked.input_of_probe[numbers], counts)
            received = asked.received[asked.received_begin[owner] + asked.read_position[reads]]
        return Columns(asked.logprobs[reads], asked.ranks[reads], counts, received)

    def _reading(self, number: int, *, finite: bool) -> Reading:
        asked = self.asked
        begin = asked.begin_of_probe[number]
        reads = asked.read_of_probe[begin : begin + asked.count[number]]
        received = asked.received_by(asked.input_of_probe[number]) if asked.asks_attention[number] else None
        return Reading(asked.logprobs[reads], asked.ranks[reads], received, finite)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows for one forward pass, each distinct one once."""

    rows: Ints  # of the submission, those that equal another included
    ids: Ints  # distinct rows, padded
    lengths: Ints
    splits: Ints
    row_of: Ints  # for each of `rows`, the distinct row
    reads: Ints  # (n, 3): distinct row, position, token
    places: Ints  # for every read, which read of the submission it is
    head: str
    attention: bool
    trees: PrefixTrees | None = None  # the rows as they are run, where they share prefixes

    @property
    def width(self) -> int:
        """Positions per row for which states are returned; the next-sentence head gives one."""
        return 1 if self.head == "next" else self.ids.shape[1]

    def head_reads(self) -> HeadReads:
        """The reads grouped by position: each position once, however many tokens are read there."""
        row, position = self.reads[:, 0], self.reads[:, 1]
        flat = row * self.width + position if self.trees is None else self.trees.flat(row, position)
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


def chunks_by_length(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Indices of sequences of one length, as many as fit into so many tokens: nothing is padded."""
    order = sorted(range(len(lengths)), key=lambda index: lengths[index])
    for length, group in groupby(order, key=lambda index: lengths[index]):
        indices, step = list(group), max(1, tokens // max(1, length))
        yield from (indices[begin : begin + step] for begin in range(0, len(indices), step))


def _batch_ends(length: Ints, ends: Ints, limits: BatchLimits, attention_maps: int) -> Iterator[int]:
    """Ends of batches among rows sorted by length, each the last of `ends` within the limits."""
    unpadded = np.append(0, np.cumsum(length))
    longest = length[ends - 1]
    begin = done = 0
    while done < len(ends):
        some = slice(done, done + max(1, limits.tokens // int(longest[done])) + 1)  # more cannot fit
        tokens = (ends[some] - begin) * longest[some]
        full = (tokens > limits.tokens) | (tokens * longest[some] * attention_maps > limits.attention)
        full |= tokens - (unpadded[ends[some]] - unpadded[begin]) > limits.padding
        done += max(1, int(np.argmax(full)) if full.any() else len(full))
        begin = int(ends[done - 1])
        yield begin


def _first_of_equal(values: NDArray[Any]) -> tuple[Ints, Ints]:
    """The first of all equal values, in order, and for every value which of these it equals."""
    _, first, group = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return first[order], np.argsort(order)[group]


def _ranges(begins: Ints, sizes: Ints) -> Ints:
    """All of `range(begin, begin + size)`, one after another."""
    return np.arange(int(sizes.sum())) + np.repeat(begins - _begins(sizes), sizes)


def _begins(sizes: Ints) -> Ints:
    """Where each part begins if parts of these sizes follow one another."""
    return np.cumsum(sizes) - sizes


def _numbers(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)
