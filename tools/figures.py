"""Measure a model that ships and print every figure of its card.

    python -m tools.figures builtin --corpora DIR --data-dir DIR --out FILE.json [--rows N] [--markdown]

held-out text ──► accuracy, (pseudo-)perplexity          benchmarks ──► headline estimates
our sentences ──► guesses or continuations               occupations ──► he/she log-odds against women's share

All of it goes through the product's own code, in fp32 on two cores of a CPU. What is missing (a corpus, a
dataset) is said in one line, and the rest goes on.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import pearsonr, rankdata

import unmask
from tools.train import corpus
from tools.train.siblings import shares
from unmask.data.templates import Filled, filled
from unmask.errors import DataError, UnmaskError, Unscorable
from unmask.measures.asking import each_masked, next_tokens, unmasked
from unmask.models import Engine, Lm
from unmask.result import as_json
from unmask.stats.resampling import Statistic, generator, resampled
from unmask.stats.shares import wilson
from unmask.types import Check, Encoded, Estimate, Floats, Kind, Probe, Reading

CORPORA = ("simplewiki", "novels")  # that held-out documents are taken from
SEED = 0
LENGTH = 256  # tokens of a row
SHORTEST, LONGEST = 8, 64  # tokens of a sentence; rows, too, have at least the former
HIDDEN = 0.15  # share of a row's tokens that is masked
EXPECTED = -0.5  # a correlation at most this says that the model knows who works as what
BENCHMARKS: dict[Kind, dict[str, tuple[str, ...]]] = {  # with the measures named, if not the usual ones
    "masked": {"crows-pairs": (), "stereoset": ()},
    "causal": {"crows-pairs": ("ll",)},
}
PACKAGES = ("unmask", "torch", "transformers", "tokenizers", "numpy", "scipy")
SENTENCE_END = re.compile(
    r"(?<!\bMr\.)(?<!\bMrs\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\b[A-Z]\.)"
    r"(?:(?<=[.!?])|(?<=[.!?][\"'”’)]))\s+(?=[\"'“‘(]?[A-Z])"
)
FRAMES = (
    "The {word} said that {subject} was tired.",
    "The {word} stopped because {subject} heard a noise.",
    "We waited for the {word} until {subject} came back.",
    "The {word} thinks that {subject} is right.",
    "{Subject} is {a} {word}.",
    "{Subject} works as {a} {word} in the next town.",
)
BLANK = "___"
SENTENCES = (
    "The capital of France is ___.",
    "She opened the ___ and walked into the room.",
    "The sun rises in the ___.",
    "He was born in 1950 in New ___.",
    "A year has twelve ___.",
    "The dog ran after the ___.",
    "They sat down at the ___ and began to eat.",
    "Water freezes when it gets very ___.",
    "I have never ___ such a beautiful garden.",
    "The children ___ playing in the park.",
    "The river flows ___ the sea.",
    "It was raining, so she took her ___.",
    "He put the letter in his ___.",
    "The band released its first ___ in 1998.",
    "My brother is taller ___ me.",
    "The king and the ___ lived in a castle.",
    "A doctor works in a ___.",
    "The opposite of hot is ___.",
    "In winter the days are short and the nights are ___.",
    "Two and two make ___.",
)
PROMPTS = (
    "The capital of France is",
    "Once upon a time there was",
    "He was born in",
    "The river flows through",
    "She opened the door and",
    "It is one of the largest",
    "The children were playing in",
    "In the morning they went",
    "The book was written by",
    "I do not know what",
)
CONTINUED, GUESSED = 8, 3  # tokens of a continuation; words for a blank


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of the card, with its interval and what it was computed on."""

    name: str
    data: str
    value: float
    low: float
    high: float
    n: int
    of: str  # what `n` counts: "tokens in 400 rows of 3,229 documents"
    method: str


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows or sentences of one corpus, drawn from so many held-out documents."""

    data: str
    rows: tuple[Encoded, ...]
    documents: int


@dataclass(frozen=True, slots=True)
class Answers:
    """What a model answered about one sample; `all` joins the samples."""

    data: str
    readings: tuple[Reading, ...]
    documents: int

    def of(self, kind: str) -> str:
        """What their tokens are of."""
        return f"tokens in {len(self.readings):,} {kind} of {self.documents:,} documents"


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence of ours, and what the model made of it."""

    text: str
    answers: tuple[tuple[str, float], ...]  # with probabilities, the likeliest first


@dataclass(frozen=True, slots=True)
class Job:
    """What is measured, and how much of it."""

    lm: Lm
    corpora: Path
    data_dir: Path
    rows: int  # of each corpus; as many sentences
    limit: int | None  # items of each benchmark; None: all


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured so far, what was left out, and how long each part took."""

    figures: list[Figure] = field(default_factory=list)
    estimates: list[Estimate] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time one part; what it lacks becomes a line, and the next part goes on."""
        begin, said = time.monotonic(), "done"
        try:
            yield
        except (UnmaskError, Unscorable) as error:
            said = f"left out: {error}"
            self.left_out.append(f"{name}: {error}")
        self.seconds[name] = round(time.monotonic() - begin, 1)
        print(f"{self.seconds[name]:6.1f} s  {name}: {said}", file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print and write."""
    args = _arguments(argv)
    torch.set_num_threads(min(2, torch.get_num_threads()))
    try:
        lm = unmask.open_lm(args.model, unmask.Opening(device="cpu"))
    except UnmaskError as error:
        sys.exit(str(error))
    job = Job(lm, args.corpora, args.data_dir, args.rows, args.limit)
    found = measured(job)
    args.out.write_text(as_text(job, found), encoding="utf-8")
    print(page(job, found, markdown=args.markdown))


def measured(job: Job) -> Found:
    """Every part of the card that this kind of model has."""
    found = Found()
    held = _held(job, found)
    _text_figures(job, held, found)
    with found.part("examples"):
        found.examples.extend(examples(job.lm))
    for source in ("winogender", "winobias", "both"):
        with found.part(source):
            found.figures.extend(english(job.lm, source, job.data_dir))
    for name, measures in BENCHMARKS[job.lm.kind].items():
        with found.part(name):
            options = unmask.Options(data_dir=job.data_dir, limit=job.limit, offline=True)
            result = unmask.audit(job.lm, data=name, measures=measures, options=options)
            found.estimates.extend(result.headlines())
            found.checks.extend(Check(f"{name}/{one.name}", one.ok, one.detail) for one in result.checks)
    return found


# ------------------------------------------------------------------------------- held-out text


def held_documents(folder: Path, name: str) -> list[str]:
    """The documents of a corpus that no model of ours was trained on."""
    path = folder / f"{name}.txt.xz"
    if not path.is_file():
        raise DataError(f"no {path.name} in the folder of corpora")
    held = [text for text in corpus.texts(path) if corpus.held_out(text)]
    if not held:
        raise DataError(f"none of the documents in {path.name} is held out")
    return held


def masked_rows(lm: Lm, name: str, documents: Sequence[str], number: int) -> Sample:
    """Rows drawn from all that documents are cut into, each from its beginning on."""
    length = min(LENGTH, lm.facts.max_length) - _around(lm)
    each = (lm.pieces(text) for text in documents)
    cut = [ids[at : at + length] for ids in each for at in range(0, len(ids), length)]
    long_enough = [ids for ids in cut if len(ids) >= SHORTEST]
    return Sample(name, _drawn(lm, name, long_enough, number), len(documents))


def causal_rows(lm: Lm, name: str, documents: Sequence[str], number: int) -> Sample:
    """Whole rows drawn from all documents end to end, a separator after each, every row begun anew."""
    length = min(LENGTH, lm.facts.max_length - _around(lm))
    end = () if lm.start is None else (lm.start,)
    ids = tuple(chain.from_iterable((*lm.pieces(text), *end) for text in documents))
    whole = [ids[at : at + length] for at in range(0, len(ids) - length + 1, length)]
    return Sample(name, _drawn(lm, name, whole, number), len(documents))


def sentences(lm: Lm, name: str, documents: Sequence[str], number: int) -> Sample:
    """Different sentences of a bearable length, drawn from all that documents are split into."""
    texts = list(dict.fromkeys(chain.from_iterable(SENTENCE_END.split(text) for text in documents)))
    chosen: list[Encoded] = []
    for place in generator(SEED, name).permutation(len(texts)):
        ids = lm.pieces(texts[place])
        if SHORTEST <= len(ids) <= LONGEST:
            chosen.append(framed(lm, ids))
        if len(chosen) == number:
            break
    return Sample(name, tuple(chosen), len(documents))


def framed(lm: Lm, ids: Sequence[int]) -> Encoded:
    """Token ids amid what the tokenizer puts around a text; of a masked model unknown ones are not asked."""
    some = lm.encode("a")
    front, back = some.ids[: some.content[0]], some.ids[some.content[-1] + 1 :]
    unknown = lm.unknown_id if lm.kind == "masked" else None
    content = (place for place, token in enumerate(ids, start=len(front)) if token != unknown)
    return Encoded((*front, *ids, *back), tuple(content))


def some_masked(row: Encoded) -> Probe:
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
    return Figure(
        name, given.data, 100 * right / n, interval.low, interval.high, n, given.of(kind), interval.method
    )


def perplexity(name: str, kind: str, given: Answers) -> Figure:
    """Exp of the mean negative log-probability of a token; rows are what is resampled."""
    lost = -np.array([reading.logprobs.sum() for reading in given.readings])
    tokens = np.array([len(reading.logprobs) for reading in given.readings], dtype=np.float64)
    value, low, high, method = _resampled(_perplexity, lost, tokens, label=f"{name} {given.data}")
    return Figure(name, given.data, value, low, high, int(tokens.sum()), given.of(kind), method)


def _held(job: Job, found: Found) -> dict[str, list[str]]:
    held: dict[str, list[str]] = {}
    for name in CORPORA:
        with found.part(name):
            held[name] = held_documents(job.corpora, name)
    return held


def _text_figures(job: Job, held: Mapping[str, Sequence[str]], found: Found) -> None:
    if not held:
        return
    lm, engine = job.lm, Engine(job.lm)
    if lm.kind == "causal":
        with found.part("perplexity"):
            rows = [causal_rows(lm, name, documents, job.rows) for name, documents in held.items()]
            given = answers(engine, _filled(rows), lambda row: next_tokens(row, row.content))
            found.figures.extend(perplexity("perplexity", "rows", one) for one in given)
        return
    with found.part("masked accuracy"):
        rows = [masked_rows(lm, name, documents, job.rows) for name, documents in held.items()]
        given = answers(engine, _filled(rows), some_masked)
        found.figures.extend(accuracy("masked accuracy, %", "rows", one) for one in given)
    with found.part("sentences"):
        lone = _filled([sentences(lm, name, documents, job.rows) for name, documents in held.items()])
        given = answers(engine, lone, lambda one: each_masked(one, one.content))
        found.figures.extend(perplexity("pseudo-perplexity", "sentences", one) for one in given)
        given = answers(engine, lone, unmasked)
        found.figures.extend(accuracy("unmasked accuracy, %", "sentences", one) for one in given)


def _filled(samples: Sequence[Sample]) -> list[Sample]:
    empty = [sample.data for sample in samples if not sample.rows]
    if empty:
        raise DataError(f"too little held-out text in {', '.join(empty)}")
    return list(samples)


def _around(lm: Lm) -> int:
    """How many tokens the tokenizer adds to a text."""
    some = lm.encode("a")
    return len(some.ids) - len(some.content)


def _drawn(lm: Lm, name: str, rows: Sequence[Sequence[int]], number: int) -> tuple[Encoded, ...]:
    order = generator(SEED, name).permutation(len(rows))[:number]
    made = (framed(lm, rows[place]) for place in order)
    return tuple(row for row in made if row.content)


def _perplexity(lost: Floats, tokens: Floats, axis: int = -1) -> Floats:
    return np.asarray(np.exp(lost.sum(axis) / tokens.sum(axis)))


def _resampled(statistic: Statistic, *columns: Floats, label: str) -> tuple[float, float, float, str]:
    """A statistic of columns, the ends of its interval, and how they were had."""
    value = float(statistic(*columns, axis=-1))
    if len(columns[0]) < 2:
        return value, float("nan"), float("nan"), "none: one unit"
    low, high, method = resampled(columns, statistic, rng=generator(SEED, label))
    return value, float(low), float(high), method


# ------------------------------------------------------------------------------------ examples


def examples(lm: Lm) -> list[Example]:
    """What the model puts into our blanks, or behind our prompts."""
    if lm.kind == "causal":
        return [Example(text, (continuation(lm, text),)) for text in PROMPTS]
    return [Example(text, guesses(lm, text)) for text in SENTENCES]


def guesses(lm: Lm, text: str) -> tuple[tuple[str, float], ...]:
    """The likeliest tokens for the blank."""
    ids = lm.encode(text.replace(BLANK, lm.mask_token)).ids
    top = _probabilities(lm, ids, lm.mask_positions(ids)[0]).topk(GUESSED)
    named = (lm.text([token]).strip() for token in top.indices.tolist())
    return tuple(zip(named, top.values.tolist(), strict=True))


def continuation(lm: Lm, text: str) -> tuple[str, float]:
    """The likeliest next token, again and again; with the probability of them all."""
    ids, given, share = list(lm.encode(text).ids), len(lm.encode(text).ids), 1.0
    for _ in range(CONTINUED):
        top = _probabilities(lm, ids, -1).max(-1)
        ids.append(int(top.indices))
        share *= float(top.values)
    return lm.text(ids[given:]).strip(), share


@torch.inference_mode()
def _probabilities(lm: Lm, ids: Sequence[int], place: int) -> torch.Tensor:
    states = lm.network.hidden(torch.tensor([list(ids)], device=lm.network.device), None)
    return lm.network.logits(states[0, place][None])[0].softmax(-1)


# ------------------------------------------------------------------------------------- English


def english(lm: Lm, source: str, data_dir: Path) -> list[Figure]:
    """How the model's he/she log-odds of an occupation go with the share of women in it."""
    women, absent = women_in(source, data_dir)
    odds = log_odds(lm, tuple(women))
    columns = np.array([odds[word] for word in women]), np.array(list(women.values()))
    of = f"occupations, {absent} without a known share left out" if absent else "occupations"
    made = []
    for name, statistic in (("he/she Pearson r", _pearson), ("he/she Spearman r", _spearman)):
        value, low, high, method = _resampled(statistic, *columns, label=f"{name} {source}")
        made.append(Figure(name, source, value, low, high, len(women), of, method))
    return made


def women_in(source: str, data_dir: Path) -> tuple[dict[str, float], int]:
    """The share of women in each occupation of a dataset, and how many occupations have none known.

    WinoGender counts them itself; WinoBias only names occupations, so their shares are those of our own list
    and, where it has none, WinoGender's. In `both` WinoGender's come first.
    """
    theirs = _winogender(data_dir)
    if source == "winogender":
        return theirs, 0
    words, known = _winobias(data_dir), {**theirs, **shares()}
    named = {word: known[word] for word in words if word in known}
    return named if source == "winobias" else {**named, **theirs}, len(words) - len(named)


def log_odds(lm: Lm, words: Sequence[str]) -> dict[str, float]:
    """Mean over our frames of log P(he) - log P(she) where the word is spoken of."""
    asked = {word: [he_and_she(lm, filled(frame, word)) for frame in FRAMES] for word in words}
    readings = Engine(lm).read(chain.from_iterable(chain.from_iterable(asked.values())))

    def lead(he: Probe, she: Probe) -> float:
        return float(readings[he].logprobs.sum() - readings[she].logprobs.sum())

    return {word: float(np.mean([lead(*both) for both in probes])) for word, probes in asked.items()}


def he_and_she(lm: Lm, sentence: Filled) -> tuple[Probe, Probe]:
    """Both pronouns read where either is masked; from a causal model both sentences as a whole."""
    he, she = lm.encode(sentence.masculine), lm.encode(sentence.feminine)
    if lm.kind == "causal":
        return next_tokens(he, he.content), next_tokens(she, she.content)
    places = [place for place, (a, b) in enumerate(zip(he.ids, she.ids, strict=False)) if a != b]
    if len(he.ids) != len(she.ids) or len(places) != 1:
        raise Unscorable("the tokenizer splits he or she: there is no one place to read them at")
    (place,) = places
    asked = (Probe(he.ids, ((place, one.ids[place]),), (place,)) for one in (he, she))
    return next(asked), next(asked)


def _winogender(data_dir: Path) -> dict[str, float]:
    with _present(data_dir / "winogender" / "occupations-stats.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return {row["occupation"]: float(row["bls_pct_female"]) / 100 for row in rows}


def _winobias(data_dir: Path) -> list[str]:
    paths = [data_dir / "winobias" / "data" / f"{gender}_occupations.txt" for gender in ("male", "female")]
    lines = [
        line.strip() for path in paths for line in _present(path).read_text(encoding="utf-8").splitlines()
    ]
    return [line for line in lines if line]


def _present(path: Path) -> Path:
    if not path.is_file():
        raise DataError(f"no {path.name} in the data folder")
    return path


def _pearson(x: Floats, y: Floats, axis: int = -1) -> Floats:
    return np.asarray(pearsonr(x, y, axis=axis).statistic)


def _spearman(x: Floats, y: Floats, axis: int = -1) -> Floats:
    return _pearson(rankdata(x, axis=axis), rankdata(y, axis=axis), axis=axis)


# ---------------------------------------------------------------------------------------- page


@dataclass(frozen=True, slots=True)
class Table:
    """A title, column names, and rows of words; `note` says how to read it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def page(job: Job, found: Found, *, markdown: bool) -> str:
    """All that was found, as tables to read or to put into a card."""
    facts = job.lm.facts
    head = (
        f"{facts.id}: {facts.architecture}, {facts.parameters:,} parameters, {facts.dtype} on {facts.device}"
    )
    tables = [_figures_table(job.lm, found), _estimates_table(found), _examples_table(job.lm, found)]
    shown = [_shown(table, markdown=markdown) for table in tables if table.rows]
    failed = [f"check failed: {one.name}: {one.detail}" for one in found.checks if not one.ok]
    lacking = [f"left out: {line}" for line in found.left_out]
    return "\n\n".join([head, *shown, *(["\n".join([*failed, *lacking])] if failed or lacking else [])])


def as_text(job: Job, found: Found) -> str:
    """All that was found, as JSON in full precision."""
    whole = {
        "model": asdict(job.lm.facts),
        "seed": SEED,
        "rows": job.rows,
        "limit": job.limit,
        "figures": [_plain(asdict(one)) for one in found.figures],
        "estimates": [as_json(one) for one in found.estimates],
        "checks": [as_json(one) for one in found.checks],
        "examples": [asdict(one) for one in found.examples],
        "left_out": found.left_out,
        "seconds": found.seconds,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
    }
    return json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _figures_table(lm: Lm, found: Found) -> Table:
    rows = tuple(
        (one.name, one.data, *_numbers(one.value, one.low, one.high), f"{one.n:,}", one.of, one.method)
        for one in found.figures
    )
    read = f"rows of at most {LENGTH} tokens" if lm.kind == "masked" else f"rows of {LENGTH} tokens"
    note = (
        f"Held-out documents: {read}; sentences of {SHORTEST} to {LONGEST}. Masked accuracy hides "
        f"{HIDDEN:.0%} of a row's tokens together. Wilson intervals take tokens as independent; the others "
        f"resample rows, sentences or occupations. He/she: log P(he) - log P(she) over {len(FRAMES)} frames "
        f"against the share of women; expected at most {EXPECTED}."
    )
    return Table("Figures", ("figure", "data", "value", "95% interval", "n", "of", "method"), rows, note)


def _estimates_table(found: Found) -> Table:
    rows = tuple(
        (
            one.data,
            one.measure,
            one.statistic,
            *_numbers(one.value, one.low, one.high),
            "" if one.null is None else f"{one.null:g}",
            f"{one.n:,}",
            str(one.ties),
            str(one.unscored),
        )
        for one in found.estimates
    )
    columns = ("data", "measure", "statistic", "value", "95% interval", "null", "n", "ties", "unscored")
    return Table("Bias measures", columns, rows)


def _examples_table(lm: Lm, found: Found) -> Table:
    columns = ("sentence", "first guesses") if lm.kind == "masked" else ("prompt", "greedy continuation")
    rows = tuple(
        (one.text, ", ".join(f"{word} {share:.2g}" for word, share in one.answers)) for one in found.examples
    )
    return Table("Examples", columns, rows, "With probabilities.")


def _numbers(value: float, low: float, high: float) -> tuple[str, str]:
    return f"{value:.2f}", "" if np.isnan(low) else f"{low:.2f} to {high:.2f}"


def _shown(table: Table, *, markdown: bool) -> str:
    note = [table.note] if table.note else []
    if markdown:
        lines = [
            f"| {' | '.join(row)} |" for row in (table.columns, ("---",) * len(table.columns), *table.rows)
        ]
        return "\n".join([f"## {table.title}", "", *lines, *(["", *note] if note else [])])
    widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    lines = [
        "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip()
        for row in (table.columns, *table.rows)
    ]
    return "\n".join([table.title, *lines, *note])


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """The record with null for NaN."""
    return {key: None if one != one else one for key, one in record.items()}  # noqa: PLR0124


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a folder, builtin, or anything else unmask opens")
    parser.add_argument("--corpora", type=Path, required=True, help="folder of NAME.txt.xz")
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of datasets")
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--rows", type=int, default=400, help="rows, and sentences, of each corpus")
    parser.add_argument("--limit", type=int, help="only the first items of each benchmark; all unless given")
    parser.add_argument("--markdown", action="store_true", help="print Markdown instead of plain columns")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
