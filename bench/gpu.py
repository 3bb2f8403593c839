"""Time CPS and the battery of seven measures over all of CrowS-Pairs on a GPU, against two scripts in one run.

    python bench/gpu.py --data-dir DIR

End to end means from sentences to one scored row per pair and measure, after the model is loaded: encoding,
alignment, planning, forward passes, scores and evidence. `busy` is the time in which the GPU computes (the union of
its kernels in one profiled run): a wall time above it is time the GPU waits. The loop of single sentences runs
on the first pairs and is scaled to all of them by the number of its forward passes; the quick script (sentences
by length, the head at the masked position) gives the sentence scores of CPS alone, without ranks, evidence or rows.
`certified` is `--precision certified` of an audit: fp16 first, then TF32 and fp32 where decisions could differ.
"""

from __future__ import annotations

import argparse
import functools
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import loops
import shapes
from unmask.audit.certified import Certificate, score_certified
from unmask.audit.checks import Evidence
from unmask.core.options import Opening
from unmask.measures import find
from unmask.models import Engine, Lm, Store, open_lm
from unmask.models.precision import ladder

MODES = {
    "fp32": Opening(device="cuda"),
    "TF32": Opening(device="cuda", tf32=True),
    "fp16": Opening(device="cuda", dtype="fp16"),
    "bf16": Opening(device="cuda", dtype="bf16"),
    "certified": Opening(device="cuda"),
}
SHAPES = {"BERT-base": shapes.BERT_BASE, "RoBERTa-large": shapes.ROBERTA_LARGE}


BATTERY = ("cps", "pll", "sss", "aul", "aula", "all-masked", "sld")
WORK = {"CPS": BATTERY[:1], "battery": BATTERY}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("UNMASK_DATA_DIR"))
    parser.add_argument("--loop-pairs", type=int, default=60, help="pairs of the loop; 0: no loop and no script")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="leave out the columns after the ratio")
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=list(MODES))
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    args = parser.parse_args()
    items = shapes.pairs(args.data_dir)
    print(f"{len(items)} pairs on {torch.cuda.get_device_name()}, torch {torch.__version__}")
    print("| shape | mode | measures | seconds | busy | ratio | with store | TFLOP/s | peak GB | script | loop |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNMASK_CACHE_DIR"] = f"{folder}/cache"
        for name in args.shapes:
            built = shapes.build(Path(folder) / name, items, SHAPES[name])
            for mode in args.modes:
                lm = open_lm(built, MODES[mode])
                models = ladder(lm) if mode == "certified" else (lm,)
                for work, names in WORK.items():
                    time_shape(f"| {name} | {mode} | {work}", models, items, names, args)


def time_shape(label: str, models: Sequence[Lm], items: Any, names: Sequence[str], args: argparse.Namespace) -> None:
    """Time one shape in one mode and print a line; the best of several runs, because the host is noisy."""
    work = functools.partial(run, models, items, names)
    work()
    seconds = min(time_work(work) for _ in range(args.repeats))
    busy = busy_time(work)
    line = f"{label} | {seconds:.2f} | {busy:.2f} | {seconds / busy:.2f}"
    if args.quick:
        print(f"{line} | | | | | |", flush=True)
        return
    torch.cuda.reset_peak_memory_stats()
    work()
    peak = torch.cuda.max_memory_allocated() / 1e9
    with tempfile.TemporaryDirectory() as folder:
        stored = time_work(lambda: work(Path(folder)))
    rate = shapes.count_operations(work) / seconds / 1e12
    line += f" | {stored:.2f} | {rate:.0f} | {peak:.1f}"
    if len(names) == 1 and args.loop_pairs:
        script = min(_script(models[-1], items) for _ in range(args.repeats))
        loop = time_loop(models[-1], items, args.loop_pairs)
        line += f" | {script:.2f} ({script / seconds:.2f}×) | {loop:.0f} ({loop / seconds:.0f}×) |"
    else:
        line += " | | |"
    print(line, flush=True)


def busy_time(work: Callable[[], object]) -> float:
    """Seconds in which at least one kernel or copy runs on the GPU."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as profiled:
        work()
        torch.cuda.synchronize()
    spans = sorted(
        (event.start_ns(), event.start_ns() + event.duration_ns())
        for event in profiled.profiler.kineto_results.events()
        if "CUDA" in str(event.device_type())
    )
    total, until = 0, 0
    for begin, end in spans:
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total / 1e9


def run(models: Sequence[Lm], items: Any, names: Sequence[str], stores: Path | None = None) -> list[Certificate]:
    """Score all items as an audit does, with stores in a folder or none."""
    found: list[Certificate] = []
    files = [stores and stores / f"{number}.sqlite" for number in range(len(models))]
    engines = [Engine(lm, Store(file)) for lm, file in zip(models, files, strict=True)]
    for lm in models:
        lm._encoded.clear()  # tokenising is a part of the work
    chunks = score_certified(
        *("crows-pairs", items, [find(name) for name in names], engines),
        **{"evidence": Evidence(), "progress": _silent, "certificates": found},
    )
    sum(len(chunk) for chunk in chunks)
    for engine in engines:
        engine.store.close()
    return found


def _script(lm: Lm, items: Any) -> float:
    return time_work(lambda: loops.by_length(items, lm.network.model, lm.tokenizer))


def time_loop(lm: Lm, items: Any, some: int) -> float:
    """A batch-of-one loop over the first pairs, scaled to all."""
    sizes = [_passes(lm, pair) for pair in items]
    model = lm.network.model
    loops.one_by_one("cps", items[:4], model, lm.tokenizer)
    seconds = time_work(lambda: loops.one_by_one("cps", items[:some], model, lm.tokenizer))
    return seconds * sum(sizes) / sum(sizes[:some])


def _passes(lm: Lm, pair: Any) -> int:
    return sum(len(probe.masked) for ask in find("cps").probes(pair, lm).values() for probe in ask)


def time_work(work: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def _silent(_: float) -> None:
    pass


if __name__ == "__main__":
    main()
