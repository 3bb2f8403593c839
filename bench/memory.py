"""Peak resident memory of an audit of all pairs by the whole battery, beyond the loaded model."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import shapes
import unmask
from unmask import data as datasets
from unmask.core.types import Dataset

BATTERY = ["cps", "pll", "sld", "sss", "aul", "aula", "all-masked"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--times", type=int, default=1, help="repeat the pairs this often")
    parser.add_argument("--data-dir", type=Path, default=None)
    args = parser.parse_args()
    items = shapes.pairs(args.data_dir)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UNMASK_CACHE_DIR"] = f"{folder}/cache"
        shape = {**shapes.BERT_BASE, "num_hidden_layers": args.layers}
        built = Path(folder) / "model"
        if os.fork() == 0:  # built apart, so that building leaves no trace in the peak
            shapes.build(built, items, shape)
            os._exit(0)
        os.wait()
        lm = unmask.open_model(built)
        unmask.audit(lm, measures=["aul"], options=unmask.Options(store=False, limit=2))  # imports, threads
        before = peak()
        data = Dataset(datasets.card("crows-pairs"), items * args.times, "", verified=False)
        unmask.audit(lm, data=data, measures=BATTERY)
        print(
            f"peak RSS over {len(data.items)} pairs, {len(BATTERY)} measures, {args.layers} layers of "
            f"BERT-base width: {peak() - before:.0f} MB beyond the loaded model's "
            f"{before:.0f} MB (asked ≤ 300)"
        )


def peak() -> float:
    """MB held at most by this program; `ru_maxrss` would count the process that started it, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
