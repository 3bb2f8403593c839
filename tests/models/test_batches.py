"""Batches: equal rows once, masks and reads where the probes have them, answers in the order of the reads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unmask.core.types import Probe
from unmask.models.batches import BatchLimits, Readings, Submission

MASK, PAD = 99, 0


@st.composite
def probes(draw: st.DrawFn) -> Probe:
    """A probe over few tokens, so that inputs, rows and reads often coincide."""
    ids = tuple(draw(st.lists(st.integers(1, 3), min_size=2, max_size=5)))
    positions = tuple(sorted(draw(st.sets(st.integers(0, len(ids) - 1), max_size=3))))
    together = draw(st.booleans())
    where = positions if positions and not together else tuple(range(len(ids)))
    reads = draw(st.lists(st.tuples(st.sampled_from(where), st.integers(1, 3)), min_size=1, max_size=4))
    attention, split = draw(st.booleans()) and together, draw(st.integers(0, 1))
    return Probe(ids, tuple(reads), positions, bool(positions) and not together, attention, split)


@given(st.lists(probes(), min_size=1, max_size=8), st.integers(5, 40))
def test_every_read_is_answered_from_its_own_masked_row(asked: list[Probe], tokens: int) -> None:
    """The model is a function of row, split, position and token, so that a wrong row, mask or place is seen."""

    def answer(row: tuple[int, ...], split: int, position: int, token: int) -> float:
        return float(hash((row, split, position, token)) % 10_007)

    submission = Submission(asked, MASK)
    seen: list[int] = []
    for rows in submission.pack(BatchLimits(tokens, 3, 1 << 20), 1):
        batch = submission.build_batch(rows, PAD)
        assert batch.ids.size <= tokens or len(batch.ids) == 1
        seen.extend(rows.tolist())
        inputs = zip(batch.ids.tolist(), batch.lengths.tolist(), batch.splits.tolist(), strict=True)
        table = [(tuple(row[:length]), split) for row, length, split in inputs]
        assert len(set(table)) == len(table)
        logprobs = np.array([answer(*table[row], position, token) for row, position, token in batch.reads.tolist()])
        received = np.array([[answer(row, split, at, 0) for at in range(batch.ids.shape[1])] for row, split in table])
        submission.record(batch, logprobs, np.zeros(len(logprobs), np.int64), received if batch.attention else None)
    assert sorted(seen) == list(range(len(submission.row_input)))
    readings = Readings(submission)
    assert list(readings) == list(dict.fromkeys(asked))
    assert [list(readings)[number] for number in readings.given] == asked
    columns = readings.columns(readings.given)
    assert columns.logprobs.tolist() == [value for probe in asked for value in readings[probe].logprobs]
    for probe, reading in readings.items():
        masked = set(probe.masked)
        for (position, token), found in zip(probe.reads, reading.logprobs, strict=True):
            here = {position} if probe.one_at_a_time else masked
            row = tuple(MASK if at in here else token for at, token in enumerate(probe.ids))
            assert found == answer(row, probe.split, position, token)
        if probe.attention:
            row = tuple(MASK if at in masked else token for at, token in enumerate(probe.ids))
            assert reading.attention_received is not None
            assert reading.attention_received.tolist() == [
                answer(row, probe.split, at, 0) for at in range(len(probe.ids))
            ]
        else:
            assert reading.attention_received is None


def test_rows_whose_hashes_collide_are_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    class Zeros:
        def integers(self, _: int, __: int, size: int, dtype: object) -> np.ndarray:
            return np.zeros(size, dtype=np.uint64)

    monkeypatch.setattr(np.random, "default_rng", lambda _: Zeros())
    asked = Submission([Probe((1, 2, 3), ((0, 1),)), Probe((1, 2, 4), ((1, 1),)), Probe((1, 2, 3), ((0, 2),))], MASK)
    (rows,) = asked.pack(BatchLimits(100, 100, 1 << 20), 1)
    batch = asked.build_batch(rows, PAD)
    assert batch.ids.tolist() == [[1, 2, 3], [1, 2, 4]]
    assert batch.reads.tolist() == [[0, 0, 1], [0, 0, 2], [1, 1, 1]]


def test_a_sentence_of_more_rows_than_fit_is_divided_and_others_are_not() -> None:
    def asked(length: int) -> Probe:
        positions = tuple(range(length))
        return Probe(tuple(range(1, length + 1)), tuple((at, 1) for at in positions), positions, one_at_a_time=True)

    submission = Submission([asked(5), asked(4), asked(6)], MASK)
    packed = submission.pack(BatchLimits(tokens=30, padding=5, attention=1 << 20), 1)
    assert [submission.row_input[rows].tolist() for rows in packed] == [[1] * 4, [0] * 5, [2] * 5, [2]]


def test_nothing_asked_is_nothing_run() -> None:
    submission = Submission([], MASK)
    assert list(submission.pack(BatchLimits(30, 5, 1), 1)) == []
    assert dict(Readings(submission)) == {}
