"""The masked model: all-MiniLM-L6-v2's encoder with a BERT head, all weights trained by masked language modelling."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tools.train import corpus
from tools.train.corpus import Corpus
from tools.train.loop import Budget, Recipe, compiled, device, train
from tools.train.sampling import Stream, sentence_starts

PAD, UNKNOWN, BEGIN, END, MASK = 0, 100, 101, 102, 103  # of BERT's uncased vocabulary
FIRST_WORD = 999  # ids below are special or unused
RATES = (0.15, 0.20, 0.30)  # share of tokens masked, drawn for each row
LENGTH, SENTENCE, EVERY = 128, 48, 4  # tokens of a row; of a lone sentence; every such step is of lone sentences
RECIPE = Recipe(rate=7e-4, warm_up=1000)


def start(encoder: Path) -> Any:
    """The encoder with a head whose transform is the identity and whose decoder is the embeddings."""
    from transformers import AutoModel, BertConfig, BertForMaskedLM

    body = AutoModel.from_pretrained(encoder)
    config = BertConfig(**{**body.config.to_dict(), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0})
    model = BertForMaskedLM(config)
    weights = {key: value.float() for key, value in body.state_dict().items() if not key.startswith("pooler.")}
    model.bert.load_state_dict(weights, strict=True)
    torch.nn.init.eye_(model.cls.predictions.transform.dense.weight)
    return model.to(device())


def stream(corpora: Sequence[Corpus], tokenizer: Any) -> Stream:
    """The training documents, ready to draw from."""
    ids = corpus.stream(corpora, END, held=False)
    number = tokenizer.token_to_id
    starts = sentence_starts(
        ids,
        enders=[number(mark) for mark in ".!?"],
        closers=[number(mark) for mark in ('"', "'", ")", "”", "’")],
        titles=[number(word) for word in ("mr", "mrs", "ms", "dr", "st", *"abcdefghijklmnopqrstuvwxyz")],
        separator=END,
    )
    return Stream.of(ids, starts, device())


def run(
    model: Any, text: Stream, held: dict[str, Tensor], budget: Budget, *, rows: int, whole_words: Tensor | None, seed: int, recipe: Recipe = RECIPE
) -> dict[str, Any]:
    """Train, and say what it took and how well held-out text is predicted."""
    generator = torch.Generator(device()).manual_seed(seed)
    body = compiled(model.bert)

    def loss(step: int) -> Tensor:
        ids, kept = batch(text, rows, generator, alone=step % EVERY == EVERY - 1)
        chosen, corrupted = corrupt(ids, generator, model.config.vocab_size, whole_words)
        states = body(input_ids=corrupted, attention_mask=kept)[0][chosen]
        return torch.nn.functional.cross_entropy(model.cls(states).float(), ids[chosen])

    def report() -> str:
        return " ".join(f"{name} {accuracy(model, some[:400]):.4f}" for name, some in held.items())

    took = train(model, loss, budget, recipe, report)
    shares = {name: round(accuracy(model, some), 4) for name, some in held.items()}
    return {**asdict(took), "rows": rows, "seed": seed, **asdict(recipe), "masked_accuracy": shares}


def batch(text: Stream, rows: int, generator: torch.Generator, *, alone: bool) -> tuple[Tensor, Tensor | None]:
    """Rows with their special tokens: running text, or lone sentences with padding, which audits ask about."""
    if not alone:
        return wrapped(text.rows(rows, LENGTH - 2, generator)), None
    ids, kept = text.sentences(2 * rows, SENTENCE - 2, generator)
    return closed(ids, kept)


def wrapped(ids: Tensor) -> Tensor:
    """[CLS] before and [SEP] behind every row."""
    begin, end = ids.new_full((len(ids), 1), BEGIN), ids.new_full((len(ids), 1), END)
    return torch.cat([begin, ids, end], dim=1)


def closed(ids: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
    """[CLS], the true tokens, [SEP], padding; and which are true."""
    lengths = kept.sum(1)
    ids = torch.cat([ids.new_full((len(ids), 1), BEGIN), ids.masked_fill(~kept, PAD), ids.new_zeros((len(ids), 1))], dim=1)
    ids[torch.arange(len(ids), device=ids.device), lengths + 1] = END
    return ids, (torch.arange(ids.shape[1], device=ids.device) < (lengths + 2)[:, None]).long()


def corrupt(ids: Tensor, generator: torch.Generator, size: int, continues: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Which tokens must be predicted, and the input: 80% of them masked, 10% another token, 10% as they are.

    `continues` says of every token id whether it continues a word: words are then chosen whole.
    """
    draw = torch.rand(ids.shape, generator=generator, device=ids.device)
    if continues is not None:
        word = (~continues[ids]).long().cumsum(1).clamp(max=ids.shape[1] - 1)
        draw = draw.gather(1, word)
    rates = torch.tensor(RATES, device=ids.device)
    rate = rates[torch.randint(len(RATES), (len(ids), 1), generator=generator, device=ids.device)]
    chosen = (draw < rate) & (ids >= FIRST_WORD)
    fate = torch.rand(ids.shape, generator=generator, device=ids.device)
    other = torch.randint(FIRST_WORD, size, ids.shape, generator=generator, device=ids.device)
    changed = torch.where(fate < 0.8, torch.full_like(ids, MASK), torch.where(fate < 0.9, other, ids))
    return chosen, torch.where(chosen, changed, ids)


def held_out(corpora: Sequence[Corpus], names: Sequence[str], most: int) -> dict[str, Tensor]:
    """Rows of the held-out documents of each corpus, each document from its beginning."""
    rows: dict[str, Tensor] = {}
    for one in corpora:
        if one.name in names and one.held.any():
            cut = [ids[at : at + LENGTH - 2] for ids in one.documents(held=True) for at in range(0, len(ids), LENGTH - 2)]
            cut = [part for part in cut if len(part) >= 8]
            order = np.random.default_rng(0).permutation(len(cut))[:most]
            table = np.full((len(order), LENGTH), PAD, dtype=np.int64)
            for row, number in enumerate(order):
                table[row, : len(cut[number]) + 2] = [BEGIN, *cut[number], END]
            rows[one.name] = torch.from_numpy(table).to(device())
    return rows


@torch.no_grad()
def accuracy(model: Any, rows: Tensor) -> float:
    """Share of masked tokens (15% at random, all behind the mask) that are the model's first guess."""
    generator = torch.Generator(rows.device).manual_seed(1)
    right = total = 0
    model.eval()
    for ids in rows.split(256):
        chosen = (torch.rand(ids.shape, generator=generator, device=ids.device) < 0.15) & (ids >= FIRST_WORD)
        states = model.bert(torch.where(chosen, torch.full_like(ids, MASK), ids), attention_mask=(ids != PAD).long())[0][chosen]
        right += int((model.cls(states).argmax(-1) == ids[chosen]).sum())
        total += int(chosen.sum())
    model.train()
    return right / max(total, 1)


def save(model: Any, tokenizer: Path, out: Path, facts: dict[str, Any]) -> None:
    """An ordinary checkpoint in fp16, with its tokenizer and what the training took."""
    from transformers import AutoTokenizer

    model.config.hidden_dropout_prob = model.config.attention_probs_dropout_prob = 0.1
    model.half().save_pretrained(out)
    AutoTokenizer.from_pretrained(tokenizer).save_pretrained(out)
    (out / "training.json").write_text(json.dumps(facts, indent=2) + "\n")
    model.float()
