"""Reader of WordNet's database files, as in Debian's `wordnet-base` or NLTK's data.

`index.noun` names the synsets of a word, most frequent sense first; `data.noun` holds them, found by byte
offset. The format is described in the manual page wndb(5WN).
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from unmask.core.errors import DataError

FILES = {"NOUN": "noun", "VERB": "verb", "ADJ": "adj"}
SENSES = 3  # most frequent senses used per word
NEAR = ("&", "@")  # pointers: similar adjectives, hypernyms
ANTONYM = "!"
USUAL = Path("/usr/share/wordnet")  # Debian
ADVICE = "install Debian's wordnet-base, run `python -m nltk.downloader wordnet`, or pass its folder"
Root = Path | zipfile.Path


@dataclass(frozen=True, slots=True)
class Synset:
    """Words of one sense, and pointers to other synsets."""

    words: tuple[str, ...]
    pointers: tuple[tuple[str, str, int], ...]  # symbol, part of speech, byte offset


class WordNet:
    """Lookup of senses; a part of speech is `NOUN`, `VERB` or `ADJ`."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._read, self._synsets = cache(self._bytes), cache(self._found)
        lacking = [name for name in self._names() if not (root / name).is_file()]
        if lacking:
            raise DataError(f"{root} is not a WordNet folder: it has no {lacking[0]}; {ADVICE}")

    def synonyms(self, lemma: str, part: str) -> tuple[str, ...]:
        """Words that share one of the lemma's most frequent senses."""
        words = [word for synset in self._synsets(lemma, part) for word in synset.words]
        return _others(words, lemma)

    def near(self, lemma: str, part: str) -> tuple[str, ...]:
        """Words of similar senses, and hypernyms."""
        return _others(self._pointed(lemma, part, NEAR), lemma)

    def antonyms(self, lemma: str, part: str) -> tuple[str, ...]:
        """Antonyms."""
        return _others(self._pointed(lemma, part, (ANTONYM,)), lemma)

    def _names(self) -> list[str]:
        return [f"{kind}.{part}" for kind in ("index", "data") for part in FILES.values()]

    def _bytes(self, name: str) -> bytes:
        return (self._root / name).read_bytes()

    def _pointed(self, lemma: str, part: str, symbols: tuple[str, ...]) -> Iterator[str]:
        for synset in self._synsets(lemma, part):
            for symbol, other, offset in synset.pointers:
                if symbol in symbols and other == part:
                    yield from self._synset(part, offset).words

    def _found(self, lemma: str, part: str) -> tuple[Synset, ...]:
        index = self._read(f"index.{FILES[part]}")
        begin = index.find(f"\n{lemma.lower().replace(' ', '_')} ".encode())
        if begin < 0:
            return ()
        fields = index[begin + 1 : index.find(b"\n", begin + 1)].split()
        return tuple(self._synset(part, int(offset)) for offset in fields[-int(fields[2]) :][:SENSES])

    def _synset(self, part: str, offset: int) -> Synset:
        data = self._read(f"data.{FILES[part]}")
        fields = data[offset : data.find(b"\n", offset)].partition(b"|")[0].decode().split()
        count = int(fields[3], 16)
        words = tuple(_plain(word) for word in fields[4 : 4 + 2 * count : 2])
        rest = fields[4 + 2 * count :]
        pointers = tuple(
            (rest[at], _PARTS.get(rest[at + 2], ""), int(rest[at + 1]))
            for at in range(1, 1 + 4 * int(rest[0]), 4)
        )
        return Synset(words, pointers)


_PARTS = {"n": "NOUN", "v": "VERB", "a": "ADJ", "s": "ADJ"}


def find_wordnet(folder: Path | None = None) -> WordNet | None:
    """WordNet in `folder`, else in its usual places; None if not found."""
    if folder is not None:
        return WordNet(folder)
    for root in _search_paths():
        if (root / "index.noun").is_file():
            return WordNet(root)
    return None


def _search_paths() -> Iterator[Root]:
    """Folders searched for WordNet, as its own programs and NLTK do."""
    environment = os.environ
    if "WNSEARCHDIR" in environment:
        yield Path(environment["WNSEARCHDIR"])
    if "WNHOME" in environment:
        yield Path(environment["WNHOME"]) / "dict"
    yield USUAL
    given = [Path(path) for path in environment.get("NLTK_DATA", "").split(os.pathsep) if path]
    usual = [Path.home() / "nltk_data", Path("/usr/share/nltk_data"), Path("/usr/local/share/nltk_data")]
    for folder in (*given, *usual):
        yield folder / "corpora" / "wordnet"
        packed = folder / "corpora" / "wordnet.zip"
        if packed.is_file():
            yield zipfile.Path(packed, "wordnet/")


def _plain(word: str) -> str:
    """A word as it is written: no underscores, no mark of where an adjective may stand."""
    return re.sub(r"\((a|p|ip)\)$", "", word).replace("_", " ")


def _others(words: Iterator[str] | list[str], lemma: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in words if word.lower() != lemma.lower()))
