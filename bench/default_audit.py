"""Time the audit that `unmask audit` runs without arguments, as a whole command and by stage.

    python bench/default_audit.py
    python bench/default_audit.py --limit 60 --plain    # also with UNMASK_FAST=0
    python bench/default_audit.py --count               # also how long its matrix products take at the least

The command runs in a process of its own, without stored readings. Seconds of stages are processor time, so that they
can be compared on a busy machine; those of forward passes are added up over all threads.
"""

from __future__ import annotations

import argparse
import atexit
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

# what each stage is called in; a stage within another is counted in both
STAGES = {
    "loading the data": ("unmask.audit.run", "load_datasets"),
    "loading the model": ("unmask.audit.run", "open_lm"),
    "scoring, tables, statistics": ("unmask.audit.run", "_score"),
    "  statistics": ("unmask.audit.run", "estimates"),
    "  checks": ("unmask.audit.run", "checks"),
    "writing the page": ("unmask.report.run", "write_page"),
}
FORWARD = {"  forward passes": "_forward", "    the head, log-probabilities, ranks": "_read"}


def main() -> None:
    args = _arguments()
    if args.stages:
        run_command([*(["--limit", str(args.limit)] if args.limit else []), "--out", args.stages])
        return
    for fast in ("1", "0") if args.plain else ("1",):
        with tempfile.TemporaryDirectory() as folder:
            limit = ["--limit", str(args.limit)] if args.limit else []
            command = [sys.executable, __file__, "--stages", f"{folder}/result", *limit]
            environ = os.environ | {"UNMASK_FAST": fast, "UNMASK_CACHE_DIR": f"{folder}/cache"}
            before, begin = _processor_seconds(), time.perf_counter()
            subprocess.run(command, env=environ, check=True)
            wall = time.perf_counter() - begin
        name = "unmask audit" if fast == "1" else "unmask audit, UNMASK_FAST=0"
        asked = "" if args.limit or fast == "0" else "  (asked ≤ 45 s on two quiet cores)"
        print(f"{name:44} {_processor_seconds() - before:8.1f} s of processor time, {wall:.1f} s{asked}\n", flush=True)
    if args.count:
        count(args.limit)


def count(limit: int | None) -> None:
    """Print the floating-point operations of the audit's matrix products, and how long they take at the full rate."""
    import shapes
    import speed
    import unmask

    flops = shapes.count_operations(lambda: unmask.audit(options=unmask.Options(store=False, limit=limit)))
    rate = max(speed.matmul_rate() for _ in range(5))
    print(f"{'its matrix products':44} {flops / 1e12:8.1f} TFLOP, {flops / rate:.0f} s at {rate / 1e9:.0f} GFLOP/s")


def run_command(options: list[str]) -> None:
    """Run the command in this process with timers around its stages; prints them at its end."""
    seconds: Counter[str] = Counter()
    begin = time.process_time()
    for stage, (module, name) in STAGES.items():
        _time(import_module(module), name, stage, seconds, time.process_time)
    engine = import_module("unmask.models.engine").Engine
    for stage, name in FORWARD.items():
        _time(engine, name, stage, seconds, time.thread_time)
    seconds["importing"] = time.process_time() - begin

    def show() -> None:
        ordered = ["importing", *STAGES]
        place = ordered.index("  statistics")
        for stage in (*ordered[:place], *FORWARD, *ordered[place:]):
            print(f"{stage:44} {seconds[stage]:8.1f} s")

    atexit.register(show)
    sys.argv = ["unmask", "audit", "--no-store", "--quiet", *options]
    with Path(os.devnull).open("w") as nowhere:
        sys.stdout, before = nowhere, sys.stdout
        try:
            import_module("unmask.__main__").main()
        finally:
            sys.stdout = before


def _time(owner: Any, name: str, stage: str, seconds: Counter[str], clock: Callable[[], float]) -> None:
    """Add up the time of every call."""
    original = getattr(owner, name)

    def timed_call(*args: Any, **kwargs: Any) -> Any:
        begin = clock()
        try:
            return original(*args, **kwargs)
        finally:
            seconds[stage] += clock() - begin

    setattr(owner, name, timed_call)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, help="items of each data set")
    parser.add_argument("--plain", action="store_true", help="with UNMASK_FAST=0 too")
    parser.add_argument("--count", action="store_true", help="count the operations of its matrix products")
    parser.add_argument("--stages", metavar="FOLDER", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
