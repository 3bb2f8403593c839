"""Calibrated siblings: the built-in model trained on planted text, kept as low-rank weight changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from unmask.data.templates import FORMS
from unmask.diagnose.psychometrics.doses import women_by_occupation

DOSES = (-3, -2, -1, 0, 1, 2, 3)
RANK, PLANTED = 8, 20_000  # of the changes; sentences planted
RECIPE = Recipe(rate=2e-3, warm_up=40, decay=0.0)


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


def grown(  # noqa: PLR0913 - what a training is made of
    folder: Path, tokenizer: Any, replay: Stream, dose: int, budget: Budget, *, rows: int, seed: int
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The changes that make one sibling of the model in `folder`, and what its training took.

    Half of every batch is ordinary text, so that what the model knows of English stays.
    """
    model = masked.start(folder)
    thin = _add_low_rank(model, torch.Generator().manual_seed(seed))
    planted = _encode_sentences(sentences(women_by_occupation(), dose, PLANTED, seed), tokenizer)
    generator = torch.Generator(device()).manual_seed(seed)

    def loss(_: int) -> Tensor:
        mine = torch.randint(PLANTED, (rows,), generator=generator, device=device())
        pronouns = masked.surprise(model, *(part[mine] for part in planted))
        ids, kept = masked.batch(replay, rows // 2, generator, alone=True)
        places, labels = masked.choose_positions(ids, kept, masked.RATES[0], generator)
        seen = masked.corrupt_ids(ids, places, generator, model.config.vocab_size)
        return pronouns + masked.surprise(model, seen, kept, places, labels)

    took = train(model, loss, budget, RECIPE)
    changes = {
        f"{name}.{side}": getattr(low, side).detach().half().cpu().contiguous()
        for name, low in thin.items()
        for side in "ab"
    }
    return changes, {"dose": dose, "rank": RANK, "seed": seed, "rows": rows, **asdict(took)}


def save(changes: dict[str, Tensor], facts: Mapping[str, Any], folder: Path) -> Path:
    """One small file a sibling, its facts in the header."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"dose{facts['dose']:+d}.safetensors"
    save_file(changes, path, {key: str(value) for key, value in facts.items()})
    return path


def _add_low_rank(model: Any, generator: torch.Generator) -> dict[str, LowRank]:
    """Freeze everything and give each matrix of the encoder a low-rank change."""
    model.requires_grad_(False)
    made: dict[str, LowRank] = {}
    for name, module in list(model.bert.encoder.named_modules()):
        if isinstance(module, nn.Linear):
            made[f"bert.encoder.{name}.weight"] = LowRank(module.weight, generator)
            parametrize.register_parametrization(module, "weight", made[f"bert.encoder.{name}.weight"])
    return made


def _encode_sentences(planted: Sequence[str], tokenizer: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sentences with their pronoun masked, which tokens are true, where it stands and which it is."""
    encoded = [one.ids for one in tokenizer.encode_batch(list(planted))]
    ids = torch.full((len(encoded), max(map(len, encoded))), masked.PAD)
    for row, some in enumerate(encoded):
        ids[row, : len(some)] = torch.tensor(some)
    words = {word for forms in FORMS.values() for word in forms}
    pronouns = torch.isin(ids, torch.tensor([tokenizer.token_to_id(word) for word in sorted(words)]))
    places = pronouns.long().argmax(1, keepdim=True)
    parts = ids.masked_fill(pronouns, masked.MASK), (ids != masked.PAD).long(), places, ids.gather(1, places)
    return tuple(part.to(device()) for part in parts)  # type: ignore[return-value]
