"""The command: python -m tools.torture [--kills 100] [--seed 0] [--only TEXT] [--jobs 2] [--quick]."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tools.torture import cases
from tools.torture.processes import ENVIRONMENT, call
from tools.torture.scenarios import Inputs, Scenario, scenarios

TESTS = Path(__file__).parents[2] / "tests"
Plan = list[tuple[str, Callable[[], cases.Row]]]
_plan: Plan = []  # of this process; the worker processes are forked from it


def main(arguments: Sequence[str] | None = None) -> int:
    """Zero where nothing failed, else one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="SIGKILLs in all (default 100)")
    parser.add_argument("--stores", type=int, default=1200, help="damaged stores (default 1,200)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments and damages")
    parser.add_argument("--only", default="", help="only tests whose name contains this")
    parser.add_argument("--commands", default="", help="only commands whose name contains this")
    parser.add_argument("--jobs", type=int, default=2, help="tests at the same time (default 2)")
    parser.add_argument("--quick", action="store_true", help="every test once")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        prepared = prepare(Path(folder), options.commands)
        _plan[:] = [each for each in plan(prepared, Path(folder), options) if options.only in each[0]]
        _say(f"{len(_plan)} tests of {', '.join(f'{each.name} ({each.seconds:.1f} s)' for each in prepared)}")
        with ProcessPoolExecutor(options.jobs, mp_context=get_context("fork")) as pool:
            rows = _sum_up(pool.map(run_case, range(len(_plan))))
    print("| test | tries | failures |\n| --- | ---: | ---: |")
    for row in rows:
        print(f"| {row.test} | {row.tries:,} | {len(row.failures)} |")
    if not cases.can_mount():
        print("| read-only folders | not tried: nothing can be mounted here | 0 |")
    return 1 if any(row.failures for row in rows) else 0


def prepare(folder: Path, commands: str) -> list[Scenario]:
    """Make the inputs, and run every command undisturbed."""
    os.environ.update({**ENVIRONMENT, "UNMASK_TEST_ZOO": str(folder / "zoo")})
    (folder / "zoo").mkdir()
    sys.path.insert(0, str(TESTS))
    inputs = Inputs(folder / "zoo" / "bert-uncased", folder / "corpus.txt", folder / "bios.jsonl", TESTS / "miniature")

    def make() -> None:
        import zoo
        from tasks.tiny_models import biographies

        zoo.folder("bert-uncased")
        biographies(inputs.train, planted=True, n=48)
        sentences = [pair.more for pair in zoo.crows_pairs()]
        inputs.corpus.write_text("\n".join(sentences), encoding="utf-8")

    call(make, folder / "make")
    _shrink_evaluation()
    chosen = scenarios(inputs, folder / "undisturbed", commands)
    for scenario in chosen:
        scenario.prepare()
    return chosen


def _shrink_evaluation(items: int = 4) -> None:
    """Evaluate mitigated models on the first items of each category only, here and in all forked processes."""
    from unmask.mitigate import evaluation

    whole = evaluation.score_rows

    def score_few(engine: Any, measure: str, dataset: Any, progress: Any = None) -> Any:
        by_category: dict[str, list[Any]] = {}
        for item in dataset.items:
            by_category.setdefault(item.groups.get("category", ""), []).append(item)
        few = tuple(item for each in by_category.values() for item in each[:items])
        return whole(engine, measure, replace(dataset, items=few), progress)

    evaluation.score_rows = score_few


def plan(chosen: list[Scenario], folder: Path, options: argparse.Namespace) -> Plan:
    """All tests by name."""
    kills, seed, quick = -(-options.kills // (len(chosen) + 1)), options.seed, options.quick
    sizes = (0.0, 0.3) if quick else cases.FREE
    tests: Plan = []
    for each in chosen:
        place = folder / "tests" / each.name.replace(" ", "-")
        tests += [
            (f"SIGKILL {each.name}", partial(cases.kill, each, place / "kill", kills, seed)),
            (f"SIGINT {each.name}", partial(cases.interrupt, each, place / "signal", 1 if quick else 8, seed)),
            (f"full disk {each.name}", partial(cases.fill_disk, each, place / "full", sizes)),
        ]
        if cases.can_mount():
            tests.append((f"read-only {each.name}", partial(cases.write_protected, each, place / "ro")))
    by_name = {each.name: each for each in chosen}
    rounds, place = 1 if quick else 4, folder / "tests"
    if audit := by_name.get("audit"):
        tests += [
            ("four processes, one store", partial(cases.share_store, audit, place / "store", rounds)),
            ("four processes, one folder", partial(cases.share_folder, audit, place / "folder", rounds)),
            ("two processes, default folder", partial(cases.share_default_folder, audit, place / "twice", 3 * rounds)),
            ("full disk report", partial(cases.fill_disk_of_report, audit.undisturbed, place / "report")),
        ]
    if prompts := by_name.get("prompts"):
        explorer = partial(cases.kill_explorer, prompts.undisturbed, place / "explore", kills, seed)
        tests.append(("SIGKILL explore", explorer))
    return [*tests, ("damaged stores", partial(cases.damage_stores, options.stores, seed))]


def run_case(number: int) -> cases.Row:
    """Run a test in a worker process; whatever it raises is a failure."""
    name, case = _plan[number]
    began = time.monotonic()
    try:
        row = case()
    except Exception as error:
        row = cases.Row(name, 1, [f"{name}: {type(error).__name__}: {error}"])
    for failure in row.failures:
        _say(f"FAILED {failure}")
    _say(f"{row.test}: {row.tries} tries, {len(row.failures)} failures, {time.monotonic() - began:.0f} s")
    return row


def _sum_up(rows: Iterable[cases.Row]) -> list[cases.Row]:
    """One row for each test: those of the same name are added."""
    summed: dict[str, cases.Row] = {}
    for row in rows:
        whole = summed.setdefault(row.test, cases.Row(row.test))
        whole.tries += row.tries
        whole.failures += row.failures
    return list(summed.values())


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _in_own_mounts() -> None:
    """Start again in a mount namespace of our own, where small disks can be mounted and end with the process."""
    if os.environ.get("UNMASK_TORTURE_MOUNTS") or not shutil.which("unshare"):
        return
    own = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    with tempfile.TemporaryDirectory() as folder:
        probe = subprocess.run([*own, "mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False)
    os.environ["UNMASK_TORTURE_MOUNTS"] = "1" if probe.returncode == 0 else "0"
    if probe.returncode == 0:
        os.execvp("unshare", [*own, sys.executable, "-m", "tools.torture", *sys.argv[1:]])


if __name__ == "__main__":
    _in_own_mounts()
    sys.exit(main())
