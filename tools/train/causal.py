"""The causal sibling: a small Llama-shaped model from nothing, with a byte-level BPE tokenizer of its own."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
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

PIECES, LENGTH = 8192, 256
END = "<|endoftext|>"  # begins and ends every text; id 0
SHAPE = {
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_hidden_layers": 7,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 512,
}
RECIPE = Recipe(rate=3e-3, warm_up=500, decay=0.05)


def tokenizer(paths: Sequence[Path], characters: int) -> Any:
    """A byte-level BPE learnt from the beginning of each corpus, held-out documents left out."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(_learnt_from(paths, characters), trainer)
    return made


def start() -> Any:
    """A new model."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=PIECES, tie_word_embeddings=True, bos_token_id=0, eos_token_id=0, **SHAPE)
    return LlamaForCausalLM(config).to(device())


def stream(corpora: Sequence[Corpus], pieces: Any) -> Stream:
    """The training documents, ready to draw from."""
    ids = corpus.stream(corpora, 0, held=False)
    number = pieces.token_to_id
    known = [
        number(word)
        for word in ("ĠMr", "ĠMrs", "ĠDr", "ĠSt", *(f"Ġ{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    ]
    starts = sentence_starts(
        ids,
        enders=[number(mark) for mark in ".!?"],
        closers=[one for mark in ('"', "'", ")", '."', '?"', '!"') if (one := number(mark)) is not None],
        titles=[one for one in known if one is not None],
        separator=0,
    )
    return Stream.of(ids, starts, device())


def run(  # noqa: PLR0913 - what a training is made of
    model: Any, text: Stream, held: dict[str, Tensor], budget: Budget, *, rows: int, seed: int, recipe: Recipe = RECIPE
) -> dict[str, Any]:
    """Train, and say what it took and how surprising held-out text is."""
    generator = torch.Generator(device()).manual_seed(seed)
    surprise = compile_on_gpu(partial(_surprise, model))

    def loss(_: int) -> Tensor:
        return surprise(prepend_begin(text.rows(rows, LENGTH, generator))).mean()

    took = train(
        model,
        loss,
        budget,
        recipe,
        lambda: " ".join(f"{n} {perplexity(model, some[:200]):.2f}" for n, some in held.items()),
    )
    facts = {name: round(perplexity(model, some), 2) for name, some in held.items()}
    return {**asdict(took), "rows": rows, "seed": seed, **asdict(recipe), "perplexity": facts}


def prepend_begin(ids: Tensor) -> Tensor:
    """The begin-of-text token before every row."""
    return torch.cat([ids.new_zeros((len(ids), 1)), ids], dim=1)


def held_out(corpora: Sequence[Corpus], names: Sequence[str], most: int) -> dict[str, Tensor]:
    """Whole rows of the held-out documents of each corpus, end to end."""
    rows: dict[str, Tensor] = {}
    for one in corpora:
        if one.name in names and one.held.any():
            ids = corpus.stream([one], 0, held=True).astype(np.int64)
            table = ids[: len(ids) // LENGTH * LENGTH].reshape(-1, LENGTH)
            rows[one.name] = torch.from_numpy(np.random.default_rng(0).permutation(table)[:most]).to(device())
    return rows


@torch.no_grad()
def perplexity(model: Any, rows: Tensor) -> float:
    """Of held-out tokens, each row begun anew."""
    model.eval()
    surprises = [_surprise(model, prepend_begin(some)).double().mean(1) for some in rows.split(64)]
    model.train()
    return math.exp(torch.cat(surprises).mean().item())


def _surprise(model: Any, ids: Tensor) -> Tensor:
    """Cross-entropy of every token but the first."""
    logits = model(input_ids=ids[:, :-1], use_cache=False).logits.float()
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(
        len(ids), -1
    )


def save(model: Any, pieces: Any, out: Path, facts: dict[str, Any]) -> None:
    """An ordinary checkpoint in fp16, with its tokenizer and what the training took."""
    from transformers import PreTrainedTokenizerFast

    model.half().save_pretrained(out)
    PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        bos_token=END,
        eos_token=END,
        model_max_length=LENGTH + 1,  # as long as the rows of the training
    ).save_pretrained(out)
    (out / "training.json").write_text(json.dumps(facts, indent=2) + "\n")


def _learnt_from(paths: Sequence[Path], characters: int) -> Iterator[str]:
    for path in paths:
        yield from (text for text in corpus.texts(path, characters) if not corpus.held_out(text))
