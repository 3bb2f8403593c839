"""A corpus from documents: sentences told apart, some documents kept to test with, files hashed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from unmask import data
from unmask.core.errors import DataError
from unmask.mitigate.spec import Document, TrainingCorpus

HELD_OUT_BYTES = 13  # of 256 documents: the first byte of a text's sha256 decides
Split = Callable[[str], list[str]]  # a text to its sentences


def build_corpus(
    texts: Iterable[str],
    split: Split,
    *,
    held_out: Iterable[str] | None = None,
    files: Sequence[Path] = (),
    limit: int | None = None,
) -> TrainingCorpus:
    """The documents to learn from, at most `limit`; those to test with are given, or kept back by hash."""
    if limit is not None and limit < 1:
        raise DataError(f"--limit {limit}: give a number of documents of at least 1")
    learnt: list[Document] = []
    kept: list[Document] = (
        [] if held_out is None else [found for text in held_out if (found := tuple(split(text)))]
    )
    for text in texts:
        if limit is not None and len(learnt) == limit:
            break
        document = tuple(split(text))
        if document:
            (kept if held_out is None and is_held_out(text) else learnt).append(document)
    if not learnt:
        raise DataError("the corpus holds no text: give files with text in them, or --column for tables")
    return TrainingCorpus(tuple(learnt), tuple(kept), tuple(map(file_facts, files)))


def evaluation_only_corpus(
    split: Split, held_out: Iterable[str] = (), files: Sequence[Path] = ()
) -> TrainingCorpus:
    """Nothing to learn from, for methods that can do without; tested on the text given or our reminders."""
    kept = [found for text in held_out if (found := tuple(split(text)))]
    if kept:
        return TrainingCorpus((), tuple(kept), tuple(map(file_facts, files)))
    card = data.card("reminders").files[0]
    ours = tuple((one.sentence,) for one in data.read("reminders"))
    return TrainingCorpus((), ours, ({"name": card.name, "sha256": card.sha256},))


def is_held_out(text: str) -> bool:
    """Is this document kept to test with? Its own hash decides, so that no run trains on another's test."""
    return hashlib.sha256(" ".join(text.split()).encode()).digest()[0] < HELD_OUT_BYTES


def file_facts(path: Path) -> dict[str, Any]:
    """A file's name and hash."""
    with path.open("rb") as stream:
        return {"name": path.name, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
