"""Probes in, readings out: the one place where a language model is asked for likelihoods.

all probes ──► what the store lacks ──► batches by length ──► body, head where read ──► store ──► readings
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from unmask.errors import ModelError
from unmask.models.batch import Batch, Sought, laid_out
from unmask.models.lm import Lm
from unmask.models.memory import Heap
from unmask.models.requests import Limits, Piece, batches, halves, identity, united
from unmask.models.store import Store, Stored
from unmask.types import Ints, Probe, Reading

Readings = Mapping[Probe, Reading]
Progress = Callable[[float], None]  # the share of the asking that is done, 0 to 1
CPU_LIMITS = Limits(tokens=2048, padding=32, attention=16 << 20)
CUDA_LIMITS = Limits(tokens=98304, padding=2048, attention=1 << 28, items=2048)
IN_FLIGHT = 4  # batches a GPU may have before it while the answers of earlier ones are not yet fetched
CPU_LOGITS, CUDA_LOGITS = 2 << 20, 1 << 28  # logits held at once


@dataclass(frozen=True, slots=True)
class _Launched:
    """A batch whose answers are still on the device."""

    batch: Batch
    logprobs: torch.Tensor
    ranks: torch.Tensor
    received: torch.Tensor | None


class Engine:
    """Asks one model, remembering in `store`; `tokens` bounds the padded tokens of a batch."""

    def __init__(self, lm: Lm, store: Store | None = None, *, tokens: int | None = None) -> None:
        self.lm = lm
        self.store = store or Store(None)
        self.asked = 0  # rows put through the model so far
        self.on_gpu = lm.network.device.type != "cpu"
        standard = CUDA_LIMITS if self.on_gpu else CPU_LIMITS
        self.limits = replace(standard, tokens=tokens or standard.tokens)
        self._head_rows = max(16, (CUDA_LOGITS if self.on_gpu else CPU_LOGITS) // lm.network.vocabulary)
        pad = lm.tokenizer.pad_token_id
        self._pad = 0 if pad is None else int(pad)
        self._heap = Heap()

    def read(self, probes: Iterable[Probe], progress: Progress | None = None) -> Readings:
        """Answer all probes; equal ones share a forward pass, known ones cost none."""
        return self.ask(probes, progress)()

    def ask(self, probes: Iterable[Probe], progress: Progress | None = None) -> Callable[[], Readings]:
        """Ask all probes; call what is returned for the answers.

        On a GPU the last batches are then still running: the caller can prepare the next questions meanwhile.
        """
        wanted = list(dict.fromkeys(probes))
        requests = united(wanted)
        known = self.store.fetch([request.key for request in requests.values()])
        plan = list(batches(requests.values(), self.limits, self.lm.network.attention_maps))
        waiting = self._ask(plan, known, progress or (lambda _: None))

        def readings() -> Readings:
            while waiting:
                self._collect(waiting.popleft(), known)
            return {probe: _reading(probe, known[requests[identity(probe)].key]) for probe in wanted}

        return readings

    def _ask(
        self, plan: Sequence[Sequence[Piece]], known: dict[bytes, Stored], progress: Progress
    ) -> deque[_Launched]:
        """Run the batches; on a GPU answers are fetched while others are queued, the last by the caller."""
        total = sum(piece.tokens for batch in plan for piece in batch) or 1
        done = 0
        waiting: deque[_Launched] = deque()
        for batch in plan:
            lacking = [part for piece in batch if (part := piece.lacking(known.get(piece.request.key)))]
            waiting.extend(self._launch(lacking) if lacking else ())
            while len(waiting) > (IN_FLIGHT if self.on_gpu else 0):
                self._collect(waiting.popleft(), known)
            if not self.on_gpu:
                self._heap.settle()
            done += sum(piece.tokens for piece in batch)
            progress(done / total)
        return waiting

    def _launch(self, pieces: Sequence[Piece]) -> list[_Launched]:
        """Run one batch; when the device has no room for it, halve it and the budget, and go on."""
        batch = laid_out(pieces, self.lm.mask_id, self._pad)
        try:
            return [self._run(batch)]
        except torch.cuda.OutOfMemoryError as error:
            first, second = halves(pieces)
            if not first:
                raise ModelError(
                    f"one sentence of {batch.ids.shape[1]} tokens does not fit on {self.lm.facts.device}: "
                    "use --device cpu, --dtype bf16 or leave out aula"
                ) from error
        torch.cuda.empty_cache()
        self.limits = replace(self.limits, tokens=min(self.limits.tokens, batch.ids.size // 2))
        return [*self._launch(first), *self._launch(second)]

    @torch.inference_mode()
    def _run(self, batch: Batch) -> _Launched:
        network, request, sought = self.lm.network, batch.pieces[0].request, batch.sought()
        self.asked += len(batch.ids)
        ids, lengths, splits, places, *rest = self._on_device(
            batch.ids, batch.lengths, batch.splits, sought.places, sought.number, sought.tokens, sought.back
        )
        along = torch.arange(ids.shape[1], device=ids.device)
        kept = (along < lengths[:, None]).long() if (batch.lengths < ids.shape[1]).any() else None
        second = (along >= splits[:, None]) & (splits[:, None] > 0) if batch.splits.any() else None
        segments = None if second is None else second.long()
        received = None
        if request.head == "next":
            states = network.next_logits(ids, kept, segments)[:, None]
        elif request.attention:
            states, received = network.hidden_and_received(ids, kept, segments)
        else:
            states = network.hidden(ids, kept, segments, places)
        head = network.logits if request.head == "lm" else torch.Tensor.float
        return _Launched(batch, *self._read(states.flatten(0, 1), sought, places, rest, head), received)

    def _read(
        self,
        states: torch.Tensor,
        sought: Sought,
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

    def _collect(self, launched: _Launched, known: dict[bytes, Stored]) -> None:
        """Bring the answers of one batch home, store them, and add them to what is known."""
        batch, new = launched.batch, dict[bytes, Stored]()
        answers = list(zip(launched.logprobs.tolist(), launched.ranks.tolist(), strict=True))
        begin = 0
        for key, reads in batch.owners:
            end = begin + len(reads)
            new.setdefault(key, Stored()).answers.update(zip(reads, answers[begin:end], strict=True))
            begin = end
        if launched.received is not None:
            weights = launched.received.double().cpu().numpy()
            for row, piece in zip(batch.row_of, batch.pieces, strict=True):
                stored = new.setdefault(piece.request.key, Stored())
                stored.received = weights[row, : len(piece.request.ids)]
        self.store.save(new)
        for key, stored in new.items():
            if key in known:
                known[key].merge(stored)
            else:
                known[key] = stored

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
    wanted = logits[rows, tokens]
    others = logits if len(rows) == len(logits) else logits[rows]
    higher = torch.gt(
        others, wanted[:, None], out=torch.empty_like(others)
    )  # floats add up quicker than bools
    return wanted - logits.logsumexp(-1)[rows], higher.sum(-1).long()


def _reading(probe: Probe, stored: Stored) -> Reading:
    answers = np.array([stored.answers[read] for read in probe.reads], dtype=np.float64).reshape(-1, 2)
    return Reading(
        answers[:, 0], answers[:, 1].astype(np.int64), stored.received if probe.attention else None
    )
