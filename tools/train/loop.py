"""The training loop all models share: a rate that warms up and falls to zero, bf16 products, a log."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

LOGGED = 500  # steps between two lines of log


@dataclass(frozen=True)
class Budget:
    """How long to train: by steps, by seconds, or by whichever ends first."""

    steps: int | None = None
    seconds: float | None = None

    def spent(self, step: int, elapsed: float) -> float:
        """The share that is used up, from 0 to 1."""
        by_steps = step / self.steps if self.steps else 0.0
        return min(1.0, max(by_steps, elapsed / self.seconds if self.seconds else 0.0))


@dataclass(frozen=True)
class Recipe:
    """How fast to learn; `muon` gives the matrices between embeddings and head to that optimizer."""

    rate: float
    warm_up: int
    decay: float = 0.01
    muon: bool = False


@dataclass(frozen=True)
class Trained:
    """What a training took."""

    steps: int
    seconds: float


def device() -> torch.device:
    """A GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def compile_on_gpu(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function with its small operations fused, on a GPU."""
    if device().type == "cpu":
        return function
    torch._dynamo.config.suppress_errors = True  # run as it is what cannot be compiled
    return torch.compile(function, dynamic=False)


def train(
    model: nn.Module, loss_at: Callable[[int], Tensor], budget: Budget, recipe: Recipe, report: Callable[[], str] = str
) -> Trained:
    """Train until the budget is spent; `loss_at` draws its own batch."""
    optimizers = _optimizers(model, recipe)
    begin, step, spent = time.monotonic(), 0, 0.0
    while (spent := budget.spent(step, time.monotonic() - begin)) < 1.0:
        rate = recipe.rate * min(1.0, (step + 1) / recipe.warm_up) * (1.0 - spent)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
        with torch.autocast(device().type, dtype=torch.bfloat16, enabled=device().type == "cuda"):
            loss = loss_at(step)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if step % LOGGED == 0:
            print(f"{time.monotonic() - begin:6.0f} s  step {step:6}  loss {loss.item():.3f}  {report()}", flush=True)
        step += 1
    return Trained(step, round(time.monotonic() - begin, 1))


def _optimizers(model: nn.Module, recipe: Recipe) -> list[torch.optim.Optimizer]:
    trained = [(name, one) for name, one in model.named_parameters() if one.requires_grad]
    inner = [
        one for name, one in trained if recipe.muon and one.ndim == 2 and "embed" not in name and "head" not in name
    ]
    taken = {id(one) for one in inner}
    rest = [one for _, one in trained if id(one) not in taken]
    betas, fused = (0.9, 0.98), device().type == "cuda"
    made: list[torch.optim.Optimizer] = [
        torch.optim.AdamW(rest, lr=recipe.rate, betas=betas, weight_decay=recipe.decay, fused=fused)
    ]
    if inner:
        made.append(torch.optim.Muon(inner, lr=recipe.rate, weight_decay=recipe.decay, adjust_lr_fn="match_rms_adamw"))
    return made
