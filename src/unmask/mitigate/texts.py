"""Build a corpus from documents: split into sentences, hold documents out by hash, hash the files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from unmask import data
from unmask.core.errors import DataError
from unmask.mitigate.spec import Document, TrainingCorpus

HELD_OUT_BYTES = 13  # of 256: documents whose sha256 starts with a byte below this are held out
Split = Callable[[str], list[str]]  # splits a text into sentences


def build_corpus(
    texts: Iterable[str],
    split: Split,
    *,
    held_out: Iterable[str] | None = None,
    files: Sequence[Path] = (),
    limit: int | None = None,
) -> TrainingCorpus:
    """Documents to train on, at most `limit`; `held_out` texts are given, or documents held out by hash."""
    if limit is not None and limit < 1:
        raise DataError(f"limit is {limit}, expected at least 1 document")
    training: list[Document] = []
    held_out_documents: list[Document] = (
        [] if held_out is None else [document for text in held_out if (document := tuple(split(text)))]
    )
    for text in texts:
        if limit is not None and len(training) == limit:
            break
        document = tuple(split(text))
        if document:
            (held_out_documents if held_out is None and is_held_out(text) else training).append(document)
    if not training:
        raise DataError(
            "the corpus has no text: give files with text, and for tables the column that holds it"
        )
    return TrainingCorpus(tuple(training), tuple(held_out_documents), tuple(map(file_facts, files)))


def evaluation_only_corpus(
    split: Split, held_out: Iterable[str] = (), files: Sequence[Path] = ()
) -> TrainingCorpus:
    """A corpus without training text; evaluated on the given text, or on the package's reminders."""
    held_out_documents = [document for text in held_out if (document := tuple(split(text)))]
    if held_out_documents:
        return TrainingCorpus((), tuple(held_out_documents), tuple(map(file_facts, files)))
    card = data.card("reminders").files[0]
    sentences = tuple((reminder.sentence,) for reminder in data.read("reminders"))
    return TrainingCorpus((), sentences, ({"name": card.name, "sha256": card.sha256},))


def is_held_out(text: str) -> bool:
    """Whether a document is held out; its own hash decides, so no run trains on another run's test text."""
    return hashlib.sha256(" ".join(text.split()).encode()).digest()[0] < HELD_OUT_BYTES


def file_facts(path: Path) -> dict[str, Any]:
    """A file's name and hash."""
    with path.open("rb") as stream:
        return {"name": path.name, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
