"""Small steps without scores: rows written as a dataset, pairs of words, and facts about the words of templates."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from unmask.audit.session import load_datasets
from unmask.core.boundary import read_json, read_text, validate
from unmask.core.errors import DataError, ResultError
from unmask.core.files import partial_file, write_json
from unmask.data.language import word_pattern
from unmask.studies.spec import Step, StepContext, StepKind
from unmask.studies.steps.audits import PAIRS_FILE, open_cached
from unmask.studies.texts import find_text_file, select_corpus

WORDS_FILE = "words.json"


class WordFacts(NamedTuple):
    """Whether a word of the templates occurs in a training text, and whether the tokenizer splits it."""

    seen: bool
    split: bool


def write_rows(context: StepContext) -> None:
    """Write the parameter `rows` as a dataset for an audit."""
    rows = context.parameters["rows"]
    path = context.folder / PAIRS_FILE
    with partial_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_word_pairs(context: StepContext) -> None:
    """Write two lists of words, feminine and masculine line by line, as the pairs that mitigations read."""
    paths = [find_text_file(context.runtime.place(name), context.runtime.data_dir) for name in context.step.data]
    feminine, masculine = (read_text(path).splitlines() if path else [] for path in paths)
    if len(feminine) != len(masculine) or not feminine:
        raise DataError(
            f"{' and '.join(context.step.data)} have {len(feminine)} and {len(masculine)} lines, expected as many "
            "words in both: a pair in every line"
        )
    path = context.folder / PAIRS_FILE
    with partial_file(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(zip(masculine, feminine, strict=True))


def write_word_facts(context: StepContext) -> None:
    """Look up every word of the first dataset in the text of the others, and tokenize it with the model's tokenizer."""
    data, *texts = map(context.runtime.place, context.step.data)
    (templates,) = load_datasets(data, context.options())
    words = sorted({word for item in templates.items if (word := item.groups.get("word"))})
    corpus = select_corpus(texts, context.parameters["corpus"], context.runtime.data_dir)
    pattern = word_pattern([word.lower() for word in words])
    seen = {match for sentence in corpus.sentences for match in pattern.findall(sentence.lower())}
    tokenizer = open_cached(context.model, context.opening).tokenizer
    facts = {
        word: WordFacts(word.lower() in seen, len(tokenizer.tokenize(f" {word}")) > len(word.split()))._asdict()
        for word in words
    }
    write_json(context.folder / WORDS_FILE, facts)


def load_word_facts(folder: Path) -> dict[str, WordFacts]:
    """The facts that a step wrote, by word."""
    path = folder / WORDS_FILE
    return validate(dict[str, WordFacts], read_json(path, ResultError), str(path), ResultError)


def rows_step(name: str, rows: Sequence[Mapping[str, Any]]) -> Step:
    """A step whose output is a dataset of these rows."""
    return Step.of(name, f"{__name__}:ROWS", {"rows": [dict(row) for row in rows]})


def word_pairs_step(name: str, lists: tuple[str, ...]) -> Step:
    """A step whose output are the pairs of two lists of words."""
    return Step(name, f"{__name__}:WORD_PAIRS", data=lists)


def word_facts_step(
    name: str, data: str, texts: tuple[str, ...], *, model: str, corpus: Mapping[str, Any], limit: int | None
) -> Step:
    """A step that looks up the words of a template dataset in texts, selected as for training."""
    planned = Step.of(name, f"{__name__}:FACTS", {"corpus": dict(corpus), "limit": limit}, model=model)
    return replace(planned, data=(data, *texts))


WORD_PAIRS = StepKind(write_word_pairs, runs_model=False)
ROWS = StepKind(write_rows, runs_model=False)
FACTS = StepKind(write_word_facts, runs_model=False)
