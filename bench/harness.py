"""Time `unmask audit` by LL against lm-eval's task `crows_pairs_english`: one model, the same pairs, in one run.

    python bench/harness.py MODEL --pairs 64 --data-dir DIR

It needs lm-eval 0.4 (`pip install -e '.[bench]'`), and a causal model, as a folder or a hub name. Both programs
score the model that is loaded once. lm-eval runs its own task, with the pairs read from a local file instead of the
hub. The times are from the loaded model to scored rows: of unmask the whole audit, of lm-eval `evaluate` without
bootstrap; they are run in turns, and ratios are of medians. Processor time is the fairer figure on a busy machine.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import lm_eval
import torch
from lm_eval.evaluator import evaluate
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

import unmask
from unmask import data as datasets
from unmask.core.types import Dataset

TASK = "crows_pairs_english"
Decisions = dict[str, tuple[float, float]]  # log-likelihoods by pair


def main() -> None:
    args = _arguments()
    torch.set_num_threads(args.threads)
    found = datasets.load("crows-pairs", data_dir=args.data_dir, offline=True)
    data = Dataset(found.card, found.items[: args.pairs], "", verified=False)
    lm = unmask.open_model(args.model)
    print(f"{lm.facts.id} ({lm.facts.parameters / 1e6:.0f}M parameters), {len(data.items)} pairs of CrowS-Pairs,")
    print(f"{lm.facts.device}, {args.threads} threads, {lm.facts.dtype}, lm-eval {lm_eval.__version__}\n")
    with tempfile.TemporaryDirectory() as folder:
        tasks = task_of(data, Path(folder))
        programs: dict[str, Callable[[], Decisions]] = {"unmask audit": lambda: ours(lm, data)}
        for size in args.batch:
            theirs = HFLM(
                pretrained=lm.network.model,
                tokenizer=copy.deepcopy(lm.tokenizer),
                batch_size=size if size == "auto" else int(size),
                device=str(lm.network.device),
            )
            programs[f"lm-eval, batch size {size}"] = lambda model=theirs: scored_by_lm_eval(model, tasks, data)
        report(programs, len(data.items), args.repeats)


def report(programs: dict[str, Callable[[], Decisions]], pairs: int, repeats: int) -> None:
    """Run the programs in turns; print seconds per pair, ratios, and how many decisions are equal."""
    wall: dict[str, list[float]] = {name: [] for name in programs}
    processor: dict[str, list[float]] = {name: [] for name in programs}
    decisions: dict[str, Decisions] = {}
    for _ in range(repeats):
        for name, run in programs.items():
            begin, used = time.perf_counter(), time.process_time()
            decisions[name] = run()
            wall[name].append(time.perf_counter() - begin)
            processor[name].append(time.process_time() - used)
    own, *_ = programs
    for name in programs:
        seconds, cpu = median(wall[name]) / pairs, median(processor[name]) / pairs
        ratios = median(wall[name]) / median(wall[own]), median(processor[name]) / median(processor[own])
        tail = "" if name == own else f"   {ratios[0]:5.2f}× wall, {ratios[1]:5.2f}× processor"
        print(f"{name:28} {seconds:8.4f} s per pair, {cpu:8.4f} s of processor time{tail}")
    print()
    for name, rows in decisions.items():
        stereotyped = sum(more > less for more, less in rows.values())
        print(f"{name:28} {stereotyped} of {len(rows)} stereotyped ({stereotyped / len(rows):.1%})", end="")
        mine = decisions[own]
        other = sum((rows[pair][0] > rows[pair][1]) != (mine[pair][0] > mine[pair][1]) for pair in rows)
        apart = max(abs(a - b) for pair in rows for a, b in zip(rows[pair], mine[pair], strict=True))
        print("" if name == own else f", {other} decided differently, log-likelihoods within {apart:.1g}")


def ours(lm: Any, data: Dataset) -> Decisions:
    result = unmask.audit(lm, data=data, measures=["ll"], options=unmask.Options(store=False))
    return {row["item"]: (row["more"], row["less"]) for row in result.items.to_pylist()}


def scored_by_lm_eval(model: HFLM, tasks: Any, data: Dataset) -> Decisions:
    results = evaluate(model, tasks, bootstrap_iters=0, verbosity="ERROR")
    samples = {sample["doc_id"]: sample["filtered_resps"] for sample in results["samples"][TASK]}
    return {item.id: tuple(value for value, _ in samples[number]) for number, item in enumerate(data.items)}


def task_of(data: Dataset, folder: Path) -> Any:
    """lm-eval's own task with these pairs as its data."""
    rows = ({"sent_more": item.more, "sent_less": item.less, "bias_type": ""} for item in data.items)
    (folder / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    published = Path(lm_eval.__file__).parent / "tasks" / "crows_pairs" / f"{TASK}.yaml"
    local = {
        "include": str(published),
        "dataset_path": "json",
        "dataset_name": None,
        "dataset_kwargs": {"data_files": {"test": str(folder / "pairs.jsonl")}},
    }
    (folder / f"{TASK}.yaml").write_text(json.dumps(local), encoding="utf-8")  # JSON is YAML
    os.environ["HF_DATASETS_CACHE"] = str(folder / "cache")
    return TaskManager(include_path=str(folder), include_defaults=False).load([TASK])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--pairs", type=int, default=None, help="the first pairs; all if not given")
    parser.add_argument("--batch", nargs="+", default=["1", "64"], help="batch sizes of lm-eval; auto for a GPU")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("UNMASK_DATA_DIR"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
