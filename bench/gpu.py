"""Time CPS over all of CrowS-Pairs on a GPU: fp32, TF32 and bf16, against two scripts in the same run.

    python bench/gpu.py --data-dir DIR

End to end means from sentences to one scored row per pair, after the model is loaded: encoding, alignment,
planning, forward passes, scores and evidence. The loop of single sentences runs on the first pairs and is
scaled to all of them by the number of its forward passes; the quick script (sentences by length, the head at
the hidden word) gives sentence scores alone, without ranks, evidence or rows.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import loops
import shapes
from unmask.audit.checks import Evidence
from unmask.audit.scoring import score_items
from unmask.core.options import Opening
from unmask.measures import find
from unmask.models import Engine, Lm, Store, open_lm

MODES = {
    "fp32": Opening(device="cuda"),
    "TF32": Opening(device="cuda", tf32=True),
    "bf16": Opening(device="cuda", dtype="bf16"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("UNMASK_DATA_DIR"))
    parser.add_argument("--loop-pairs", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=list(MODES))
    args = parser.parse_args()
    items = shapes.pairs(args.data_dir)
    print(f"{len(items)} pairs on {torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(
        f"{'shape':14} {'mode':5} {'seconds':>8} {'with store':>10} {'TFLOP/s':>8} "
        f"{'script s':>8} {'ratio':>7} {'loop s':>8} {'ratio':>7} {'peak GB':>8}"
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNMASK_CACHE_DIR"] = f"{folder}/cache"
        for name, shape in (("BERT-base", shapes.BERT_BASE), ("RoBERTa-large", shapes.ROBERTA_LARGE)):
            built = shapes.build(Path(folder) / name, items, shape)
            for mode in args.modes:
                measured(name, mode, open_lm(built, MODES[mode]), items, args)


def measured(name: str, mode: str, lm: Lm, items: Any, args: argparse.Namespace) -> None:
    """Time one shape in one mode and print a line."""
    run(lm, items[:64], Store(None))
    loops.by_length(items[:64], lm.network.model, lm.tokenizer)
    turns = [(timed(lambda: run(lm, items, Store(None))), _script(lm, items)) for _ in range(args.repeats)]
    bare, script = (statistics.median(times) for times in zip(*turns, strict=True))
    torch.cuda.reset_peak_memory_stats()
    run(lm, items, Store(None))
    peak = torch.cuda.max_memory_allocated() / 1e9
    kept = Store.of(f"{name}-{mode}")
    stored = timed(lambda: run(lm, items, kept))
    kept.close()
    rate = shapes.counted(lambda: run(lm, items, Store(None))) / bare / 1e12
    loop = timed_loop(lm, items, args.loop_pairs)
    print(
        f"{name:14} {mode:5} {bare:8.2f} {stored:10.2f} {rate:8.1f} "
        f"{script:8.2f} {script / bare:6.2f}× {loop:8.1f} {loop / bare:6.0f}× {peak:8.2f}",
        flush=True,
    )


def run(lm: Lm, items: Any, store: Store) -> None:
    chunks = score_items("crows-pairs", items, [find("cps")], Engine(lm, store), evidence=Evidence(), progress=_silent)
    sum(len(chunk) for chunk in chunks)


def _script(lm: Lm, items: Any) -> float:
    return timed(lambda: loops.by_length(items, lm.network.model, lm.tokenizer))


def timed_loop(lm: Lm, items: Any, some: int) -> float:
    """A batch-of-one loop over the first pairs, scaled to all."""
    sizes = [_passes(lm, pair) for pair in items]
    model = lm.network.model
    loops.one_by_one("cps", items[:4], model, lm.tokenizer)
    seconds = timed(lambda: loops.one_by_one("cps", items[:some], model, lm.tokenizer))
    return seconds * sum(sizes) / sum(sizes[:some])


def _passes(lm: Lm, pair: Any) -> int:
    return sum(len(probe.masked) for ask in find("cps").probes(pair, lm).values() for probe in ask)


def timed(work: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def _silent(_: float) -> None:
    pass


if __name__ == "__main__":
    main()
