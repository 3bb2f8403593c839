"""What it takes to audit very many models, or to count a very large corpus: rates, schedule, cost.

    python bench/scale.py                   from the rates written below, in seconds
    python bench/scale.py --measure DIR     measure this machine's rates first (DIR: a folder of text)

A schedule is simulated as Ray would place equal tasks: the next model goes to the worker that is free first.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

PAIRS = 1_508  # CrowS-Pairs
TOKENS_A_PAIR = 2 * 15 * 17  # positions times length, two sentences
BYTES_A_TOKEN = 4.5  # of English text


@dataclass(frozen=True)
class Rates:
    """What one node does."""

    gpu: float = 38e12  # operations a second of an audit in fp32 on one H200 (docs/speed.md)
    bf16: float = 129.6e12  # the same in bf16
    cpu: float = 204e9  # two CPU cores
    download: float = 125e6  # bytes a second of one node: 1 Gbit/s, assumed
    disk: float = 1e9  # bytes a second a checkpoint is read with, assumed
    planning: float = 1.0  # seconds of host work beside the GPU for one audit, about (docs/speed.md)
    opening: float = 3.0  # seconds of Python a model takes to open
    counted: float = 60e6  # bytes a second one core counts (docs/scale.md), unless measured anew


@dataclass(frozen=True)
class Prices:
    """Assumed list prices in dollars; change them to yours."""

    gpu_hour: float = 4.0
    core_hour: float = 0.04
    gigabyte_out: float = 0.0  # of a hub that gives models away


@dataclass(frozen=True)
class Model:
    """One of the hub's."""

    weights: float
    used: float  # weights a token meets

    @property
    def bytes(self) -> float:
        """In fp32."""
        return 4 * self.weights


def hub(count: int, seed: int = 0) -> list[Model]:
    """Sizes like the hub's masked models: mostly base size, some large, few huge (an assumption)."""
    rng = random.Random(seed)
    kinds = [(66e6, 42e6), (110e6, 85e6), (125e6, 85e6), (355e6, 302e6), (560e6, 302e6), (1.5e9, 1.4e9)]
    return [Model(*kind) for kind in rng.choices(kinds, weights=[15, 45, 25, 9, 4, 2], k=count)]


def seconds(model: Model, rates: Rates, *, rate: float) -> tuple[float, float, float]:
    """Of one audit by CPS: fetching, opening, asking."""
    fetch = model.bytes / rates.download
    open_ = model.bytes / rates.disk + rates.opening
    return fetch, open_, max(rates.planning, 2 * model.used * TOKENS_A_PAIR * PAIRS / rate)


def schedule(jobs: Sequence[float], workers: int) -> float:
    """When the last job ends, if each goes to the worker that is free first."""
    free = [0.0] * workers
    for job in jobs:
        heapq.heappush(free, heapq.heappop(free) + job)
    return max(free)


def audits(count: int, rates: Rates, prices: Prices) -> None:
    models = hub(count)
    size = sum(one.bytes for one in models) / 1e12
    print(f"{count:,} models, CPS over {PAIRS:,} pairs each; {size:.1f} TB of weights")
    head = ("workers", "numbers", "overlap", "hours", "GPU hours", "dollars")
    print(" ".join(f"{one:>9}" for one in head), " most time")
    for workers in (1, 8, 64, 256):
        for name, rate in (("fp32", rates.gpu), ("bf16", rates.bf16)):
            for overlap in (False, True):
                parts = [seconds(one, rates, rate=rate) for one in models]
                jobs = [max(f, o + a) if overlap else f + o + a for f, o, a in parts]
                hours = schedule(jobs, workers) / 3600
                sums = map(sum, zip(*parts, strict=True))
                totals = dict(zip(("fetching", "opening", "asking"), sums, strict=True))
                most = max(totals, key=lambda one: totals[one])
                share = totals[most] / sum(totals.values())
                bill = hours * workers * prices.gpu_hour
                when = "yes" if overlap else "no"
                cells = (f"{workers}", name, when, f"{hours:.1f}", f"{hours * workers:.0f}", f"{bill:,.0f}")
                print(" ".join(f"{one:>9}" for one in cells), f" {most} ({share:.0%})")


def corpus(tokens: float, rates: Rates, prices: Prices) -> None:
    size = tokens * BYTES_A_TOKEN
    print(f"\n{tokens:.0e} tokens, {size / 1e12:.1f} TB of text, {rates.counted / 1e6:.0f} MB/s a core")
    print(f"{'cores':>8} {'nodes':>6} {'hours':>8} {'core hours':>11} {'dollars':>9}  {'bound by':<10}")
    for cores in (2, 64, 1024, 8192):
        nodes = max(1, math.ceil(cores / 64))
        computing, reading = size / (rates.counted * cores), size / (rates.download * 10 * nodes)
        hours = max(computing, reading) / 3600
        bound = "cores" if computing >= reading else "reading"
        bill = hours * cores * prices.core_hour
        print(f"{cores:8} {nodes:6} {hours:8.1f} {hours * cores:11,.0f} {bill:9,.0f}  {bound}")


def counting_rate(folder: Path) -> float:
    """Bytes one process counts of the text files of a folder per second of processor time."""
    from unmask.corpus.counting import TermCounter, count_files
    from unmask.corpus.terms import builtin_terms

    files = sorted(path for path in folder.iterdir() if path.suffix == ".txt")
    size = sum(path.stat().st_size for path in files)
    began = time.process_time()  # of one core, whatever else runs
    count_files(files, TermCounter(builtin_terms(professions=False)), processes=1)
    return size / (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", type=Path, help="folder of .txt files to count, for this machine's rate")
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--tokens", type=float, default=1e12)
    args = parser.parse_args()
    rates = Rates()
    if args.measure:
        rates = replace(rates, counted=counting_rate(args.measure))
    audits(args.models, rates, Prices())
    corpus(args.tokens, rates, Prices())


if __name__ == "__main__":
    main()
