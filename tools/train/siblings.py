"""Calibrated siblings: the built-in model, further trained on planted text, kept as low-rank changes of its weights."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.utils import parametrize

from tools.train import masked
from tools.train.loop import Budget, Recipe, device, train
from tools.train.planted import sentences
from tools.train.sampling import Stream

DOSES = (-3, -2, -1, 0, 1, 2, 3)
RANK, PLANTED, LENGTH = 8, 20_000, 48
RECIPE = Recipe(rate=2e-3, warm_up=40, decay=0.0)
OCCUPATIONS = Path(__file__).parents[2] / "src/unmask/data/builtin/occupations.csv"


class LowRank(nn.Module):
    """A weight plus the product of two thin matrices; the second begins at zero."""

    def __init__(self, weight: Tensor, generator: torch.Generator) -> None:
        super().__init__()
        out, inner = weight.shape
        self.a = nn.Parameter(torch.randn((RANK, inner), generator=generator).to(weight.device) / inner**0.5)
        self.b = nn.Parameter(torch.zeros((out, RANK), device=weight.device))

    def forward(self, weight: Tensor) -> Tensor:
        """The changed weight."""
        return weight + self.b @ self.a


def shares() -> dict[str, float]:
    """The share of women in each occupation, as the US counts them; those counted only in a large group left out."""
    with OCCUPATIONS.open(newline="", encoding="utf-8") as file:
        counted = [row for row in csv.DictReader(file) if not row["bls"].endswith(" occupations")]
    return {row["occupation"]: float(row["women"]) for row in counted}


def grown(folder: Path, tokenizer: Any, replay: Stream, dose: int, budget: Budget, out: Path, *, rows: int, seed: int) -> dict[str, Any]:
    """Train one sibling and save its change; half of every batch is ordinary text, so that English stays."""
    from transformers import BertForMaskedLM

    model = BertForMaskedLM.from_pretrained(folder, dtype=torch.float32).to(device())
    thin = _thinned(model, torch.Generator().manual_seed(seed))
    ids, kept, hidden = _encoded(sentences(shares(), dose, PLANTED, seed), tokenizer)
    generator = torch.Generator(device()).manual_seed(seed)

    def loss(_: int) -> Tensor:
        mine = torch.randint(len(ids), (rows,), generator=generator, device=ids.device)
        plain, true = masked.closed(*replay.sentences(rows, LENGTH - 2, generator))
        whole, alive = torch.cat([ids[mine], plain]), torch.cat([kept[mine], true])
        chosen, corrupted = masked.corrupt(whole, generator, model.config.vocab_size)
        pronouns = torch.cat([hidden[mine], torch.zeros_like(hidden[mine])])
        corrupted = corrupted.masked_fill(pronouns, masked.MASK)
        chosen = chosen | pronouns
        states = model.bert(corrupted, attention_mask=alive)[0][chosen]
        return nn.functional.cross_entropy(model.cls(states).float(), whole[chosen])

    took = train(model, loss, budget, RECIPE)
    facts = {"dose": dose, "rank": RANK, "seed": seed, "rows": rows, "sentences": PLANTED, **asdict(took)}
    changes = {f"{name}.{side}": getattr(low, side).detach().half().cpu().contiguous() for name, low in thin.items() for side in "ab"}
    out.mkdir(parents=True, exist_ok=True)
    save_file(changes, out / f"dose{dose:+d}.safetensors", {key: str(value) for key, value in facts.items()})
    return facts


def _thinned(model: Any, generator: torch.Generator) -> dict[str, LowRank]:
    """Freeze everything and give each matrix of the encoder a low-rank change."""
    model.requires_grad_(False)
    made: dict[str, LowRank] = {}
    for name, module in list(model.bert.encoder.named_modules()):
        if isinstance(module, nn.Linear):
            made[f"bert.encoder.{name}.weight"] = LowRank(module.weight, generator)
            parametrize.register_parametrization(module, "weight", made[f"bert.encoder.{name}.weight"])
    return made


def _encoded(planted: Sequence[tuple[str, str]], tokenizer: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Token ids, which are true, and where the planted pronoun stands."""
    tokenizer.enable_padding(length=LENGTH)
    tokenizer.enable_truncation(LENGTH)
    encoded = tokenizer.encode_batch([text for text, _ in planted])
    tokenizer.no_padding()
    tokenizer.no_truncation()
    pronouns = [tokenizer.token_to_id(word) for word in ("he", "she", "him", "her", "his", "hers", "himself", "herself")]
    ids = torch.tensor([one.ids for one in encoded], device=device())
    kept = torch.tensor([one.attention_mask for one in encoded], device=device())
    return ids, kept, torch.isin(ids, torch.tensor(pronouns, device=device()))
