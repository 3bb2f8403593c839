"""The amount of work in a step: tokens to process, from the size of the data, and the size of models."""

from __future__ import annotations

import csv
import functools
import json
import struct
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from unmask import data as datasets
from unmask.measures import find
from unmask.models.builtin import builtin_models

TOKENS = 17  # mean length of a benchmark sentence with special tokens, approximate
UNKNOWN = 85_000_000  # weights per token of an unknown model: BERT-base's


def forward_tokens(data: str, limit: int | None, measures: Sequence[str]) -> float:
    """Tokens of all forward passes: one pass per token where tokens are masked one at a time."""
    one_at_a_time = not measures or any(find(measure).one_at_a_time for measure in measures)
    passes = (TOKENS - 2 if one_at_a_time else 0) + (1 if not one_at_a_time or len(measures) != 1 else 0)
    return 2.0 * item_count(data, limit) * TOKENS * passes


def item_count(data: str, limit: int | None) -> int:
    """The number of items in a dataset; for a user's file, its lines."""
    path = Path(data)
    if path.is_file():
        with path.open("rb") as file:
            size = sum(1 for _ in file)
    else:
        size = datasets.card(data).size
    return size if limit is None else min(size, limit)


def weights_per_token(model: str) -> int:
    """Weights used per token: of a paper's model by name, of a folder by its files; else BERT-base's.

    ALBERT's layers share weights, so it uses more per token than it has.
    """
    name = model.rstrip("/").rpartition("/")[2].partition("@")[0]
    folder = builtin_models()[model].folder if model in builtin_models() else Path(model)
    count = sum(_file_weights(path) for path in folder.glob("*.safetensors")) if folder.is_dir() else 0
    return count or paper_model_sizes().get(name, UNKNOWN)


@functools.cache
def paper_model_sizes() -> dict[str, int]:
    """Weights per token of the papers' models."""
    text = (files("unmask.studies") / "published" / "models.csv").read_text(encoding="utf-8")
    return {row["model"]: int(row["used"]) for row in csv.DictReader(text.splitlines())}


def _file_weights(path: Path) -> int:
    """The number of weights in a safetensors file, from its header."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    total = 0
    for name, tensor in header.items():
        if name != "__metadata__":
            size = 1
            for dimension in tensor["shape"]:
                size *= dimension
            total += size
    return total
