"""Probes in, readings out: the one place where a language model is asked for likelihoods.

all probes ──► what the store lacks ──► batches by length ──► body, head where read ──► store ──► readings
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import SimpleQueue

import numpy as np
import torch

from unmask.core.errors import ModelError
from unmask.core.types import Ints, Probe, Reading
from unmask.models.batches import Batch, HeadReads, build_batch
from unmask.models.fast import HeapTrimmer
from unmask.models.lm import Lm
from unmask.models.network import Network
from unmask.models.requests import BatchLimits, Piece, input_identity, merge_probes, pack_batches, split_batch
from unmask.models.store import Store, StoredReadings

Readings = Mapping[Probe, Reading]
Progress = Callable[[float], None]  # the share of the asking that is done, 0 to 1
CPU_LIMITS = BatchLimits(tokens=1024, padding=32, attention=8 << 20)
CUDA_LIMITS = BatchLimits(tokens=98304, padding=2048, attention=1 << 28, items=2048)
IN_FLIGHT = 4  # batches a device may have before it while the answers of earlier ones are not yet fetched
WORKERS = 4  # batches a processor works on at once, its cores shared out among them
CPU_LOGITS, CUDA_LOGITS = 2 << 20, 1 << 28  # logits held at once


@dataclass(frozen=True, slots=True)
class _Launched:
    """A batch whose answers are still on the device."""

    batch: Batch
    logprobs: torch.Tensor
    ranks: torch.Tensor
    received: torch.Tensor | None


Pending = Callable[[], _Launched]


class Engine:
    """Asks one model, remembering in `store`; `tokens` bounds the padded tokens of a batch."""

    def __init__(self, lm: Lm, store: Store | None = None, *, tokens: int | None = None) -> None:
        self.lm = lm
        self.store = store or Store(None)
        self.rows_run = 0  # rows put through the model so far
        self.on_gpu = lm.network.device.type != "cpu"
        standard = CUDA_LIMITS if self.on_gpu else CPU_LIMITS
        self.limits = replace(standard, tokens=tokens or standard.tokens)
        self._head_rows = max(16, (CUDA_LOGITS if self.on_gpu else CPU_LOGITS) // lm.network.vocab_size)
        pad = lm.tokenizer.pad_token_id
        self._pad = 0 if pad is None else int(pad)
        self._heap = HeapTrimmer()
        self._networks = SimpleQueue[Network]()  # those not at work
        self._networks.put(lm.network)
        self._pool: ThreadPoolExecutor | None = None
        self._running = 0  # batches whose answers were not fetched yet
        self._threads = torch.get_num_threads()

    def read(self, probes: Iterable[Probe], progress: Progress | None = None) -> Readings:
        """Answer all probes; equal ones share a forward pass, known ones cost none."""
        return self.submit(probes, progress)()

    def submit(self, probes: Iterable[Probe], progress: Progress | None = None) -> Callable[[], Readings]:
        """Ask all probes; call what is returned for the answers.

        The last batches are then still running: the caller can prepare the next questions meanwhile.
        """
        wanted = list(dict.fromkeys(probes))
        requests = merge_probes(wanted)
        known = self.store.fetch([request.key for request in requests.values()])
        plan = list(pack_batches(requests.values(), self.limits, self.lm.network.attention_maps))
        waiting = self._ask(plan, known, progress or (lambda _: None))

        def readings() -> Readings:
            while waiting:
                self._collect(waiting.popleft(), known)
            return {probe: _reading(probe, known[requests[input_identity(probe)].key]) for probe in wanted}

        return readings

    def _ask(
        self, plan: Sequence[Sequence[Piece]], known: dict[bytes, StoredReadings], progress: Progress
    ) -> deque[Pending]:
        """Run the batches; answers are fetched while others are queued, the last by the caller."""
        total = sum(piece.tokens for batch in plan for piece in batch) or 1
        done = 0
        waiting: deque[Pending] = deque()
        for batch in plan:
            lacking = [part for piece in batch if (part := piece.lacking(known.get(piece.request.key)))]
            waiting.extend(self._begun(lacking) if lacking else ())
            while len(waiting) > IN_FLIGHT:
                self._collect(waiting.popleft(), known)
            done += sum(piece.tokens for piece in batch)
            progress(done / total)
        return waiting

    def _begun(self, pieces: Sequence[Piece]) -> list[Pending]:
        """Put a batch before the device; a processor works on several at once, with a share of cores each."""
        if self.on_gpu:
            launched = self._launch(pieces)
            self._running += len(launched)
            return [functools.partial(_given, one) for one in launched]
        batch = build_batch(pieces, self.lm.mask_id, self._pad)
        if self._pool is None:
            self._pool = self._workers()
        self._running += 1
        return [self._pool.submit(self._run, batch).result]

    def _workers(self) -> ThreadPoolExecutor:
        """Threads that multiply, each on a copy of the network that shares the weights."""
        wanted = max(1, min(WORKERS, self._threads))
        while self._networks.qsize() < wanted and (replica := self.lm.network.replicate()) is not None:
            self._networks.put(replica)
        workers = min(wanted, self._networks.qsize())
        share = max(1, self._threads // workers)
        return ThreadPoolExecutor(workers, "unmask", torch.set_num_threads, (share,))

    def _rest(self) -> None:
        """Let the workers go, and give all cores back to whoever multiplies next."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool, self._running = None, 0
            torch.set_num_threads(self._threads)

    def _launch(self, pieces: Sequence[Piece]) -> list[_Launched]:
        """Run one batch; when the device has no room for it, halve it and the budget, and go on."""
        batch = build_batch(pieces, self.lm.mask_id, self._pad)
        try:
            return [self._run(batch)]
        except torch.cuda.OutOfMemoryError as error:
            first, second = split_batch(pieces)
            if not first:
                raise ModelError(
                    f"one sentence of {batch.ids.shape[1]} tokens does not fit on {self.lm.facts.device}: "
                    "use --device cpu, --dtype bf16 or leave out aula"
                ) from error
        torch.cuda.empty_cache()
        self.limits = replace(self.limits, tokens=min(self.limits.tokens, batch.ids.size // 2))
        return [*self._launch(first), *self._launch(second)]

    def _run(self, batch: Batch) -> _Launched:
        network = self._networks.get()
        try:
            return self._through(network, batch)
        finally:
            self._networks.put(network)

    @torch.inference_mode()
    def _through(self, network: Network, batch: Batch) -> _Launched:
        request, sought = batch.pieces[0].request, batch.head_reads()
        ids, lengths, splits, places, *rest = self._on_device(
            batch.ids, batch.lengths, batch.splits, sought.places, sought.number, sought.tokens, sought.back
        )
        along = torch.arange(ids.shape[1], device=ids.device)
        kept = (along < lengths[:, None]).long() if (batch.lengths < ids.shape[1]).any() else None
        second = (along >= splits[:, None]) & (splits[:, None] > 0) if batch.splits.any() else None
        segments = None if second is None else second.long()
        received = None
        if request.head == "next":
            states = network.next_sentence_logits(ids, kept, segments)[:, None]
        elif request.attention:
            states, received = network.hidden_states_and_attention(ids, kept, segments)
        else:
            states = network.hidden_states(ids, kept, segments, places)
        head = network.logits if request.head == "lm" else torch.Tensor.float
        return _Launched(batch, *self._read(states.flatten(0, 1), sought, places, rest, head), received)

    def _read(
        self,
        states: torch.Tensor,
        sought: HeadReads,
        places: torch.Tensor,
        rest: Sequence[torch.Tensor],
        head: Callable[[torch.Tensor], torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probability and rank of every read; the head sees each place once, some at a time."""
        number, tokens, back = rest
        parts = []
        for begin in range(0, len(places), self._head_rows):
            end = begin + self._head_rows
            some = slice(*np.searchsorted(sought.number, (begin, end)))
            parts.append(_read_tokens(head(states[places[begin:end]]), number[some] - begin, tokens[some]))
        return torch.cat([part[0] for part in parts])[back], torch.cat([part[1] for part in parts])[back]

    def _collect(self, pending: Pending, known: dict[bytes, StoredReadings]) -> None:
        """Bring the answers of one batch home, store them, and add them to what is known."""
        launched = self._fetched(pending)
        batch, new = launched.batch, dict[bytes, StoredReadings]()
        self.rows_run += len(batch.ids)
        answers = list(zip(launched.logprobs.tolist(), launched.ranks.tolist(), strict=True))
        begin = 0
        for key, reads in batch.owners:
            end = begin + len(reads)
            new.setdefault(key, StoredReadings()).answers.update(zip(reads, answers[begin:end], strict=True))
            begin = end
        if launched.received is not None:
            weights = launched.received.double().cpu().numpy()
            for row, piece in zip(batch.row_of, batch.pieces, strict=True):
                stored = new.setdefault(piece.request.key, StoredReadings())
                stored.received = weights[row, : len(piece.request.ids)]
        self.store.save(new)
        for key, stored in new.items():
            if key in known:
                known[key].merge(stored)
            else:
                known[key] = stored
        if not self.on_gpu:
            self._heap.trim()

    def _fetched(self, pending: Pending) -> _Launched:
        """Wait for one batch; after the last, or when one fails, nothing runs on."""
        try:
            launched = pending()
        except BaseException:
            self._rest()
            raise
        self._running -= 1
        if self._running == 0:
            self._rest()
        return launched

    def _on_device(self, *numbers: Ints) -> list[torch.Tensor]:
        """All numbers of a batch; to a GPU in one transfer, for each would cost as much as all."""
        if not self.on_gpu:
            return [torch.from_numpy(np.ascontiguousarray(one)) for one in numbers]
        packed = torch.from_numpy(np.concatenate([one.ravel() for one in numbers])).pin_memory()
        sent = packed.to(self.lm.network.device, non_blocking=True)
        parts = torch.split(sent, [one.size for one in numbers])
        return [part.view(one.shape) for part, one in zip(parts, numbers, strict=True)]


def _read_tokens(
    logits: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities and ranks of tokens; the logits are used up: a second array of them costs time."""
    wanted = logits[rows, tokens]
    others = logits if len(rows) == len(logits) else logits[rows]
    higher = torch.gt(
        others, wanted[:, None], out=torch.empty_like(others)
    )  # floats add up quicker than bools
    ranks = higher.sum(-1).long()
    highest = logits.amax(-1)
    total = logits.sub_(highest[:, None]).exp_().sum(-1).log_().add_(highest)
    return wanted - total[rows], ranks


def _given(launched: _Launched) -> _Launched:
    return launched


def _reading(probe: Probe, stored: StoredReadings) -> Reading:
    answers = np.array([stored.answers[read] for read in probe.reads], dtype=np.float64).reshape(-1, 2)
    return Reading(
        answers[:, 0], answers[:, 1].astype(np.int64), stored.received if probe.attention else None
    )
