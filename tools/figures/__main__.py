"""Measure a model that ships and print every figure of its card.

    python -m tools.figures builtin --corpora DIR --data-dir DIR --out FILE.json [--rows N] [--markdown]

held-out text ──► accuracy, (pseudo-)perplexity          benchmarks ──► headline estimates
our sentences ──► guesses or continuations               occupations ──► she/he log-odds against women's share

All of it goes through the product's own code, in fp32 on two cores of a CPU. What is missing (a corpus, a
dataset) is said in one line, and the rest goes on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

import unmask
from tools.figures.english import english
from tools.figures.examples import examples
from tools.figures.held import held_text, text_figures
from tools.figures.page import as_text, page
from tools.figures.types import Job, Measurements
from unmask.core.errors import UnmaskError
from unmask.core.types import Check, Kind

BENCHMARKS: dict[Kind, dict[str, tuple[str, ...]]] = {  # with the measures named, if not the usual ones
    "masked": {"crows-pairs": (), "stereoset": ()},
    "causal": {"crows-pairs": ("ll",)},
}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write."""
    args = _arguments(argv)
    torch.set_num_threads(min(2, torch.get_num_threads()))
    try:
        lm = unmask.open_model(args.model, unmask.Opening(device="cpu"))
    except UnmaskError as error:
        sys.exit(str(error))
    job = Job(lm, args.corpora, args.data_dir, args.rows, args.limit)
    found = measure_model(job)
    args.out.write_text(as_text(job, found), encoding="utf-8")
    print(page(job, found, markdown=args.markdown))


def measure_model(job: Job) -> Measurements:
    """Every part of the card that this kind of model has."""
    found = Measurements()
    held = held_text(job, found)
    text_figures(job, held, found)
    with found.part("examples"):
        found.examples.extend(examples(job.lm))
    for source in ("winogender", "winobias", "both"):
        with found.part(source):
            found.figures.extend(english(job.lm, source, job.data_dir))
    for name, measures in BENCHMARKS[job.lm.kind].items():
        with found.part(name):
            options = unmask.Options(data_dir=job.data_dir, limit=job.limit, offline=True)
            result = unmask.audit(job.lm, data=name, measures=measures, options=options)
            found.estimates.extend(result.headlines(published=True))
            found.checks.extend(Check(f"{name}/{one.name}", one.ok, one.detail) for one in result.checks)
    return found


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder, builtin, or anything else unmask opens")
    parser.add_argument("--corpora", type=Path, required=True, help="folder of NAME.txt.xz")
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of datasets")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--rows", type=int, default=400, help="rows, and sentences, of each corpus")
    parser.add_argument("--limit", type=int, help="only the first items of each benchmark; all unless given")
    parser.add_argument("--markdown", action="store_true", help="print Markdown instead of plain columns")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
