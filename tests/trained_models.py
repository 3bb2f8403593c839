"""Tiny models trained on a few sentences: some of their predictions are right and some are wrong."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import reference
import zoo
from unmask import data as datasets
from unmask.core.types import Dataset
from unmask.findings import Section

CROWS = (14, 2, 10, 29, 27, 13, 106, 37, 30)  # 2: one sentence has nothing of its own
STEREOSET = (18, 0, 23, 1, 15, 11, 20, 17)
STEPS, LR, MASKED_SHARE = 120, 0.02, 0.4


@functools.cache
def train_model(architecture: str, texts: tuple[str, ...]) -> Path:
    """A checkpoint trained on these texts, with some tokens masked at random; the loss is over every token."""
    wild, tokenizer = reference.load(zoo.folder(architecture))
    torch.manual_seed(0)
    model = type(wild)(wild.config).eval()  # small weights learn sooner than the zoo's, and no dropout
    batch = tokenizer(list(texts), padding=True, return_tensors="pt")
    ids, attention = batch["input_ids"], batch["attention_mask"]
    attended = attention.bool()
    rng = torch.Generator().manual_seed(0)
    optimizer = torch.optim.Adam(model.parameters(), lr=LR)
    with reference.one_thread():
        for _ in range(STEPS):
            masked = (torch.rand(attended.shape, generator=rng) < MASKED_SHARE) & attended
            inputs = ids.masked_fill(masked, tokenizer.mask_token_id)
            logits = model(input_ids=inputs, attention_mask=attention).logits
            loss = torch.nn.functional.cross_entropy(logits[attended], ids[attended])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    folder = zoo.folder(architecture).parent / f"trained-{architecture}"
    zoo.save(folder, model, tokenizer)
    return folder


@functools.cache
def training_data() -> dict[str, Dataset]:
    """A few short pairs of the miniature CrowS-Pairs and StereoSet."""
    rows = {"crows-pairs": CROWS, "stereoset": STEREOSET}
    wholes = {name: datasets.load(name, data_dir=zoo.MINIATURE) for name in rows}
    return {name: replace(whole, items=tuple(whole.items[row] for row in rows[name])) for name, whole in wholes.items()}


def half_trained_model(architecture: str) -> Path:
    """A model trained on every other pair of the data: it predicts those and not the rest."""
    learnt = [item for data in training_data().values() for item in data.items[::2]]
    return train_model(architecture, tuple(text for item in learnt for text in (item.more, item.less)))


@functools.cache
def load_model(folder: Path) -> tuple[Any, Any]:
    """Model and tokenizer, loaded once."""
    return reference.load(folder)


def rows(of: Section, table: int) -> dict[tuple[Any, Any], dict[str, Any]]:
    """The rows of a table by its third and fourth column."""
    chosen = of.finding.tables[table]
    return {(row[2], row[3]): dict(zip(chosen.columns, row, strict=True)) for row in chosen.rows}
