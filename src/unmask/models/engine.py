"""Probes in, readings out: the only code that queries a language model for log-probabilities.

probes ──► requests not in the store ──► batches by length ──► body, head where read ──► store ──► readings
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import SimpleQueue

import numpy as np
import torch

from unmask.core.errors import ModelError
from unmask.core.progress import Step
from unmask.core.types import Ints, Probe, Reading
from unmask.models import batches
from unmask.models.batches import Batch, BatchLimits, HeadReads, Piece
from unmask.models.fast import HeapTrimmer, workers
from unmask.models.lm import Lm
from unmask.models.network import Network
from unmask.models.store import Store, StoredReadings

Readings = Mapping[Probe, Reading]
Known = dict[bytes, StoredReadings]  # by the key of their request
CPU_LIMITS = BatchLimits(tokens=1024, padding=32, attention=8 << 20)
CUDA_LIMITS = BatchLimits(tokens=98304, padding=2048, attention=1 << 28, items=2048)
IN_FLIGHT = 4  # batches queued on the device before the outputs of the oldest are fetched
CPU_LOGITS, CUDA_LOGITS = 2 << 20, 1 << 28  # logits held at once


@dataclass(frozen=True, slots=True)
class _BatchOutput:
    """A batch and its outputs, still on the device."""

    batch: Batch
    logprobs: torch.Tensor
    ranks: torch.Tensor
    attention_received: torch.Tensor | None


Pending = _BatchOutput | Future[_BatchOutput]  # of the GPU, or of a worker thread of the CPU


class Engine:
    """Answers probes with one model, caching in `store`; `tokens` limits the padded tokens of a batch."""

    def __init__(self, lm: Lm, store: Store | None = None, *, tokens: int | None = None) -> None:
        self.lm = lm
        self.store = store or Store(None)
        self.rows_run = 0  # rows run through the model so far
        self.on_gpu = lm.network.device.type != "cpu"
        defaults = CUDA_LIMITS if self.on_gpu else CPU_LIMITS
        self.limits = replace(defaults, tokens=tokens or defaults.tokens)
        self._head_rows = max(16, (CUDA_LOGITS if self.on_gpu else CPU_LOGITS) // lm.network.vocab_size)
        pad = lm.tokenizer.pad_token_id
        self._pad = 0 if pad is None else int(pad)
        self._heap = HeapTrimmer()
        self._networks = SimpleQueue[Network]()  # idle ones
        self._networks.put(lm.network)
        self._pool: ThreadPoolExecutor | None = None
        self._running = 0  # batches whose outputs were not fetched yet
        self._threads = torch.get_num_threads()

    def read(self, probes: Iterable[Probe], progress: Step | None = None) -> Readings:
        """Answer all probes; equal inputs share a forward pass, stored ones need none."""
        return self.submit(probes, progress)()

    def submit(self, probes: Iterable[Probe], progress: Step | None = None) -> Callable[[], Readings]:
        """Start answering all probes; call the returned function for the readings.

        The last batches are still running on return, so the caller can prepare the next probes meanwhile.
        """
        unique = list(dict.fromkeys(probes))
        requests = batches.merge_probes(unique)
        known = self.store.fetch([request.key for request in requests.values()])
        plan = list(batches.pack_batches(requests.values(), self.limits, self.lm.network.attention_maps))
        pending = self._run_all(plan, known, progress or (lambda _: None))

        def readings() -> Readings:
            while pending:
                self._collect(pending.popleft(), known)
            return {probe: _reading(probe, known[requests[batches.input_identity(probe)].key]) for probe in unique}

        return readings

    def _run_all(self, plan: Sequence[Sequence[Piece]], known: Known, progress: Step) -> deque[Pending]:
        """Run the batches, fetching outputs as others are queued; returns those still running."""
        total = sum(piece.tokens for batch in plan for piece in batch) or 1
        done = 0
        pending: deque[Pending] = deque()
        for batch in plan:
            missing = [part for piece in batch if (part := piece.missing(known.get(piece.request.key)))]
            pending.extend(self._start(missing) if missing else ())
            while len(pending) > IN_FLIGHT:
                self._collect(pending.popleft(), known)
            done += sum(piece.tokens for piece in batch)
            progress(done / total)
        return pending

    def _start(self, pieces: Sequence[Piece]) -> Sequence[Pending]:
        """Queue a batch on the GPU, or submit it to the worker threads of the CPU."""
        if self.on_gpu:
            outputs = self._launch(pieces)
            self._running += len(outputs)
            return outputs
        batch = batches.build_batch(pieces, self.lm.mask_id, self._pad)
        if self._pool is None:
            target = workers(self._threads)  # each with a replica of the network that shares the weights
            while self._networks.qsize() < target and (replica := self.lm.network.replicate()) is not None:
                self._networks.put(replica)
            count = min(target, self._networks.qsize())
            threads = max(1, self._threads // count)
            self._pool = ThreadPoolExecutor(count, "unmask", torch.set_num_threads, (threads,))
        self._running += 1
        return [self._pool.submit(self._run, batch)]

    def _stop_workers(self) -> None:
        """Shut down the worker pool and restore torch's thread count."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool, self._running = None, 0
            torch.set_num_threads(self._threads)

    def _launch(self, pieces: Sequence[Piece]) -> list[_BatchOutput]:
        """Run one batch on the GPU; on out-of-memory halve it and the token budget, and retry."""
        batch = batches.build_batch(pieces, self.lm.mask_id, self._pad)
        try:
            return [self._run(batch)]
        except torch.cuda.OutOfMemoryError as error:
            first, second = batches.split_batch(pieces)
            if not first:
                raise ModelError(
                    f"a sequence of {batch.ids.shape[1]} tokens does not fit on {self.lm.facts.device}: "
                    "use device cpu, dtype bf16, or leave out aula"
                ) from error
        torch.cuda.empty_cache()
        self.limits = replace(self.limits, tokens=min(self.limits.tokens, batch.ids.size // 2))
        return [*self._launch(first), *self._launch(second)]

    def _run(self, batch: Batch) -> _BatchOutput:
        network = self._networks.get()
        try:
            return self._forward(network, batch)
        finally:
            self._networks.put(network)

    @torch.inference_mode()
    def _forward(self, network: Network, batch: Batch) -> _BatchOutput:
        request, reads = batch.pieces[0].request, batch.head_reads()
        ids, lengths, splits, positions, *rest = self._to_device(
            batch.ids, batch.lengths, batch.splits, reads.positions, reads.index, reads.tokens, reads.inverse
        )
        columns = torch.arange(ids.shape[1], device=ids.device)
        attention_mask = (columns < lengths[:, None]).long() if (batch.lengths < ids.shape[1]).any() else None
        second = (columns >= splits[:, None]) & (splits[:, None] > 0) if batch.splits.any() else None
        segments = None if second is None else second.long()
        attention_received = None
        if request.head == "next":
            states = network.next_sentence_logits(ids, attention_mask, segments)[:, None]
        elif request.attention:
            states, attention_received = network.run_with_attention(ids, attention_mask, segments)
        else:
            states = network.run(ids, attention_mask, segments, positions)
        head = network.logits if request.head == "lm" else torch.Tensor.float
        logprobs, ranks = self._read(states.flatten(0, 1), reads, positions, rest, head)
        return _BatchOutput(batch, logprobs, ranks, attention_received)

    def _read(
        self,
        states: torch.Tensor,
        reads: HeadReads,
        positions: torch.Tensor,
        rest: Sequence[torch.Tensor],
        head: Callable[[torch.Tensor], torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probability and rank of every read; the head runs once per position, in chunks."""
        index, tokens, inverse = rest
        parts = []
        for begin in range(0, len(positions), self._head_rows):
            end = begin + self._head_rows
            chunk = slice(*np.searchsorted(reads.index, (begin, end)))
            parts.append(_read_tokens(head(states[positions[begin:end]]), index[chunk] - begin, tokens[chunk]))
        logprobs, ranks = (torch.cat(columns)[inverse] for columns in zip(*parts, strict=True))
        return logprobs, ranks

    def _collect(self, pending: Pending, known: Known) -> None:
        """Wait for the outputs of one batch, store them, and add them to `known`.

        The workers are stopped after the last batch or a failure.
        """
        try:
            output = pending.result() if isinstance(pending, Future) else pending
        except BaseException:
            self._stop_workers()
            raise
        self._running -= 1
        if self._running == 0:
            self._stop_workers()
        batch, new = output.batch, Known()
        self.rows_run += len(batch.ids)
        answers = list(zip(output.logprobs.tolist(), output.ranks.tolist(), strict=True))
        begin = 0
        for key, reads in batch.owners:
            end = begin + len(reads)
            new.setdefault(key, StoredReadings()).answers.update(zip(reads, answers[begin:end], strict=True))
            begin = end
        if output.attention_received is not None:
            weights = output.attention_received.double().cpu().numpy()
            for row, piece in zip(batch.row_of, batch.pieces, strict=True):
                stored = new.setdefault(piece.request.key, StoredReadings())
                stored.attention_received = weights[row, : len(piece.request.ids)]
        self.store.save(new)
        for key, stored in new.items():
            if key in known:
                known[key].merge(stored)
            else:
                known[key] = stored
        if not self.on_gpu:
            self._heap.trim()

    def _to_device(self, *arrays: Ints) -> list[torch.Tensor]:
        """Copy arrays to the device; to a GPU in one transfer, because latency dominates."""
        if not self.on_gpu:
            return [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]
        packed = torch.from_numpy(np.concatenate([array.ravel() for array in arrays])).pin_memory()
        parts = torch.split(packed.to(self.lm.network.device, non_blocking=True), [array.size for array in arrays])
        return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]


def _read_tokens(logits: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities and ranks of tokens; overwrites `logits`, because a copy costs time."""
    chosen = logits[rows, tokens]
    others = logits if len(rows) == len(logits) else logits[rows]
    higher = torch.gt(others, chosen[:, None], out=torch.empty_like(others))  # summing floats is faster
    ranks = higher.sum(-1).long()
    highest = logits.amax(-1)
    total = logits.sub_(highest[:, None]).exp_().sum(-1).log_().add_(highest)
    return chosen - total[rows], ranks


def _reading(probe: Probe, stored: StoredReadings) -> Reading:
    answers = np.array([stored.answers[read] for read in probe.reads], dtype=np.float64).reshape(-1, 2)
    received = stored.attention_received if probe.attention else None
    return Reading(answers[:, 0], answers[:, 1].astype(np.int64), received)
