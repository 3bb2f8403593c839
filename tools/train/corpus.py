"""Text files become streams of token ids: documents read, near-duplicates dropped, some held out by hash."""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.uint16]
WINDOW, SAMPLED, COPIED = (8, 16, 0.5)  # tokens in a shingle; one in so many is looked at; share that makes a copy
CORPORA = ("simplewiki", "enwiki", "wikinews", "novels")  # in this order: of two copies the first is kept
HELD_OUT = 6  # of 256 documents
TOGETHER = 2000  # documents encoded in one call


@dataclass(frozen=True)
class Corpus:
    """Documents of one file, end to end."""

    name: str
    ids: Ids
    begins: NDArray[np.int64]  # where each document begins
    held: NDArray[np.bool_]  # which are held out
    numbers: NDArray[np.int64]  # which of the file's documents they are, from 0

    def documents(self, *, held: bool) -> list[Ids]:
        """The documents that are, or are not, held out."""
        parts = np.split(self.ids, self.begins[1:])
        return [part for part, out in zip(parts, self.held, strict=True) if out == held]


def texts(path: Path, characters: int | None = None) -> Iterator[str]:
    """The documents of an xz file, separated by empty lines; lines within one are joined."""
    with lzma.open(path, "rt", encoding="utf-8-sig") as file:
        whole = file.read(characters if characters is not None else -1)
    yield from (" ".join(part.split()) for part in whole.split("\n\n") if part.strip())


def held_out(text: str) -> bool:
    """Is this document kept from training? Its own hash decides."""
    return hashlib.sha256(text.encode()).digest()[0] < HELD_OUT


def present(folder: Path) -> list[Path]:
    """The files of the corpora that are there."""
    return [path for name in CORPORA if (path := folder / f"{name}.txt.xz").is_file()]


def read(paths: Sequence[Path], tokenizer: Any, characters: int | None = None) -> list[Corpus]:
    """Every corpus encoded by a fast tokenizer, without special tokens and without near-duplicates."""
    return without_copies([_encode_file(path, tokenizer, characters) for path in paths])


def stream(corpora: Sequence[Corpus], separator: int, *, held: bool) -> Ids:
    """All documents end to end with a separator after each."""
    end = np.array([separator], dtype=np.uint16)
    return np.concatenate([part for one in corpora for ids in one.documents(held=held) for part in (ids, end)])


def without_copies(corpora: Sequence[Corpus]) -> list[Corpus]:
    """Drop documents most of whose shingles (sampled by hash) stand in an earlier document.

    Exact copies have all of them there. A document too short for a sample is compared as a whole.
    """
    ids = np.concatenate([one.ids for one in corpora])
    offsets = np.cumsum([0, *(len(one.ids) for one in corpora)])
    begins = np.concatenate([one.begins + offset for one, offset in zip(corpora, offsets, strict=False)])
    document = np.repeat(np.arange(len(begins)), np.diff([*begins, len(ids)]))
    hashes = _shingles(ids)
    inside = document[: len(hashes)] == document[WINDOW - 1 :]
    chosen = np.flatnonzero(inside & (hashes % SAMPLED == 0))
    _, first, number = np.unique(hashes[chosen], return_index=True, return_inverse=True)
    owner = document[chosen]
    seen = owner[first][number] < owner
    copied = np.bincount(owner, seen, len(begins)) / np.maximum(np.bincount(owner, minlength=len(begins)), 1)
    copies = (copied >= COPIED) | _same_as_before(ids, begins)
    kept: list[Corpus] = []
    for one, start in zip(corpora, np.cumsum([0, *(len(c.begins) for c in corpora)]), strict=False):
        kept.append(_only(one, ~copies[start : start + len(one.begins)]))
    return kept


def _encode_file(path: Path, tokenizer: Any, characters: int | None) -> Corpus:
    parts: list[Ids] = []
    held: list[bool] = []
    for some in _groups(texts(path, characters)):
        parts += [
            np.array(one.ids, dtype=np.uint16) for one in tokenizer.encode_batch_fast(some, add_special_tokens=False)
        ]
        held += [held_out(text) for text in some]
    begins = np.cumsum([0, *(len(part) for part in parts[:-1])])
    return Corpus(path.name.split(".")[0], np.concatenate(parts), begins, np.array(held), np.arange(len(parts)))


def _groups(documents: Iterator[str]) -> Iterator[list[str]]:
    group: list[str] = []
    for text in documents:
        group.append(text)
        if len(group) == TOGETHER:
            yield group
            group = []
    if group:
        yield group


def _shingles(ids: Ids) -> NDArray[np.uint64]:
    """A hash of every window of tokens."""
    size = len(ids) - WINDOW + 1
    hashes = np.zeros(max(size, 0), dtype=np.uint64)
    for step in range(WINDOW):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + ids[step : step + len(hashes)]
    return hashes ^ (hashes >> np.uint64(29))


def _same_as_before(ids: Ids, begins: NDArray[np.int64]) -> NDArray[np.bool_]:
    seen: set[bytes] = set()
    same = np.zeros(len(begins), dtype=np.bool_)
    for number, part in enumerate(np.split(ids, begins[1:])):
        key = hashlib.blake2b(part.tobytes(), digest_size=12).digest()
        same[number] = key in seen
        seen.add(key)
    return same


def _only(corpus: Corpus, kept: NDArray[np.bool_]) -> Corpus:
    parts = [part for part, keep in zip(np.split(corpus.ids, corpus.begins[1:]), kept, strict=True) if keep]
    begins = np.cumsum([0, *(len(part) for part in parts[:-1])])
    return Corpus(corpus.name, np.concatenate(parts), begins, corpus.held[kept], corpus.numbers[kept])
