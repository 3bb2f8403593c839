"""Run a fine-tuning in its own process, to be killed: `python killed_run.py MODEL TRAIN OUT`."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

import unmask
from unmask.tasks import Grid


def main(model: str, train: str, out: str) -> None:
    torch.set_num_threads(1)
    grid = Grid((8, 16), (1e-3,), (2.0,))
    unmask.task("biasbios", model, out=out, train=Path(train), grid=grid, save_every=5, length=16, offline=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
