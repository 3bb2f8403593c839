"""A small training run in its own process, to be killed: `killed.py FOLDER OUT [SECONDS PER STEP]`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

import zoo
from unmask.training import TrainSettings, train
from unmask.training.collators import MaskedLMCollator, encode_rows

TEXTS = [
    f"The {who} said that {pronoun} was late for the {what}."
    for who in ("nurse", "doctor", "clerk", "king")
    for pronoun in ("she", "he")
    for what in ("train", "game", "play")
]
SETTINGS = TrainSettings(epochs=4, lr=1e-3, batch=5, seed=3, save_every=4)


def main(folder: Path, out: Path, pause: float = 0.0) -> None:
    torch.set_num_threads(1)
    model, tokenizer = zoo.make("bert-uncased")
    model.config.hidden_dropout_prob = 0.1
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.1

    def slowly(label: str, share: float, total: int, note: str = "") -> None:
        print(round(share * total), flush=True)  # noqa: T201
        time.sleep(pause)

    trained = train(
        model, encode_rows(TEXTS, tokenizer), MaskedLMCollator(tokenizer), SETTINGS, folder, progress=slowly
    )
    zoo.save(out, model, tokenizer)
    print("resumed", trained.resumed, "steps", trained.steps, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(float, sys.argv[3:]))
