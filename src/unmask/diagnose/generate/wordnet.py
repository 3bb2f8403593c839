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

from unmask.core.errors import DataError, quote
from unmask.data.formats import user_path

FILES = {"NOUN": "noun", "VERB": "verb", "ADJ": "adj"}
_PARTS = {"n": "NOUN", "v": "VERB", "a": "ADJ", "s": "ADJ"}
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
        self._read, self._synsets = cache(lambda name: (root / name).read_bytes()), cache(self._find_synsets)
        self._root = root
        names = [f"{kind}.{part}" for kind in ("index", "data") for part in FILES.values()]
        lacking = [name for name in names if not (root / name).is_file()]
        if lacking:
            raise DataError(f"{root} is not a WordNet folder: it has no {lacking[0]}; {ADVICE}")

    def synonyms(self, lemma: str, part: str) -> tuple[str, ...]:
        """Words that share one of the lemma's most frequent senses."""
        return self._others(self._shared(lemma, part), lemma)

    def near(self, lemma: str, part: str) -> tuple[str, ...]:
        """Words of similar senses, and hypernyms."""
        return self._others(self._pointed(lemma, part, NEAR), lemma)

    def antonyms(self, lemma: str, part: str) -> tuple[str, ...]:
        """Antonyms."""
        return self._others(self._pointed(lemma, part, (ANTONYM,)), lemma)

    def _others(self, words: Iterator[str], lemma: str) -> tuple[str, ...]:
        """The words but the lemma, each once; DataError if the database is damaged."""
        try:
            return tuple(dict.fromkeys(word for word in words if word.lower() != lemma.lower()))
        except (ValueError, IndexError, OSError, zipfile.BadZipFile) as error:
            raise DataError(f"{self._root}: damaged at {quote(lemma)} ({error}); install WordNet again") from error

    def _shared(self, lemma: str, part: str) -> Iterator[str]:
        for synset in self._synsets(lemma, part):
            yield from synset.words

    def _pointed(self, lemma: str, part: str, symbols: tuple[str, ...]) -> Iterator[str]:
        for synset in self._synsets(lemma, part):
            for symbol, other, offset in synset.pointers:
                if symbol in symbols and other == part:
                    yield from self._synset(part, offset).words

    def _find_synsets(self, lemma: str, part: str) -> tuple[Synset, ...]:
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
        marked = (re.sub(r"\((a|p|ip)\)$", "", word) for word in fields[4 : 4 + 2 * count : 2])
        words = tuple(word.replace("_", " ") for word in marked)  # without the mark of an adjective's position
        rest = fields[4 + 2 * count :]
        pointers = tuple(
            (rest[at], _PARTS.get(rest[at + 2], ""), int(rest[at + 1])) for at in range(1, 1 + 4 * int(rest[0]), 4)
        )
        return Synset(words, pointers)


def find_wordnet(folder: Path | None = None) -> WordNet | None:
    """WordNet in `folder`, else in its usual places; None if not found."""
    if folder is not None:
        return WordNet(user_path(folder))
    return next((WordNet(root) for root in _search_paths() if (root / "index.noun").is_file()), None)


def _search_paths() -> Iterator[Root]:
    """Folders searched for WordNet, as its own programs and NLTK do."""
    for variable, below in (("WNSEARCHDIR", ""), ("WNHOME", "dict")):
        if variable in os.environ:
            yield Path(os.environ[variable]) / below
    yield USUAL
    given = [Path(path) for path in os.environ.get("NLTK_DATA", "").split(os.pathsep) if path]
    usual = [Path.home() / "nltk_data", Path("/usr/share/nltk_data"), Path("/usr/local/share/nltk_data")]
    for folder in (*given, *usual):
        yield folder / "corpora" / "wordnet"
        packed = folder / "corpora" / "wordnet.zip"
        if zipfile.is_zipfile(packed):
            yield zipfile.Path(packed, "wordnet/")
