"""One model of the population: the upper half of the built-in one, fine-tuned to move its log-odds by the dose."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tools.population.design import Plan
from tools.population.planted import contrasts
from tools.population.pool import FROZEN, Pool, log_odds, pool_contrasts
from tools.train import masked
from tools.train.loop import Budget, Recipe, device, train
from unmask.models.builtin import FOLDER

BUILT_IN = FOLDER / "masked"
RECIPE = Recipe(rate=5e-4, warm_up=10, decay=0.0)
HELD_OUT = 60  # contrasts an axis


@dataclass(frozen=True)
class Size:
    """How much a model is trained on."""

    steps: int = 300
    rows: int = 16  # contrasts of each kind a step
    pool: int = 600  # contrasts an axis


@dataclass(frozen=True)
class Text:
    """The contrasts of both kinds to train on, those held out, and the built-in model's log-odds of all."""

    axes: tuple[str, ...]
    pools: tuple[Pool, ...]
    held: tuple[Pool, ...]
    before: tuple[Tensor, ...]
    held_before: tuple[Tensor, ...]


def text_of(axes: tuple[str, ...], tokenizer: Any, size: Size) -> Text:
    """The contrasts that all models of a population share."""
    model = masked.start(BUILT_IN).eval()

    def both(number: int, seed: int) -> tuple[Pool, ...]:
        drawn = contrasts(axes, number * len(axes), seed)
        return pool_contrasts(model, tokenizer, drawn, axes, "who"), pool_contrasts(
            model, tokenizer, drawn, axes, "what"
        )

    pools, held = both(size.pool, 0), both(HELD_OUT, 1)
    return Text(axes, pools, held, _every(model, pools), _every(model, held))


def grown(plan: Plan, text: Text, size: Size) -> tuple[Any, dict[str, Any]]:
    """The fine-tuned model, and what its training took and reached."""
    torch.manual_seed(plan.seed)
    model = masked.start(BUILT_IN)
    model.requires_grad_(False)
    for part in (*model.bert.encoder.layer[FROZEN:], model.cls.predictions.transform):
        part.requires_grad_(True)
    doses = torch.tensor([plan.doses.get(axis, 0.0) for axis in text.axes], device=device())
    order = torch.Generator().manual_seed(plan.seed)

    def loss(_: int) -> Tensor:
        total = torch.zeros((), device=device())
        for pool, before in zip(text.pools, text.before, strict=True):
            rows = torch.randint(len(pool), (size.rows,), generator=order).to(device())
            moved = log_odds(model, pool.take(rows)) - before[rows]
            total = total + torch.nn.functional.smooth_l1_loss(moved, doses[pool.axes[rows]])
        return total

    took = train(model, loss, Budget(size.steps), RECIPE)
    facts = {"doses": plan.doses, "seed": plan.seed, **asdict(size), **asdict(took), "lr": RECIPE.rate}
    return model, {**facts, "device": str(device()), "reached": reached_doses(model, text)}


def reached_doses(model: Any, text: Text) -> dict[str, dict[str, float]]:
    """By axis and kind: how far the log-odds of held-out contrasts moved."""
    model.eval()
    moved = [after - before for after, before in zip(_every(model, text.held), text.held_before, strict=True)]
    return {
        axis: {
            kind: round(float(some[pool.axes == number].mean()), 3)
            for kind, pool, some in zip(("who", "what"), text.held, moved, strict=True)
        }
        for number, axis in enumerate(text.axes)
    }


def save(model: Any, folder: Path, facts: Mapping[str, Any]) -> None:
    """An ordinary checkpoint in fp16 with its tokenizer; `training.json` is last, so a folder that has it is whole."""
    from transformers import AutoTokenizer

    model.half().save_pretrained(folder)
    AutoTokenizer.from_pretrained(BUILT_IN).save_pretrained(folder)
    (folder / "training.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


@torch.no_grad()
def _every(model: Any, pools: Sequence[Pool]) -> tuple[Tensor, ...]:
    return tuple(
        torch.cat([log_odds(model, pool.take(rows)) for rows in torch.arange(len(pool), device=device()).split(64)])
        for pool in pools
    )
