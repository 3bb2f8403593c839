"""The masked model: all-MiniLM-L6-v2's encoder and a BERT head, trained by masked language modelling."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tools.train import corpus
from tools.train.corpus import Corpus
from tools.train.loop import Budget, Recipe, compile_on_gpu, device, train
from tools.train.sampling import Stream, sentence_starts

PAD, BEGIN, END, MASK = 0, 101, 102, 103  # of BERT's uncased vocabulary
FIRST_WORD = 999  # ids below are special or unused
RATES = (0.15, 0.15, 0.20, 0.30)  # share of tokens hidden, batch by batch
LENGTH, SENTENCE, EVERY = 256, 48, 6  # tokens of a row, of a lone sentence; which steps are of lone sentences
RECIPE = Recipe(rate=1.2e-3, warm_up=1000)


def start(folder: Path) -> Any:
    """A masked model to train on, or the encoder with a new head.

    The head's transform begins as the identity, and its decoder is the embeddings.
    """
    from transformers import AutoConfig, AutoModel, BertConfig, BertForMaskedLM

    undropped = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    if "BertForMaskedLM" in (AutoConfig.from_pretrained(folder).architectures or ()):
        return BertForMaskedLM.from_pretrained(folder, dtype=torch.float32, **undropped).to(device())
    body = AutoModel.from_pretrained(folder)
    model = BertForMaskedLM(BertConfig(**{**body.config.to_dict(), **undropped}))
    weights = {key: value for key, value in body.state_dict().items() if not key.startswith("pooler.")}
    model.bert.load_state_dict({key: value.float() for key, value in weights.items()})
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


def run(  # noqa: PLR0913 - what a training is made of
    model: Any,
    text: Stream,
    held: Mapping[str, Tensor],
    budget: Budget,
    *,
    rows: int,
    seed: int,
    recipe: Recipe = RECIPE,
    continues: Tensor | None = None,
) -> dict[str, Any]:
    """Train, and say what it took and how well held-out text is predicted."""
    generator = torch.Generator(device()).manual_seed(seed)
    surprise_of = compile_on_gpu(partial(surprise, model))

    def loss(step: int) -> Tensor:
        rate = RATES[step % len(RATES)]
        ids, kept = batch(text, rows, generator, alone=step % EVERY == EVERY - 1)
        places, labels = choose_positions(ids, kept, rate, generator, continues)
        seen = corrupt_ids(ids, places, generator, model.config.vocab_size)
        return surprise_of(seen, kept, places, labels)

    def report() -> str:
        return " ".join(f"{name} {accuracy(model, some[:200]):.4f}" for name, some in held.items())

    took = train(model, loss, budget, recipe, report)
    shares = {name: round(accuracy(model, some), 4) for name, some in held.items()}
    facts = {"rows": rows, "length": LENGTH, "seed": seed, "whole_words": continues is not None}
    return {**asdict(took), **facts, **asdict(recipe), "masked_accuracy": shares}


def batch(text: Stream, rows: int, generator: torch.Generator, *, alone: bool) -> tuple[Tensor, Tensor | None]:
    """Rows with their special tokens: running text, or lone sentences, padded, as audits ask about."""
    if not alone:
        ids = text.rows(rows, LENGTH - 2, generator)
        begin, end = ids.new_full((len(ids), 1), BEGIN), ids.new_full((len(ids), 1), END)
        return torch.cat([begin, ids, end], dim=1), None
    return frame_sentences(*text.sentences(2 * rows, SENTENCE - 2, generator))


def frame_sentences(ids: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
    """[CLS], the true tokens, [SEP], padding; and which are true."""
    lengths, one = kept.sum(1), ids.new_full((len(ids), 1), BEGIN)
    ids = torch.cat([one, ids.masked_fill(~kept, PAD), torch.full_like(one, PAD)], dim=1)
    ids[torch.arange(len(ids), device=ids.device), lengths + 1] = END
    return ids, (torch.arange(ids.shape[1], device=ids.device) < (lengths + 2)[:, None]).long()


def choose_positions(
    ids: Tensor, kept: Tensor | None, rate: float, generator: torch.Generator, continues: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Places to predict, as many in every row, and what stands there; -100 where a row has fewer words.

    `continues` says of every token id whether it continues a word: words are then chosen whole.
    """
    draw = torch.rand(ids.shape, generator=generator, device=ids.device)
    if continues is not None:
        draw = draw.gather(1, (~continues[ids]).long().cumsum(1).clamp(max=ids.shape[1] - 1))
    draw = draw.masked_fill(ids < FIRST_WORD, -1.0)
    drawn, places = draw.topk(max(1, round(rate * (ids.shape[1] - 2))), dim=1)
    lengths = (ids >= FIRST_WORD).sum(1, keepdim=True) if kept is not None else ids.shape[1] - 2
    enough = torch.arange(places.shape[1], device=ids.device) < rate * lengths
    return places, ids.gather(1, places).masked_fill(~enough | (drawn < 0), -100)


def corrupt_ids(ids: Tensor, places: Tensor, generator: torch.Generator, size: int) -> Tensor:
    """The input: of the tokens to predict 80% are masked, 10% another token, 10% as they are."""
    fate = torch.rand(places.shape, generator=generator, device=ids.device)
    other = torch.randint(FIRST_WORD, size, places.shape, generator=generator, device=ids.device)
    own = ids.gather(1, places)
    changed = torch.where(fate < 0.8, torch.full_like(own, MASK), torch.where(fate < 0.9, other, own))
    return ids.scatter(1, places, changed)


def surprise(model: Any, ids: Tensor, kept: Tensor | None, places: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy at the places; the head sees nothing else."""
    states = model.bert(input_ids=ids, attention_mask=kept)[0]
    read = states.gather(1, places[..., None].expand(-1, -1, states.shape[-1]))
    return torch.nn.functional.cross_entropy(model.cls(read).flatten(0, 1).float(), labels.flatten())


def held_out(corpora: Sequence[Corpus], names: Sequence[str], most: int) -> dict[str, Tensor]:
    """Rows of the held-out documents of each corpus, each document from its beginning."""
    rows: dict[str, Tensor] = {}
    for one in corpora:
        if one.name in names and one.held.any():
            cut = [
                ids[at : at + LENGTH - 2] for ids in one.documents(held=True) for at in range(0, len(ids), LENGTH - 2)
            ]
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
        states = model.bert(torch.where(chosen, torch.full_like(ids, MASK), ids), attention_mask=(ids != PAD).long())[
            0
        ][chosen]
        right += int((model.cls(states).argmax(-1) == ids[chosen]).sum())
        total += int(chosen.sum())
    model.train()
    return right / max(total, 1)


def save(model: Any, tokenizer: Path, out: Path, facts: dict[str, Any]) -> None:
    """An ordinary checkpoint in fp16, with its tokenizer and what the training took."""
    from transformers import AutoTokenizer

    model.half().save_pretrained(out)
    plain = AutoTokenizer.from_pretrained(tokenizer, model_max_length=LENGTH)  # no place beyond was trained
    plain.backend_tokenizer.no_truncation()
    plain.backend_tokenizer.no_padding()
    plain.save_pretrained(out)
    (out / "training.json").write_text(json.dumps(facts, indent=2) + "\n")
    model.float()
