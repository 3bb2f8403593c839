"""Run a fine-tuning in its own process, to be killed: `python killed_run.py MODEL TRAIN OUT`."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from unmask.core.options import Options
from unmask.tasks import Grid, TaskSettings, find, run


def main(model: str, train: str, out: str) -> None:
    torch.set_num_threads(1)
    settings = TaskSettings(train=Path(train), grid=Grid((8, 16), (1e-3,), (2.0,)), save_every=5, length=16)
    run(find("biasbios"), [model], settings=settings, out=out, options=Options(offline=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
