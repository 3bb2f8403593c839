"""Train a population of models with known doses of bias, and write its manifest.

    python -m tools.population --out DIR              36 models on three axes; under a minute each on one core
    python -m tools.population --out DIR --reduced    six models on two axes, a few seconds each
    unmask diagnose validity --doses DIR/doses.csv    which measure follows which dose

A killed run resumes: a model whose folder is complete is kept. Weights are not shipped; this makes them again.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

from tokenizers import Tokenizer

from tools.population import design
from tools.population.planted import AXES
from tools.population.training import BUILT_IN, Size, grown, save, text_of

MANIFEST = "doses.csv"
SMALL = Size(steps=40, rows=8, pool=100)


def main() -> None:
    """Train what is missing, and write the manifest."""
    args = _arguments()
    axes, size = (AXES[:2], SMALL) if args.reduced else (AXES, Size())
    plans = design.reduced_plans(axes) if args.reduced else design.population(axes)
    missing = [plan for plan in plans if not (args.out / plan.name / "training.json").is_file()]
    if missing:
        tokenizer = Tokenizer.from_file(str(BUILT_IN / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        text = text_of(axes, tokenizer, size)
        for plan in missing:
            model, facts = grown(plan, text, size)
            save(model, args.out / plan.name, facts)
            print(plan.name, json.dumps(facts), flush=True)
    write_manifest(args.out / MANIFEST, plans)


def write_manifest(path: Path, plans: list[design.Plan]) -> None:
    """A row a model: its folder, its seed, and its dose on every axis."""
    axes = list(plans[0].doses)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["model", "seed", *axes])
        rows.writerows([plan.name, plan.seed, *(f"{plan.doses[axis]:g}" for axis in axes)] for plan in plans)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--reduced", action="store_true", help="six models on two axes, trained briefly")
    return parser.parse_args()


if __name__ == "__main__":
    main()
