"""Training in two processes: `torchrun --nproc_per_node 2 two_processes.py FOLDER`.

Each process writes whether its weights equal those of rank 0, and the number of steps.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import zoo
from mitigate.tiny import CORPUS, make_options
from training.test_trainer import ROWS, Line, pairs, squares
from unmask.mitigate import find
from unmask.mitigate.checkpoint import make_checkpoint
from unmask.models import Engine, open_lm
from unmask.training import TrainSettings, collators, train
from unmask.training.distributed import on_main_process, world_size


def _train_in_parts(folder: Path) -> dict[str, Any]:
    """Train on batches that are run in several parts."""
    model, tokenizer = zoo.make("gpt2")
    rows = collators.encode_rows(["The nurse said it. " * n for n in range(1, 33)], tokenizer, causal=True)
    collate = collators.collator_for(tokenizer, causal=True)
    batch = collate(rows[::2], np.random.default_rng(0))
    parts = len(collators.split_batch(batch, collate.count, gpu=False))
    settings = TrainSettings(epochs=2, batch=16)
    trained = train(model, rows, collate, settings, folder / "parts-work", count=collate.count)
    return {**_same_weights(model), "steps": trained.steps, "parts": parts}


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    rank_of_main = on_main_process(lambda: os.environ["RANK"])  # before a Trainer has started anything
    started = {"same": rank_of_main == "0" and world_size() == 2}
    line = Line()
    settings = TrainSettings(epochs=2, lr=0.1, batch=1, seed=4, clip=1e9)
    trained = train(line, ROWS[:4], pairs, settings, folder / "line-work", loss=squares)
    results: dict[str, Any] = {"started": started}
    results["line"] = {**_same_weights(line), "steps": trained.steps, "a": line.a.item()}
    results["parts"] = _train_in_parts(folder)
    for method, model in (("dropout", "bert-uncased"), ("cda", "gpt2"), ("at", "bert-uncased")):
        lm = open_lm(on_main_process(lambda: zoo.folder(model)))  # noqa: B023 - called at once
        choices = make_options(method, batch=1, remind=1 if method == "at" else 0)
        done = make_checkpoint(find(method), Engine(lm), CORPUS, folder / method, choices)
        results[method] = {**_same_weights(done.model), "steps": done.details["steps"]}
    (folder / f"process-{os.environ['RANK']}.json").write_text(json.dumps(results), encoding="utf-8")


def _same_weights(model: Any) -> dict[str, bool]:
    own = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    main = on_main_process(lambda: own)
    return {"same": all(torch.equal(tensor, main[name]) for name, tensor in own.items())}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
