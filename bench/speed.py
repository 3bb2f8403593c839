"""Time `unmask audit` against the loops it replaces, in one run, and print ratios.

    make bench
    python bench/speed.py --pairs 40 --data-dir DIR

(a) one input at a time per measure, as the published scripts run; (b) minicons, where its release runs on the
installed transformers; (c) padded batches of 64 in file order with logits over sequence and vocabulary.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch

import loops
import shapes
import unmask
from unmask.core.types import Dataset
from unmask.models import Lm

ROUNDS = 5  # of what is compared most closely
BATTERY = ("cps", "pll", "sld", "sss", "aul", "aula", "all-masked")


def main() -> None:
    args = _arguments()
    torch.set_num_threads(args.threads)
    items = shapes.pairs(args.data_dir, args.pairs)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNMASK_CACHE_DIR"] = f"{folder}/cache"
        lm = unmask.open_model(shapes.build(Path(folder) / "bert-base-shape", items, shapes.BERT_BASE))
        data = Dataset(unmask_card(), items, "", verified=False)
        print(f"{len(items)} pairs, BERT-base shape with random weights, {args.threads} threads, fp32\n")
        speed(lm, data)
    memory(args)


def speed(lm: Lm, data: Dataset) -> None:
    """Print seconds per pair and ratios; what is compared is run in turns, because machines are noisy."""
    n, model, tokenizer = len(data.items), lm.network.model, lm.tokenizer
    audit(lm, data, ["aul"], limit=2)  # warm up
    flops = shapes.count_operations(lambda: audit(lm, data, ["cps"]))
    rates, ours, batch = [matmul_rate()], [], []
    for _ in range(ROUNDS):
        ours.append(time_run(lambda: audit(lm, data, ["cps"])))
        rates.append(matmul_rate())
        batch.append(time_run(lambda: loops.score_padded("cps", data.items, model, tokenizer)))
    single = time_run(lambda: loops.one_by_one("cps", data.items, model, tokenizer))
    mine, rate = median(ours), median(rates)
    ratio = median(theirs / own for theirs, own in zip(batch, ours, strict=True))
    line("CPS: unmask audit", mine / n)
    line("CPS: (a) one at a time", single / n, single / mine, "asked ≥ 3.5")
    line("CPS: (c) padded batch of 64", median(batch) / n, ratio, "asked ≥ 1.5")
    print(f"{'fp32 matmul rate of this machine':44} {rate / 1e9:8.0f} GFLOP/s")
    share = f"{flops / mine / rate:6.0%}  (asked ≥ 85%)"
    print(f"{'reached by unmask audit over CPS':44} {flops / mine / 1e9:8.0f} GFLOP/s  {share}")
    minicons()
    parts = {
        name: time_run(lambda name=name: loops.score_padded(name, data.items, model, tokenizer)) for name in BATTERY
    }
    together = time_run(lambda: audit(lm, data, BATTERY))
    alone = {"cps": single} | {
        name: time_run(lambda name=name: loops.one_by_one(name, data.items, model, tokenizer))
        for name in BATTERY
        if name != "cps"
    }
    line(f"battery of {len(BATTERY)} measures: unmask audit", together / n)
    line(
        "battery: (a) one at a time, each by itself",
        sum(alone.values()) / n,
        sum(alone.values()) / together,
        "asked ≥ 10",
    )
    line(
        "battery: (c) one measure after the other", sum(parts.values()) / n, sum(parts.values()) / together, "asked ≥ 3"
    )
    first = time_run(lambda: audit(lm, data, BATTERY, store=True))
    second = median(time_run(lambda: audit(lm, data, BATTERY, store=True)) for _ in range(3))
    line("battery: first run with a store", first / n)
    line("battery: repeated run", second / n, first / second, "asked ≥ 50")


def memory(args: argparse.Namespace) -> None:
    """Peak RSS over all pairs against the loaded model, in a process of its own."""
    layers = 12 if args.full_memory else 2
    script = Path(__file__).parent / "memory.py"
    where = ["--data-dir", str(args.data_dir)] if args.data_dir else []
    subprocess.run([sys.executable, script, "--layers", str(layers), *where], check=True)


def audit(lm: Lm, data: Dataset, measures: Any, *, store: bool = False, limit: int | None = None) -> None:
    unmask.audit(lm, data=data, measures=list(measures), options=unmask.Options(store=store, limit=limit))


def time_run(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def matmul_rate(size: int = 2048, seconds: float = 2.0) -> float:
    """Floating-point operations per second of square fp32 products, sustained, torch's own."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    a @ b
    done, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        a @ b
        done += 1
    return 2 * size**3 * done / (time.perf_counter() - begin)


def minicons() -> None:
    try:
        from importlib.metadata import version

        print(
            f"(b) minicons {version('minicons')}: its masked scorer calls a tokenizer method that current "
            "transformers no longer has (0.3.39 and before); skipped"
        )
    except ImportError:
        print(
            "(b) minicons is not installed; 0.3.39's masked scorer calls a tokenizer method that current "
            "transformers no longer has; skipped"
        )


def line(what: str, seconds: float, ratio: float | None = None, asked: str = "") -> None:
    tail = "" if ratio is None else f"   {ratio:6.2f}×  ({asked})"
    print(f"{what:44} {seconds:8.4f} s per pair{tail}", flush=True)


def unmask_card() -> Any:
    from unmask import data

    return data.card("crows-pairs")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("UNMASK_DATA_DIR"))
    parser.add_argument("--full-memory", action="store_true", help="all 12 layers in the memory run (long)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
