"""How much work a step is: tokens put through a network, from the size of the data and what is asked."""

from __future__ import annotations

import csv
import functools
import json
import struct
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from unmask import data as datasets
from unmask.models.builtin import builtin_models

TOKENS = 17  # of a sentence of the benchmarks with its special tokens, about
UNKNOWN = 85_000_000  # weights a token meets in a model that nothing is known of: BERT-base's
ONE_PASS = {"aul", "aula", "aula-normalised", "all-masked", "sss", "sss-diagonal", "ppd", "lpbs", "ll", "cll"}


def forward_tokens(data: str, limit: int | None, measures: Sequence[str]) -> float:
    """Tokens of all forward passes: a pass for every token where tokens are hidden one at a time."""
    alone = not measures or any(one not in ONE_PASS for one in measures)
    passes = (TOKENS - 2 if alone else 0) + (1 if not alone or len(measures) != 1 else 0)
    return 2.0 * item_count(data, limit) * TOKENS * passes


def item_count(data: str, limit: int | None) -> int:
    """How many a dataset has; of your own file, its lines."""
    path = Path(data)
    if path.is_file():
        with path.open("rb") as file:
            size = sum(1 for _ in file)
    else:
        size = datasets.card(data).size
    return size if limit is None else min(size, limit)


def weights_per_token(model: str) -> int:
    """That every token meets: of a known model by name, of a folder by its files; else BERT-base's.

    ALBERT's layers share theirs, so its tokens meet more than it has.
    """
    name = model.rstrip("/").rpartition("/")[2].partition("@")[0]
    folder = builtin_models()[model].folder if model in builtin_models() else Path(model)
    counted = sum(_in_file(path) for path in folder.glob("*.safetensors")) if folder.is_dir() else 0
    return counted or paper_model_sizes().get(name, UNKNOWN)


@functools.cache
def paper_model_sizes() -> dict[str, int]:
    """Of the papers' models."""
    text = (files("unmask.studies") / "published" / "models.csv").read_text(encoding="utf-8")
    return {row["model"]: int(row["used"]) for row in csv.DictReader(text.splitlines())}


def _in_file(path: Path) -> int:
    """Numbers in a safetensors file, by its header."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    total = 0
    for name, one in header.items():
        if name != "__metadata__":
            size = 1
            for dimension in one["shape"]:
                size *= dimension
            total += size
    return total
