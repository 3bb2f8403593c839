"""Count the decisions that low precision turns, and what certified decisions cost, on models with real weights.

    python bench/precision.py [MODEL ...] --data-dir DIR

For every model and dataset all pairs are scored in fp32 and in each other precision of this device; the table has the
number of decisions that differ from fp32 (0 is asked of `certified`), the share of scores that were computed again,
and the time in relation to the first precision alone. On a CPU without bf16 products there is nothing to compare,
except with `--imitate`: fp16 and TF32 are imitated by rounding (`bench/imitation.py`), so that seconds mean nothing.
Every score is computed once then and kept in a store for the other rows.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from imitation import imitated_ladder
from unmask import data as datasets
from unmask.audit.certified import DECIDES, Certificate, score_certified
from unmask.audit.checks import Evidence
from unmask.audit.session import measures_for
from unmask.core.options import Opening
from unmask.core.types import Dataset, Measure
from unmask.models import Engine, Lm, Store, open_lm
from unmask.models.precision import ladder

DATA = ("crows-pairs", "stereoset", "stereoset-intersentence", "winobias", "nine-axes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["builtin", "builtin-causal"])
    parser.add_argument("--data", nargs="+", default=list(DATA))
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("UNMASK_DATA_DIR"))
    parser.add_argument("--device")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--imitate", action="store_true", help="the precisions of a GPU on a CPU")
    args = parser.parse_args()
    if args.imitate:
        torch.set_num_threads(1)
    print("| model | data | precision | decisions | other than in fp32 | scored again | seconds |")
    print("| --- | --- | --- | ---: | --- | --- | ---: |")
    for name in args.models:
        lm = open_lm(name, Opening(device=args.device))
        dtypes = ("bf16",) if lm.network.device.type == "cpu" else ("fp16", "bf16")  # fp16 is slow on a CPU
        dtypes = () if args.imitate else dtypes
        plain = {dtype: open_lm(name, Opening(device=args.device, dtype=dtype)) for dtype in dtypes}
        steps = imitated_ladder(lm) if args.imitate else ladder(lm)
        for label in args.data:
            try:
                data = datasets.load(label, data_dir=args.data_dir, offline=True)
            except datasets.DataError as error:
                print(f"{label} left out: {error}")
                continue
            others = {**plain, **{step.facts.dtype + " (step)": step for step in steps[:-1]}}
            with tempfile.TemporaryDirectory() as folder:
                stores = Path(folder) if args.imitate else None
                report(others, steps, replace(data, items=data.items[: args.limit]), stores)


def report(others: dict[str, Lm], steps: Sequence[Lm], data: Dataset, stores: Path | None) -> None:
    """Print the rows of one model and dataset; with `stores`, every score is computed once."""
    lm, items = steps[-1], data.items
    measures = [measure for measure in measures_for(data, (), lm.kind) if measure.summary in DECIDES]
    name = f"| {lm.facts.id} | {data.card.name}"
    if not measures:
        return
    run([steps[0]], items, measures, stores)
    expected, _, seconds = run([lm], items, measures, stores)
    print(f"{name} | fp32 | {len(expected):,} | 0 | | {seconds:.2f} |", flush=True)
    for label, other in others.items():
        found, _, seconds = run([other], items, measures, stores)
        print(f"{name} | {label} | {len(found):,} | {count_changed(expected, found)} | | {seconds:.2f} |", flush=True)
    found, certificates, seconds = run(steps, items, measures, stores)
    again = ", ".join(
        f"{each.measure} {each.precision} {each.rescored / each.pairs:.1%} of {each.pairs}" for each in certificates
    )
    print(
        f"{name} | certified | {len(found):,} | {count_changed(expected, found)} | {again} | {seconds:.2f} |",
        flush=True,
    )


def run(
    models: Sequence[Lm], items: Sequence, measures: Sequence[Measure], stores: Path | None
) -> tuple[dict, list[Certificate], float]:
    """The outcome of every item and measure, the certificates, and the seconds."""
    certificates: list[Certificate] = []
    engines = [Engine(lm, Store(stores and stores / f"{lm.facts.dtype}.sqlite")) for lm in models]
    begin = time.perf_counter()
    chunks = score_certified(
        *("data", items, measures, engines),
        **{"evidence": Evidence(), "progress": lambda _: None, "certificates": certificates},
    )
    outcomes = {(each.row.measure, each.row.item): each.row.outcome for chunk in chunks for each in chunk}
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    for engine in engines:
        engine.store.close()
    return outcomes, certificates, time.perf_counter() - begin


def count_changed(expected: dict, found: dict) -> str:
    """The number of different decisions, by measure."""
    counts: dict[str, int] = {}
    for (measure, item), outcome in found.items():
        counts[measure] = counts.get(measure, 0) + (outcome != expected[measure, item])
    return f"{sum(counts.values())} ({', '.join(f'{name} {count}' for name, count in counts.items() if count)})"


if __name__ == "__main__":
    main()
