"""Random-weight models of well-known shapes with a word-level tokenizer made from the data, to time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from unmask import data as datasets
from unmask.core.types import Pair
from unmask.models import Engine

BERT_BASE = {"vocab_size": 30522}
ROBERTA_LARGE = {
    "vocab_size": 50265,
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
}
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def pairs(data_dir: Path | None, limit: int | None = None) -> tuple[Pair, ...]:
    """CrowS-Pairs where it can be found, else the built-in pairs."""
    try:
        found = datasets.load("crows-pairs", data_dir=data_dir, offline=True)
    except datasets.DataError:
        found = datasets.load("nine-axes")
    return found.items[:limit]


def build(folder: Path, items: Sequence[Pair], shape: dict[str, Any], seed: int = 0) -> Path:
    """Save a BERT of this shape whose WordPiece vocabulary holds every word of the data."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    words = {word for item in items for text in item.sides().values() for word in _words(text)}
    vocabulary = [*SPECIALS, *sorted(words)]
    vocabulary += [f"[unused{i}]" for i in range(shape["vocab_size"] - len(vocabulary))]
    torch.manual_seed(seed)
    model = BertForMaskedLM(BertConfig(**shape))
    model.save_pretrained(folder)
    tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(vocabulary)}, do_lower_case=True)
    tokenizer.save_pretrained(folder)
    return folder


def count_operations(run: Callable[[], object]) -> int:
    """Floating-point operations of the engine's matrix products in `run`."""
    from torch.utils.flop_counter import FlopCounterMode

    original, total = Engine._run, 0

    def counting(engine: Engine, batch: Any) -> Any:
        nonlocal total
        with FlopCounterMode(display=False) as counter:
            launched = original(engine, batch)
        total += counter.get_total_flops()
        return launched

    Engine._run = counting  # type: ignore[method-assign]
    try:
        run()
    finally:
        Engine._run = original  # type: ignore[method-assign]
    return total


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text.lower())
