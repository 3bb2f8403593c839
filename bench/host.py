"""Processor time of the host in an audit by CPS and by the battery of seven measures, without a network.

    python bench/host.py --data-dir DIR

Everything is done as on a GPU, from sentences to scored rows, except the forward pass: its place is taken by a function
that returns at once. What is left is what a GPU may have to wait for. The first line of each block is measured
alone; the stages below it are measured in other runs, because measuring takes time too.

With `--busy SECONDS` a GPU is imitated that takes so long for the battery, in proportion to the tokens of a batch, and
`--launch` seconds of the host for each batch: the last line shows the time from sentences to scored rows.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

import shapes
from gpu import WORK
from unmask.audit import checks, scoring
from unmask.measures import find, spans
from unmask.models import Engine, Lm, Store, batches, engine, open_lm

TINY = {"vocab_size": 30522, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
STAGES: dict[str, Sequence[tuple[Any, str]]] = {
    "tokenise": [(Lm, "prime")],
    "plan probes": [(scoring, "_plan_probes")],
    "merge probes": [(engine, "Submission")],
    "pack": [(batches.Submission, "pack")],
    "build batches": [(batches.Submission, "build_batch"), (batches.Batch, "head_reads")],
    "collect": [(Engine, "_collect")],
    "evidence": [(checks.Evidence, name) for name in ("more_probes", "add_items", "add_readings")],
    "score": [(scoring, "_sum_values"), (scoring._Scorer, "score")],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("UNMASK_DATA_DIR"))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--busy", type=float, default=0.5, help="seconds an imitated GPU computes for the battery")
    parser.add_argument("--launch", type=float, default=0.003, help="seconds the host takes to launch a batch on it")
    args = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["RAYON_NUM_THREADS"] = "1"  # of the tokenizer
    items = shapes.pairs(args.data_dir)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNMASK_CACHE_DIR"] = f"{folder}/cache"
        lm = open_lm(shapes.build(Path(folder) / "tiny", items, TINY))
    for work, names in WORK.items():
        best = min(_measure_seconds(lm, items, names)[0] for _ in range(args.repeats))
        print(f"{work}, {len(items)} pairs: {best:.3f} s of processor time, first batch after", end=" ")
        print(f"{min(_measure_seconds(lm, items, names)[1] for _ in range(args.repeats)):.3f} s")
        runs = [_measure_stages(lm, items, names) for _ in range(args.repeats)]
        for stage in STAGES:
            print(f"  {stage:<14} {min(run[stage] for run in runs):.3f}")
    total = _tokens(lm, items, WORK["battery"])
    for work, names in WORK.items():
        gpus = [ImitatedGpu(args.busy / total, args.launch) for _ in range(args.repeats)]
        seconds, gpu = min(((gpu.time(lm, items, names), gpu) for gpu in gpus), key=lambda run: run[0])
        print(
            f"{work} with an imitated GPU: {seconds:.3f} s, busy {gpu.busy:.3f} s, ratio {seconds / gpu.busy:.2f}; ",
            end="",
        )
        print(f"{gpu.batches} batches")


def _measure_seconds(lm: Lm, items: Any, names: Sequence[str]) -> tuple[float, float]:
    """Seconds of processor time in all, and until the first batch is run."""
    began: list[float] = []

    def answer(engine: Engine, network: Any, batch: batches.Batch) -> Any:
        began.append(time.process_time())
        return answer_at_once(engine, network, batch)

    _forget(lm)
    begin = time.process_time()
    run(lm, items, names, answer)
    return time.process_time() - begin, began[0] - begin


def _measure_stages(lm: Lm, items: Any, names: Sequence[str]) -> dict[str, float]:
    _forget(lm)
    seconds: dict[str, float] = defaultdict(float)
    with contextlib.ExitStack() as stack:
        for stage, functions in STAGES.items():
            for owner, name in functions:
                timed = _add_seconds(getattr(owner, name), seconds, stage)
                stack.enter_context(patch.object(owner, name, timed))
        run(lm, items, names, answer_at_once)
    return seconds


def _add_seconds(function: Callable[..., Any], seconds: dict[str, float], stage: str) -> Callable[..., Any]:
    """The function, with its processor time added to that of its stage."""

    def timed_call(*args: Any, **options: Any) -> Any:
        begin = time.process_time()
        result = function(*args, **options)
        if isinstance(result, Iterator):
            result = iter(list(result))
        seconds[stage] += time.process_time() - begin
        return result

    return timed_call


class ImitatedGpu:
    """Computes batches one after the other, `rate` seconds for each token, while the host goes on.

    Its clock counts the processor time of the host, which other programs do not change, and what the host waits.
    """

    def __init__(self, rate: float, launch: float) -> None:
        self.rate, self.launch = rate, launch
        self.waited, self.free, self.busy, self.batches = 0.0, 0.0, 0.0, 0

    @property
    def now(self) -> float:
        """The time on its clock."""
        return time.process_time() + self.waited

    def time(self, lm: Lm, items: Any, names: Sequence[str]) -> float:
        """Seconds from sentences to scored rows."""
        _forget(lm)
        begin = self.now
        run(lm, items, names, lambda _, __, batch: self.answer(batch))
        return self.now - begin

    def answer(self, batch: batches.Batch) -> Any:
        """The outputs of a batch, which come when it is computed."""
        output, seconds = fake_output(batch, batch.head_reads()), batch.ids.size * self.rate
        self.waited += self.launch
        self.free = max(self.free, self.now) + seconds
        self.busy, self.batches = self.busy + seconds, self.batches + 1
        return replace(output, copied=_Finished(self, self.free))


@dataclass(frozen=True)
class _Finished:
    """Stands for an event of the GPU."""

    gpu: ImitatedGpu
    at: float

    def query(self) -> bool:
        """Whether it has happened."""
        return self.gpu.now >= self.at

    def synchronize(self) -> None:
        """Wait for it."""
        self.gpu.waited += max(0.0, self.at - self.gpu.now)


def _tokens(lm: Lm, items: Any, names: Sequence[str]) -> int:
    """Padded tokens of all batches."""
    gpu = ImitatedGpu(1.0, 0.0)
    run(lm, items, names, lambda _, __, batch: replace(gpu.answer(batch), copied=None))
    return int(gpu.busy)


def _forget(lm: Lm) -> None:
    """Forget what an earlier run has encoded and aligned."""
    lm._encoded.clear()
    spans.align.cache_clear()


def answer_at_once(engine: Engine, _: Any, batch: batches.Batch) -> Any:
    """In place of a forward pass: a number for every read."""
    positions = batch.head_reads()
    return fake_output(batch, positions)


def fake_output(batch: batches.Batch, reads: batches.HeadReads) -> Any:
    count = len(reads.tokens)
    received = None
    if batch.attention:
        received = torch.full(batch.ids.shape, 0.1)
    return engine._BatchOutput(batch, torch.full((count,), -1.0), torch.ones(count, dtype=torch.long), received)


def run(lm: Lm, items: Any, names: Sequence[str], answer: Callable[..., Any]) -> list[Any]:
    """Score the items with `answer` in place of the forward pass; returns the scored rows."""
    measures = [find(name) for name in names]
    started = Engine(lm, Store(None))
    started.limits, started.on_gpu = engine.CUDA_LIMITS, True
    with patch.object(Engine, "_forward", answer):
        chunks = scoring.score_items(
            "crows-pairs", items, measures, started, evidence=checks.Evidence(), progress=lambda _: None
        )
        return [row for chunk in chunks for row in chunk]


if __name__ == "__main__":
    main()
