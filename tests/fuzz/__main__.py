"""Fuzz every boundary with a large budget: `python -m tests.fuzz --inputs 100000`; `make fuzz`."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.fuzz.harness import boundaries, fuzz_boundary


def main() -> None:
    """Fuzz and print the table; exit 1 if anything but acceptance or refusal happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="damaged inputs in all (default 100,000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the damages")
    parser.add_argument("--only", default="", help="only boundaries whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unmask-fuzz-") as folder:
        os.environ |= {"UNMASK_TEST_ZOO": f"{folder}/zoo", "UNMASK_CACHE_DIR": f"{folder}/cache"}
        os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
        tempfile.tempdir = os.environ["TMPDIR"] = folder
        sys.exit(1 if run(arguments) else 0)


def run(arguments: argparse.Namespace) -> int:
    """Fuzz the chosen boundaries, print the table, and return how often something else happened."""
    chosen = [each for each in boundaries() if arguments.only in each.name]
    total = sum(each.share for each in chosen)
    print("| boundary | tried | accepted | refused | other | seconds |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    sums = [0, 0, 0, 0]
    with ProcessPoolExecutor(arguments.jobs, multiprocessing.get_context("spawn")) as pool:
        tasks = [
            pool.submit(fuzz_boundary, each.name, -(-arguments.inputs * each.share // total), arguments.seed)
            for each in chosen
        ]
        for task in as_completed(tasks):
            name, tally, seconds = task.result()
            row = [tally.tried, tally.accepted, tally.refused, len(tally.other)]
            sums = [a + b for a, b in zip(sums, row, strict=True)]
            print(f"| {name} | {' | '.join(f'{n:,}' for n in row)} | {seconds:.0f} |", flush=True)
            for text in tally.other[:3]:
                print(text, file=sys.stderr, flush=True)
    print(f"| all | {' | '.join(f'{n:,}' for n in sums)} | |")
    return sums[3]


if __name__ == "__main__":
    main()
