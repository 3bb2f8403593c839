"""Words and their forms: WordNet's synonyms and antonyms, lemminflect's inflections, and which words may be replaced.

`index.noun` of WordNet's database (as in Debian's `wordnet-base` or NLTK's data) names the synsets of a word, most
frequent sense first; `data.noun` holds them, found by byte offset. The manual page wndb(5WN) describes the format.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from unmask import data as datasets
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
SHORTEST = 3  # letters
# No replacement may bring in a group of its own; beside the words of `word-pairs`.
GROUPS = """
    african aged american atheist autistic bisexual black blind brown buddhist catholic christian
    deaf disabled elderly european fat female feminine foreign gay heterosexual hindu homeless
    homosexual immigrant jewish lesbian male masculine mexican muslim mute native obese old older
    overweight poor queer rich short sighted skinny slim straight tall teenage thin trans
    transgender ugly wealthy white young younger
"""
# Nouns that stand for anybody and anything.
GENERIC = """
    anybody everybody everyone lot people person persons someone thing things way
"""
# On scikit-learn's list of stop words, and yet they say something.
CONTENT = """
    bill cry describe detail empty fill fire interest mill serious sincere thick thin
"""
PARTS = ("NOUN", "VERB", "ADJ")
PLAIN = "JJ"  # adjectives are compared only in forms the dictionary knows: no "intelligenter"


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


@dataclass(frozen=True, slots=True)
class Form:
    """One reading of a word: its lemma, part of speech, and Penn tag."""

    lemma: str
    part: str
    tag: str

    def is_like(self, other: Form) -> bool:
        """Whether another word's reading has the same part of speech and tag."""
        return (self.part, self.tag) == (other.part, other.tag) and self.lemma != other.lemma


@cache
def lemminflect() -> Any:
    """The lemminflect module; DataError if it is not installed."""
    try:
        return import_module("lemminflect")
    except ModuleNotFoundError:
        raise DataError(
            "generating paraphrases needs lemminflect, which is not installed; run `pip install 'unmask[words]'`"
        ) from None


@cache
def readings(word: str) -> tuple[Form, ...]:
    """Readings of a word as a noun, verb or adjective; empty for auxiliaries and unknown words."""
    library, lower = lemminflect(), word.lower()
    known = library.getAllLemmas(lower)
    if "AUX" in known:
        return ()
    return tuple(
        Form(lemma, part, tag)
        for part in PARTS
        for lemma in known.get(part, ())
        for tag, forms in library.getAllInflections(lemma, upos=part).items()
        if lower in forms
    )


@cache
def inflect(lemma: str, form: Form) -> str:
    """Inflect a lemma like `form`; of several words, the head is inflected. Empty if there is none."""
    words = lemma.split(" ")
    head = 0 if form.part == "VERB" else len(words) - 1
    known = lemminflect().getAllInflections(words[head], upos=form.part)
    forms = known.get(form.tag, ())
    if not known and form.part != "ADJ":
        forms = tuple(lemminflect().getInflection(words[head], form.tag, inflect_oov=True))
    if not forms:
        return words[head] if form.tag == PLAIN and len(words) == 1 else ""
    words[head] = forms[0]
    return " ".join(words)


@cache
def protected_words() -> frozenset[str]:
    """Words that name a group: never replaced, and never used as a replacement."""
    words = datasets.read("word-pairs")
    terms = [word for entry in words.pairs for word in (entry.masculine, entry.feminine)]
    terms += [name for entry in words.names for name in (entry.masculine, entry.feminine)]
    terms += [term for entry in words.sets for term in entry.terms.values()]
    return frozenset(word.lower() for word in (*terms, *(entry.word for entry in words.proper)))


@cache
def function_words() -> frozenset[str]:
    """Function words and generic words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return (frozenset(ENGLISH_STOP_WORDS) - set(CONTENT.split())) | set(GENERIC.split())


def is_usable(word: str) -> bool:
    """Whether a word may be replaced or used as a replacement: a common content word that names no group."""
    if len(word) < SHORTEST or word != word.lower():
        return False
    return word not in protected_words() and word not in function_words() and bool(readings(word))


@cache
def group_words() -> frozenset[str]:
    """Words for groups other than by gender, race or religion."""
    return frozenset(GROUPS.split())
