"""Text to train on and held-out text: one rule for all commands and studies.

files ──► documents ──► sentences; 13 of 256 documents are held out, by the hash of their text
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmask import data
from unmask.core.errors import DataError
from unmask.core.files import file_name
from unmask.core.options import TextLayout
from unmask.data.documents import existing_files, read_documents
from unmask.data.files import sha256_of
from unmask.data.language import split_sentences

HELD_OUT_BYTES = 13  # of 256: documents whose sha256 starts with a byte below this are held out


@dataclass(frozen=True, slots=True)
class TrainingCorpus:
    """Documents (tuples of sentences) to train on, held-out documents, and the files they come from."""

    documents: tuple[tuple[str, ...], ...]
    held_out: tuple[tuple[str, ...], ...]
    files: tuple[Mapping[str, Any], ...] = ()  # name, sha256 of each

    @property
    def sentences(self) -> list[str]:
        """All sentences to train on."""
        return [sentence for document in self.documents for sentence in document]

    @property
    def held_out_sentences(self) -> list[str]:
        """All held-out sentences."""
        return [sentence for document in self.held_out for sentence in document]


def load_corpus(
    files: Sequence[str | Path],
    layout: TextLayout | None = None,
    *,
    held_out: Sequence[str | Path] = (),
    limit: int | None = None,
) -> TrainingCorpus:
    """The documents of files, and held-out ones: those of `held_out`, or chosen by hash.

    Without `files` there is only held-out text: that of `held_out`, or the reminders of the package.
    """
    if not files and not held_out:
        card = data.card("reminders").files[0]
        sentences = tuple((reminder.sentence,) for reminder in data.read("reminders"))
        return TrainingCorpus((), sentences, ({"name": card.name, "sha256": card.sha256},))
    facts = [file_facts(path) for path in existing_files([*files, *held_out])]
    given = [document.text for document in read_documents(held_out, layout)] if held_out else None
    if not files:
        return TrainingCorpus((), tuple(_split(given or ())), tuple(facts))
    texts = (document.text for document in read_documents(files, layout))
    return build_corpus(texts, held_out=given, files=facts, limit=limit)


def build_corpus(
    texts: Iterable[str],
    *,
    held_out: Iterable[str] | None = None,
    files: Iterable[Mapping[str, Any]] = (),
    limit: int | None = None,
) -> TrainingCorpus:
    """Documents to train on, at most `limit`; `held_out` texts are given, or documents held out by hash."""
    if limit is not None and limit < 1:
        raise DataError(f"limit is {limit}, expected at least 1 document")
    training: list[tuple[str, ...]] = []
    chosen = [] if held_out is None else _split(held_out)
    for text in texts:
        if limit is not None and len(training) == limit:
            break
        by_hash = held_out is None and is_held_out(text)
        (chosen if by_hash else training).extend(_split([text]))
    if not training:
        raise DataError("the corpus has no text: give files with text, and for tables the column that holds it")
    return TrainingCorpus(tuple(training), tuple(chosen), tuple(files))


def is_held_out(text: str) -> bool:
    """Whether a document is held out; its own hash decides, so no run trains on another run's test text."""
    return hashlib.sha256(" ".join(text.split()).encode()).digest()[0] < HELD_OUT_BYTES


def file_facts(path: Path) -> dict[str, Any]:
    """A file's name and hash."""
    return {"name": file_name(path), "sha256": sha256_of(path)}


def _split(texts: Iterable[str]) -> list[tuple[str, ...]]:
    """The sentences of every text that has any."""
    return [document for text in texts if (document := tuple(split_sentences(text)))]
