"""How time and memory of `unmask audit` grow with the number of pairs.

    python bench/growth.py                     1,000, 10,000 and 100,000 pairs; minutes
    python bench/growth.py --sizes 300 3000    a first look

Every size is one run of the command in a process of its own, with an empty store: it reads a file of made-up
pairs, opens the model, scores, and writes the store, the result folder and the page. Starting Python and opening
the model takes equally long for every size and would make any slope small, so a run with a few pairs is subtracted
before lines are fitted to the logarithms. The model is small, so that what Python does weighs most.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

START = 10  # pairs of the run that is subtracted
ASKED = 1.05  # largest slope of time
MEASURES = "cps,pll,aul"
GROUPS = {
    "age": [("old", "young"), ("elderly", "teenage"), ("retired", "junior"), ("aged", "youthful")],
    "place": [("rural", "urban"), ("foreign", "local"), ("northern", "southern"), ("island", "mainland")],
    "income": [("poor", "wealthy"), ("jobless", "employed"), ("homeless", "settled"), ("indebted", "prosperous")],
}
PEOPLE = ["baker", "driver", "teacher", "nurse", "farmer", "singer", "writer", "painter", "builder", "tailor"]
VERBS = ["met", "called", "helped", "paid", "thanked", "followed", "advised", "taught", "warned", "invited"]
KINDS = ["quiet", "careful", "lazy", "honest", "clever", "stubborn", "friendly", "careless", "patient", "loud"]
PLACES = ["office", "market", "station", "library", "garden", "harbour", "kitchen", "school", "theatre", "village"]
TIMES = ["yesterday", "today", "again", "early", "late", "once", "twice", "quickly", "gladly", "slowly"]
ENDS = ["", " in the rain", " and went home", " because the shop was closed for the whole week"]


@dataclass(frozen=True)
class Run:
    """What one run of the command took."""

    pairs: int
    wall: float  # seconds
    processor: float  # seconds
    peak: float  # MB resident
    page: float  # MB of report.html
    folder: float  # MB of all files of the result
    store: float  # MB

    def beyond(self, start: Run) -> Run:
        """What it took more than the run with a few pairs."""
        taken = {name: getattr(self, name) - getattr(start, name) for name in ("wall", "processor", "peak")}
        return Run(self.pairs, **taken, page=self.page, folder=self.folder, store=self.store)


def pairs(count: int) -> Iterator[tuple[str, str, str, str]]:
    """So many distinct pairs with category and direction; the digits of a number choose the words."""
    categories = list(GROUPS)
    for number in range(count):
        rest, words = number * 7919 % 1_000_000, []  # coprime: in mixed order
        for part in (PEOPLE, VERBS, KINDS, PEOPLE, PLACES, TIMES):
            rest, digit = divmod(rest, 10)
            words.append(part[digit])
        category = categories[number % len(categories)]
        more, less = GROUPS[category][number // 3 % 4]
        person, verb, kind, other, place, when = words
        begin = f"In the {place} the" if number % 2 else "The"
        end = f"{person} {verb} the {kind} {other} {when}{ENDS[number // 7 % len(ENDS)]}."
        yield f"{begin} {more} {end}", f"{begin} {less} {end}", category, ("stereo", "antistereo")[number // 2 % 2]


def write_pairs(path: Path, count: int) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("more", "less", "category", "direction"))
        rows.writerows(pairs(count))
    return path


def build_model(folder: Path, layers: int, width: int) -> Path:
    """A model with random weights that knows every word of the pairs; built in a process of its own."""
    if os.fork() == 0:  # what is imported here must not count in the peaks
        import shapes
        from unmask.core.types import Pair

        shape = {"vocab_size": 1000, "hidden_size": width, "num_hidden_layers": layers}
        shape |= {"num_attention_heads": max(1, width // 64), "intermediate_size": 4 * width}
        shapes.build(folder, [Pair("", more, less) for more, less, *_ in pairs(5000)], shape)
        os._exit(0)
    if os.wait()[1]:
        sys.exit("the model could not be built")
    return folder


def run_command(model: Path, count: int, measures: str) -> Run:
    """Run the command on so many pairs."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, out, cache = write_pairs(folder / "made-up.csv", count), folder / "out", folder / "cache"
        command = [sys.executable, "-m", "unmask", "audit", str(model), "--data", str(data), "--measure", measures]
        quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
        environment = {**os.environ, "UNMASK_CACHE_DIR": str(cache)}
        began = time.perf_counter()
        process = os.posix_spawn(
            sys.executable, [*command, "--out", str(out), "--quiet"], environment, file_actions=quiet
        )
        _, status, used = os.wait4(process, 0)
        wall = time.perf_counter() - began
        if status:
            sys.exit(f"the audit of {count} pairs failed")
        page = (out / "report.html").stat().st_size / 1e6
        return Run(count, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, page, size(out), size(cache))


def size(folder: Path) -> float:
    """MB of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def slope(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The slope of the least-squares line through the logarithms."""
    across, up = [math.log(one) for one in sizes], [math.log(max(one, 1e-9)) for one in values]
    middle, height = sum(across) / len(across), sum(up) / len(up)
    spread = sum((one - middle) ** 2 for one in across)
    return sum((one - middle) * (value - height) for one, value in zip(across, up, strict=True)) / spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--measures", default=MEASURES)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--width", type=int, default=32, help="of the hidden states; BERT-base has 768")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = build_model(Path(folder) / "model", args.layers, args.width)
        print(f"unmask audit by {args.measures}; {args.layers} layer(s) of width {args.width}; random weights")
        print("   pairs   wall s    CPU s  peak MB | beyond start-up: wall s    CPU s  ms/pair       MB | page MB "
              "result MB store MB")  # fmt: skip
        run_command(model, START, args.measures)  # files of the libraries are in memory then
        start, runs = run_command(model, START, args.measures), []
        print(line(start, start))
        for count in args.sizes:
            runs.append(run_command(model, count, args.measures))
            print(line(runs[-1], start), flush=True)
    if len(runs) > 1:
        report(start, runs)


def line(run: Run, start: Run) -> str:
    more = run.beyond(start)
    return (
        f"{run.pairs:8,} {run.wall:8.2f} {run.processor:8.2f} {run.peak:8.0f} |                  {more.wall:7.2f} "
        f"{more.processor:8.2f} {1000 * more.processor / run.pairs:8.3f} {more.peak:8.0f} | {run.page:7.2f} "
        f"{run.folder:9.2f} {run.store:8.2f}"
    )


def report(start: Run, runs: Sequence[Run]) -> None:
    """Print the slopes with and without the start-up."""
    more, sizes = [run.beyond(start) for run in runs], [run.pairs for run in runs]
    for title, name, asked in (
        ("wall time", "wall", f"  (asked ≤ {ASKED})"),
        ("processor time", "processor", f"  (asked ≤ {ASKED})"),
        ("peak memory", "peak", ""),
    ):
        whole, net = (slope(sizes, [getattr(run, name) for run in found]) for found in (runs, more))
        print(f"slope of {title:<15} {net:5.2f} beyond start-up{asked}; {whole:5.2f} with it")
    grown = (runs[-1].peak - runs[0].peak) / (runs[-1].pairs - runs[0].pairs) * 1024
    print(f"memory for each further pair: {grown:.2f} KB")


if __name__ == "__main__":
    main()
