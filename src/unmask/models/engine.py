"""Probes in, readings out: the only code that queries a language model for log-probabilities.

probes ──► inputs not in the store ──► batches by length ──► body, head where read ──► store ──► readings
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue

import numpy as np
import torch

from unmask.core.errors import ModelError
from unmask.core.progress import Step
from unmask.core.types import Floats, Ints, Probe
from unmask.models.answerer import Answerer
from unmask.models.batches import Batch, BatchLimits, HeadReads, Readings, Submission, input_key
from unmask.models.fast import HeapTrimmer, workers
from unmask.models.lm import Lm
from unmask.models.network import HeadReader, Network
from unmask.models.store import READ, Store, StoredReadings

CPU_LIMITS = BatchLimits(tokens=1024, padding=32, attention=8 << 20)
CUDA_LIMITS = BatchLimits(tokens=98304, padding=4096, attention=1 << 28, items=384, by_length=2048)
CPU_IN_FLIGHT, CUDA_IN_FLIGHT = 4, 64  # batches running or queued before the outputs of the oldest are waited for
CPU_LOGITS, CUDA_LOGITS = 2 << 20, 1 << 28  # logits held at once
HEAD_ROWS = 256  # positions at once where the head is applied by parts of the vocabulary


@dataclass(frozen=True, slots=True)
class _BatchOutput:
    """A batch and its outputs, in the memory of the host."""

    batch: Batch
    logprobs: torch.Tensor
    ranks: torch.Tensor
    attention_received: torch.Tensor | None
    copied: torch.cuda.Event | None = None  # when a GPU has computed and copied them; None: they are there

    def is_copied(self) -> bool:
        """Whether the outputs are there."""
        return self.copied is None or bool(self.copied.query())  # type: ignore[no-untyped-call]

    def result(self) -> _BatchOutput:
        """Itself, once the outputs are there."""
        if self.copied is not None:
            self.copied.synchronize()
        return self


Pending = _BatchOutput | Future[_BatchOutput]  # of the GPU, or of a worker thread of the CPU


def _is_done(pending: Pending) -> bool:
    return pending.done() if isinstance(pending, Future) else pending.is_copied()


class Engine(Answerer):
    """Answers probes with one model, caching in `store`; `tokens` limits the padded tokens of a batch."""

    def __init__(self, lm: Lm, store: Store | None = None, *, tokens: int | None = None) -> None:
        self.lm: Lm = lm
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

    def submit(self, probes: Iterable[Probe], progress: Step | None = None) -> Callable[[], Readings]:
        """Start answering all probes: the last batches are still running on return."""
        asked = Submission(probes, self.lm.mask_id)
        self._fetch(asked)
        pending = self._run_all(asked, progress or (lambda _: None))

        def readings() -> Readings:
            while pending:
                self._collect(pending.popleft(), asked)
            return Readings(asked)

        return readings

    def _fetch(self, asked: Submission) -> None:
        """Fill in what the store has."""
        keys = [input_key(identity) for identity in asked.inputs] if self.store.is_open else []
        known = self.store.fetch(keys)
        found = [(number, known[key]) for number, key in enumerate(keys) if key in known]
        for number, stored in found:
            if stored.attention_received is not None:
                asked.receive(number, stored.attention_received)
        if found and len(asked.read_keys):
            table = np.concatenate([stored.reads for _, stored in found])
            owner = np.repeat([number for number, _ in found], [len(stored.reads) for _, stored in found])
            places, wanted = asked.find_reads(owner, table["position"], table["token"])
            places, table = places[wanted], table[wanted]
            asked.logprobs[places], asked.ranks[places], asked.is_read[places] = table["logprob"], table["rank"], True

    def _run_all(self, asked: Submission, progress: Step) -> deque[Pending]:
        """Run the batches, fetching outputs as they come; returns those still running.

        A GPU is given batches without waiting for any: it then computes while the host plans the next ones.
        """
        most = CUDA_IN_FLIGHT if self.on_gpu else CPU_IN_FLIGHT
        needed, tokens = asked.rows_to_run(), asked.length[asked.row_input]
        total, done = int(tokens.sum()) or 1, 0
        pending: deque[Pending] = deque()
        longest = self.lm.network.longest_in_trees if self.lm.kind == "causal" else 0
        for rows in asked.pack(self.limits, self.lm.network.attention_maps, longest):
            missing = rows[needed[rows]]
            pending.extend(self._start(asked, missing) if len(missing) else ())
            while pending and (len(pending) > most or _is_done(pending[0])):
                self._collect(pending.popleft(), asked)
            done += int(tokens[rows].sum())
            progress(done / total)
        return pending

    def _start(self, asked: Submission, rows: Ints) -> Sequence[Pending]:
        """Queue a batch on the GPU, or submit it to the worker threads of the CPU."""
        if self.on_gpu:
            outputs = self._launch(asked, rows)
            self._running += len(outputs)
            return outputs
        batch = asked.build_batch(rows, self._pad)
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

    def _launch(self, asked: Submission, rows: Ints) -> list[_BatchOutput]:
        """Run one batch on the GPU; on out-of-memory halve it and the token budget, and retry."""
        batch = asked.build_batch(rows, self._pad)
        try:
            return [self._run(batch)]
        except torch.cuda.OutOfMemoryError as error:
            if len(rows) == 1:
                raise ModelError(
                    f"a sequence of {batch.ids.shape[1]} tokens does not fit on {self.lm.facts.device}: "
                    "use device cpu, dtype bf16, or leave out aula"
                ) from error
        torch.cuda.empty_cache()
        self.limits = replace(self.limits, tokens=min(self.limits.tokens, batch.ids.size // 2))
        middle = len(rows) // 2
        return [*self._launch(asked, rows[:middle]), *self._launch(asked, rows[middle:])]

    def _run(self, batch: Batch) -> _BatchOutput:
        network = self._networks.get()
        try:
            with network.products():
                return self._forward(network, batch)
        finally:
            self._networks.put(network)

    @torch.inference_mode()
    def _forward(self, network: Network, batch: Batch) -> _BatchOutput:
        reads, trees = batch.head_reads(), batch.trees
        inputs = (batch.ids, batch.lengths, batch.splits) if trees is None else (trees.ids, trees.positions, trees.ends)
        *given, positions, index, tokens, inverse = self._to_device(
            *inputs, reads.positions, reads.index, reads.tokens, reads.inverse
        )
        rest, attention_received = (index, tokens, inverse), None
        if trees is not None:
            states = network.run_trees(*given)
        else:
            states, attention_received = _run_rows(network, batch, given, positions)
        lm_head = network.raw_logits if self.on_gpu else network.logits
        head = lm_head if batch.head == "lm" else torch.Tensor.float
        read: HeadReader = partial(_read_tokens, head)
        in_parts = network.parts_reader() if batch.head == "lm" else None
        rows = self._head_rows if in_parts is None else HEAD_ROWS
        logprobs, ranks = self._read(states.flatten(0, 1), reads, positions, rest, in_parts or read, rows)
        ranks.masked_fill_(~logprobs.isfinite(), network.vocab_size)  # nothing compares with NaN
        return _to_host(batch, logprobs, ranks, attention_received)

    def _read(
        self,
        states: torch.Tensor,
        reads: HeadReads,
        positions: torch.Tensor,
        rest: Sequence[torch.Tensor],
        read: HeadReader,
        rows: int,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probability and rank of every read; the head runs once per position, in chunks of so many rows."""
        index, tokens, inverse = rest
        parts = []
        for begin in range(0, len(positions), rows):
            end = begin + rows
            chunk = slice(*np.searchsorted(reads.index, (begin, end)))
            parts.append(read(states[positions[begin:end]], index[chunk] - begin, tokens[chunk]))
        logprobs, ranks = (torch.cat(columns)[inverse] for columns in zip(*parts, strict=True))
        return logprobs, ranks

    def _collect(self, pending: Pending, asked: Submission) -> None:
        """Wait for the outputs of one batch, store them, and add them to the submission.

        The workers are stopped after the last batch or a failure.
        """
        try:
            output = pending.result()
        except BaseException:
            self._stop_workers()
            raise
        self._running -= 1
        if self._running == 0:
            self._stop_workers()
        batch = output.batch
        self.rows_run += len(batch.ids)
        received = output.attention_received
        logprobs, ranks = output.logprobs.numpy(), output.ranks.numpy()
        asked.record(batch, logprobs, ranks, None if received is None else received.double().numpy())
        if self.store.is_open:
            self.store.save(dict(_storable(asked, batch, logprobs, ranks)))
        if not self.on_gpu:
            self._heap.trim()

    def _to_device(self, *arrays: Ints) -> list[torch.Tensor]:
        """Copy arrays to the device; to a GPU in one transfer, because latency dominates."""
        if not self.on_gpu:
            return [torch.from_numpy(np.ascontiguousarray(array)) for array in arrays]
        packed = torch.from_numpy(np.concatenate([array.ravel() for array in arrays])).pin_memory()
        parts = torch.split(packed.to(self.lm.network.device, non_blocking=True), [array.size for array in arrays])
        return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]


def _run_rows(
    network: Network, batch: Batch, given: Sequence[torch.Tensor], positions: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """What the head takes for the rows of a batch, and the attention received if it is asked for."""
    ids, lengths, splits = given
    columns = torch.arange(ids.shape[1], device=ids.device)
    attention_mask = (columns < lengths[:, None]).long() if (batch.lengths < ids.shape[1]).any() else None
    second = (columns >= splits[:, None]) & (splits[:, None] > 0) if batch.splits.any() else None
    segments = None if second is None else second.long()
    if batch.head == "next":
        return network.next_sentence_logits(ids, attention_mask, segments)[:, None], None
    if batch.attention:
        return network.run_with_attention(ids, attention_mask, segments)
    return network.run(ids, attention_mask, segments, positions), None


def _read_tokens(
    head: Callable[[torch.Tensor], torch.Tensor], states: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities and ranks of tokens, in fp32; overwrites the logits on a CPU, because a copy costs time.

    The rank of a token counts the others that are at least as likely: a model that finds all alike ranks none first.
    """
    logits = head(states)
    chosen = logits[rows, tokens]
    others = logits if len(rows) == len(logits) else logits[rows]
    if logits.is_cuda:  # fewer passes over the memory
        ranks = (others >= chosen[:, None]).sum(-1) - 1
        logprobs = torch.log_softmax(logits, -1, dtype=torch.float32)[rows, tokens]
    else:
        reached = torch.ge(others, chosen[:, None], out=torch.empty_like(others))  # summing floats is faster
        ranks = reached.sum(-1).long() - 1
        highest = logits.amax(-1)
        total = logits.sub_(highest[:, None]).exp_().sum(-1).log_().add_(highest)
        logprobs = chosen - total[rows]
    return logprobs, ranks


def _to_host(batch: Batch, logprobs: torch.Tensor, ranks: torch.Tensor, received: torch.Tensor | None) -> _BatchOutput:
    """The outputs of a batch, whose copies are queued right behind it: later ones would wait for later batches too."""
    device, on_cuda = logprobs.device, logprobs.is_cuda
    logprobs, ranks = (tensor.to("cpu", non_blocking=on_cuda) for tensor in (logprobs, ranks))
    received = None if received is None else received.to("cpu", non_blocking=on_cuda)
    copied = torch.cuda.current_stream(device).record_event() if on_cuda else None
    return _BatchOutput(batch, logprobs, ranks, received, copied)


def _storable(asked: Submission, batch: Batch, logprobs: Floats, ranks: Ints) -> Iterator[tuple[bytes, StoredReadings]]:
    """What a batch read, by the key of the input; only what is finite is stored."""
    table = np.empty(len(logprobs), dtype=READ)
    for name, column in zip(READ.names or (), (batch.reads[:, 1], batch.reads[:, 2], logprobs, ranks), strict=True):
        table[name] = column
    finite = np.isfinite(logprobs)
    table, owner = table[finite], asked.read_input[batch.places[finite]]
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    for number, part in zip(owner[begins].tolist(), np.split(table, begins)[1:], strict=True):
        received = asked.received_by(number)
        if received is not None and not np.isfinite(received).all():
            received = None
        yield input_key(asked.inputs[number]), StoredReadings(part, received)
