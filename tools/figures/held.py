"""Held-out text: rows and sentences drawn from it, and how well a model foresees their tokens."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tools.figures.intervals import SEED, bootstrap_interval
from tools.figures.types import Answers, Figure, Job, Measurements, Sample
from tools.train import corpus
from unmask.core.errors import DataError
from unmask.core.seeds import generator
from unmask.core.types import Encoded, Floats, Probe
from unmask.measures.probes import each_masked_probe, next_tokens_probe, unmasked_probe
from unmask.models import Engine, Lm
from unmask.stats.shares import wilson

READ = ("simplewiki", "novels")  # the corpora whose held-out documents are read
LENGTH = 256  # tokens of a row
SHORTEST, LONGEST = 8, 64  # tokens of a sentence; rows, too, have at least the former
HIDDEN = 0.15  # share of a row's tokens that is masked
SENTENCE_END = re.compile(
    r"(?<!\bMr\.)(?<!\bMrs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\b[A-Z]\.)"
    r"(?:(?<=[.!?])|(?<=[.!?][\"'”’)]))\s+(?=[\"'“‘(]?[A-Z])"
)


def held_text(job: Job, found: Measurements) -> dict[str, list[str]]:
    """The held-out documents of every corpus that is there."""
    held: dict[str, list[str]] = {}
    corpora: dict[str, corpus.Corpus] = {}
    with found.part("corpora"):
        paths = corpus.present(job.corpora)
        corpora |= {one.name: one for one in corpus.read(paths, _bare(job.lm))} if paths else {}
    for name in READ:
        with found.part(name):
            held[name] = held_documents(job.corpora, name, corpora)
    return held


def text_figures(job: Job, held: Mapping[str, Sequence[str]], found: Measurements) -> None:
    """Add what this kind of model can be asked about held-out text."""
    if not held:
        return
    lm, engine = job.lm, Engine(job.lm)
    if lm.kind == "causal":
        with found.part("perplexity"):
            rows = [causal_rows(lm, name, documents, job.rows) for name, documents in held.items()]
            given = answers(engine, _fill_samples(rows), lambda row: next_tokens_probe(row, row.content))
            found.figures.extend(perplexity("perplexity", "rows", one) for one in given)
        return
    with found.part("masked accuracy"):
        rows = [masked_rows(lm, name, documents, job.rows) for name, documents in held.items()]
        given = answers(engine, _fill_samples(rows), partly_masked_probe)
        found.figures.extend(accuracy("masked accuracy, %", "rows", one) for one in given)
    with found.part("sentences"):
        lone = _fill_samples([sentences(lm, name, documents, job.rows) for name, documents in held.items()])
        given = answers(engine, lone, lambda one: each_masked_probe(one, one.content))
        found.figures.extend(perplexity("pseudo-perplexity", "sentences", one) for one in given)
        given = answers(engine, lone, unmasked_probe)
        found.figures.extend(accuracy("unmasked accuracy, %", "sentences", one) for one in given)


def held_documents(folder: Path, name: str, corpora: Mapping[str, corpus.Corpus]) -> list[str]:
    """The documents of a corpus that no model of ours was trained on, nor on a near copy of."""
    if name not in corpora:
        raise DataError(f"no {name}.txt.xz in the folder of corpora")
    one = corpora[name]
    wanted = set(one.numbers[one.held].tolist())
    if not wanted:
        raise DataError(f"none of the documents in {name}.txt.xz is held out")
    texts = enumerate(corpus.texts(folder / f"{name}.txt.xz"))
    return [text for number, text in texts if number in wanted]


def masked_rows(lm: Lm, name: str, documents: Sequence[str], number: int) -> Sample:
    """Rows drawn from all that documents are cut into, each from its beginning on."""
    length = min(LENGTH, lm.facts.max_length) - _around(lm)
    each = (lm.pieces(text) for text in documents)
    cut = [ids[at : at + length] for ids in each for at in range(0, len(ids), length)]
    long_enough = [ids for ids in cut if len(ids) >= SHORTEST]
    return Sample(name, _sample_rows(lm, name, long_enough, number), len(documents))


def causal_rows(lm: Lm, name: str, documents: Sequence[str], number: int) -> Sample:
    """Whole rows drawn from all documents end to end, a separator after each, every row begun anew."""
    length = min(LENGTH, lm.facts.max_length - _around(lm))
    end = () if lm.start is None else (lm.start,)
    ids = tuple(chain.from_iterable((*lm.pieces(text), *end) for text in documents))
    whole = [ids[at : at + length] for at in range(0, len(ids) - length + 1, length)]
    return Sample(name, _sample_rows(lm, name, whole, number), len(documents))


def sentences(lm: Lm, name: str, documents: Sequence[str], number: int) -> Sample:
    """Different sentences of a bearable length, drawn from all that documents are split into."""
    texts = list(dict.fromkeys(chain.from_iterable(SENTENCE_END.split(text) for text in documents)))
    chosen: list[Encoded] = []
    for place in generator(SEED, name).permutation(len(texts)):
        ids = lm.pieces(texts[place])
        if SHORTEST <= len(ids) <= LONGEST:
            chosen.append(frame_ids(lm, ids))
        if len(chosen) == number:
            break
    return Sample(name, tuple(chosen), len(documents))


def frame_ids(lm: Lm, ids: Sequence[int]) -> Encoded:
    """Token ids amid what the tokenizer puts around a text; of a masked model unknown ones are not asked."""
    some = lm.encode("a")
    front, back = some.ids[: some.content[0]], some.ids[some.content[-1] + 1 :]
    unknown = lm.unknown_id if lm.kind == "masked" else None
    content = (place for place, token in enumerate(ids, start=len(front)) if token != unknown)
    return Encoded((*front, *ids, *back), tuple(content))


def partly_masked_probe(row: Encoded) -> Probe:
    """A share of the tokens hidden together, the row itself deciding which; read what stood there."""
    number = max(1, round(HIDDEN * len(row.content)))
    chosen = generator(SEED, str(row.ids)).choice(row.content, number, replace=False)
    places = tuple(sorted(chosen.tolist()))
    return Probe(row.ids, tuple((place, row.ids[place]) for place in places), places)


def answers(engine: Engine, samples: Sequence[Sample], probe: Callable[[Encoded], Probe]) -> list[Answers]:
    """One question about every row, by corpus and, of several, over all of them."""
    asked = [[probe(row) for row in sample.rows] for sample in samples]
    readings = engine.read(chain.from_iterable(asked))
    each = [
        Answers(sample.data, tuple(readings[one] for one in probes), sample.documents)
        for sample, probes in zip(samples, asked, strict=True)
    ]
    whole = Answers("all", tuple(chain(*(one.readings for one in each))), sum(one.documents for one in each))
    return [*each, whole] if len(each) > 1 else each


def accuracy(name: str, kind: str, given: Answers) -> Figure:
    """Percent of the tokens read that are the model's first guess."""
    ranks = np.concatenate([reading.ranks for reading in given.readings])
    right, n = int((ranks == 0).sum()), len(ranks)
    interval = wilson(right, n)
    return Figure(name, given.data, 100 * right / n, interval.low, interval.high, n, given.of(kind), interval.method)


def perplexity(name: str, kind: str, given: Answers) -> Figure:
    """Exp of the mean negative log-probability of a token; rows are what is resampled."""
    lost = -np.array([reading.logprobs.sum() for reading in given.readings])
    tokens = np.array([len(reading.logprobs) for reading in given.readings], dtype=np.float64)
    value, low, high, method = bootstrap_interval(_perplexity, lost, tokens, label=f"{name} {given.data}")
    return Figure(name, given.data, value, low, high, int(tokens.sum()), given.of(kind), method)


def _bare(lm: Lm) -> Any:
    """The tokenizer without what transformers puts around it."""
    tokenizer = copy.deepcopy(lm.tokenizer.backend_tokenizer)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _fill_samples(samples: Sequence[Sample]) -> list[Sample]:
    empty = [sample.data for sample in samples if not sample.rows]
    if empty:
        raise DataError(f"too little held-out text in {', '.join(empty)}")
    return list(samples)


def _around(lm: Lm) -> int:
    """How many tokens the tokenizer adds to a text."""
    some = lm.encode("a")
    return len(some.ids) - len(some.content)


def _sample_rows(lm: Lm, name: str, rows: Sequence[Sequence[int]], number: int) -> tuple[Encoded, ...]:
    order = generator(SEED, name).permutation(len(rows))[:number]
    made = (frame_ids(lm, rows[place]) for place in order)
    return tuple(row for row in made if row.content)


def _perplexity(lost: Floats, tokens: Floats, axis: int = -1) -> Floats:
    return np.asarray(np.exp(lost.sum(axis) / tokens.sum(axis)))
