"""What shared prefixes save an audit of a causal model: tokens of whole data sets, time over their first items.

    python bench/prefixes.py [MODEL] --items 128 --data-dir DIR

Tokens are counted as an audit runs them, 128 items at a time, each distinct sequence once; `in pairs` is the share that
sharing within an item alone would save. Times are of `unmask audit` after loading, with the shortcut and without it,
in turns; the ratio is of medians.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from statistics import median

import unmask
from unmask import data as datasets
from unmask.core.errors import DataError, Unscorable
from unmask.core.types import Dataset, Pair
from unmask.measures import MEASURES
from unmask.models import Lm
from unmask.models.prefixes import pack_trees, plant_trees, stack

DATA = {
    "crows-pairs": "ll",
    "stereoset": "ll",
    "stereoset-intersentence": "ss",
    "nine-axes": "ll",
    "paraphrases": "ll",
    "triple-gender": "ll",
    "pronoun-templates": "ppd",
}
CHUNK = 128  # items planned together on a CPU


def main() -> None:
    args = _arguments()
    lm = unmask.open_model(args.model)
    print(f"{lm.facts.id}, {lm.facts.parameters / 1e6:.0f}M parameters, shortcuts: {', '.join(lm.facts.shortcuts)}")
    print("| data | measure | items | tokens | in pairs | saved | s without | s with | ratio |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, measure in DATA.items():
        try:
            data = datasets.load(name, data_dir=args.data_dir, offline=True)
        except DataError:
            continue
        items = [item for item in data.items if isinstance(item, Pair)]
        tokens, inside, nodes = count(lm, items, measure)
        head = f"| {name} | {measure} | {len(items)} | {tokens} | {1 - inside / tokens:.1%} | {1 - nodes / tokens:.1%}"
        print(head, end=" | ", flush=True)
        part = Dataset(data.card, tuple(items[: args.items]), "", verified=False)
        without, with_trees = compare(lm, part, measure, args.repeats) if args.items else (0.0, 0.0)
        ratio = with_trees / without if without else float("nan")
        print(f"{without:.2f} | {with_trees:.2f} | {ratio:.2f} |", flush=True)


def count(lm: Lm, items: list[Pair], measure: str) -> tuple[int, int, int]:
    """Tokens of all distinct sequences of a chunk; as trees within each item; as trees of the chunk."""
    tokens = inside = nodes = 0
    for begin in range(0, len(items), CHUNK):
        chunk: dict[tuple[int, ...], None] = {}
        for item in items[begin : begin + CHUNK]:
            own = [ids for ids in sequences(lm, item, measure) if ids not in chunk]
            chunk |= dict.fromkeys(own)
            inside += tree_nodes(list(dict.fromkeys(own)))
        tokens += sum(map(len, chunk))
        nodes += tree_nodes(list(chunk))
    return tokens, inside, nodes


def sequences(lm: Lm, item: Pair, measure: str) -> list[tuple[int, ...]]:
    try:
        asked = MEASURES[measure].probes(item, lm)
    except Unscorable:
        return []
    return [probe.ids for probes in asked.values() for probe in probes]


def tree_nodes(rows: list[tuple[int, ...]]) -> int:
    total = 0
    for numbers, trees in pack_trees(rows, 1 << 30, 1 << 30):
        planted = plant_trees(*stack([rows[number] for number in numbers], -1), trees, -1)
        total += int((planted.ids >= 0).sum())
    return total


def compare(lm: Lm, data: Dataset, measure: str, repeats: int) -> tuple[float, float]:
    """Median processor seconds of an audit without prefix trees and with them."""
    shortcuts = lm.network.shortcuts
    assert shortcuts is not None
    longest = shortcuts.longest_in_trees
    seconds: dict[int, list[float]] = {0: [], longest: []}
    for _ in range(repeats + 1):  # the first warms up
        for this, times in seconds.items():
            shortcuts.longest_in_trees = this
            begin = time.process_time()
            unmask.audit(lm, data=data, measures=[measure], options=unmask.Options(store=False))
            times.append(time.process_time() - begin)
    shortcuts.longest_in_trees = longest
    return median(seconds[0][1:]), median(seconds[longest][1:])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default="builtin-causal")
    parser.add_argument("--items", type=int, default=CHUNK, help="items timed; 0: only count tokens")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("UNMASK_DATA_DIR"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
