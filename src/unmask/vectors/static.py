"""Static word vectors from files: word2vec, GloVe and fastText, text and binary, all read by gensim.

The format is detected from the first bytes, never from the file name; `.gz` is decompressed.
"""

from __future__ import annotations

import gzip
import struct
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Literal, cast

import numpy as np

from unmask.core.errors import DataError
from unmask.core.types import Floats

Format = Literal["word2vec-text", "word2vec-binary", "glove-text", "fasttext-binary"]
FASTTEXT = struct.pack("<i", 793712314)  # the first bytes of fastText's own binary files
LINE = 1 << 16  # maximum bytes of a line of a text file
SHOWN = 10  # unknown words listed in a message


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors, one row each; `unknown` are requested words that the source does not have."""

    words: tuple[str, ...]
    matrix: Floats
    source: str
    unknown: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Require one finite row for each distinct word."""
        if self.matrix.ndim != 2 or len(self.matrix) != len(self.words):
            raise DataError(
                f"{self.source}: {len(self.words)} words and vectors of shape {self.matrix.shape}; "
                "expected one row for each word"
            )
        if len(self._rows) < len(self.words):
            raise DataError(f"{self.source}: a word has two vectors; expected each word once")
        if not np.isfinite(self.matrix).all():
            raise DataError(f"{self.source}: a vector has a value that is not finite; check the file")

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    def __contains__(self, word: str) -> bool:
        return word in self._rows

    def missing(self, words: Iterable[str]) -> tuple[str, ...]:
        """The words that have no vector, each once."""
        return tuple(dict.fromkeys(word for word in words if word not in self._rows))

    def lookup(self, words: Sequence[str]) -> Floats:
        """The vectors of these words, in order; DataError lists those without one."""
        missing = self.missing(words)
        if missing:
            listed = ", ".join(map(repr, missing[:SHOWN]))
            listed += f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
            raise DataError(f"{self.source} has no vector for {listed}; leave them out, or use vectors that have them")
        return self.matrix[[self._rows[word] for word in words]]


def read_vectors(path: Path, words: Iterable[str] | None = None, *, limit: int | None = None) -> WordVectors:
    """Read the vectors of `words`, or of all words; `limit` reads only the first words of the file.

    Values are converted from 32 to 64 bits. fastText does not synthesise vectors from subwords here:
    unseen words are unknown, as in the other formats.
    """
    wanted = None if words is None else tuple(dict.fromkeys(words))
    keyed = _load_keyed(path, wanted, limit)
    wanted = tuple(keyed.index_to_key) if wanted is None else wanted
    kept = [word for word in wanted if word in keyed.key_to_index]
    if not kept:
        raise _no_words(path, len(wanted))
    matrix = keyed.vectors[[keyed.key_to_index[word] for word in kept]].astype(np.float64)
    unknown = tuple(word for word in wanted if word not in keyed.key_to_index)
    return WordVectors(tuple(kept), matrix, path.name, unknown)


def format_of(path: Path) -> Format:
    """Detect the format from the first two lines."""
    try:
        with _open(path) as stream:
            first = stream.readline(LINE)
            second = stream.readline(LINE)
    except (OSError, EOFError) as error:
        raise DataError(f"{path} cannot be read ({error}); expected a file of word vectors") from None
    if first.startswith(FASTTEXT):
        return "fasttext-binary"
    parts = first.split()
    if len(parts) == 2 and all(part.isdigit() for part in parts):  # numbers of words and of dimensions
        return "word2vec-text" if _is_text(second, int(parts[1])) else "word2vec-binary"
    if _is_text(first, None):
        return "glove-text"
    raise DataError(
        f"{path.name} is not a file of word vectors: its first line is {first[:40]!r}; "
        "expected word2vec, GloVe or fastText, text or binary"
    )


def _load_keyed(path: Path, words: Sequence[str] | None, limit: int | None) -> Any:
    """Load with gensim; of a text file only the lines of these words, which is much faster."""
    form = format_of(path)
    if words is None or form not in ("word2vec-text", "glove-text"):
        return _load(path, form, limit)
    with TemporaryDirectory() as folder:
        subset = Path(folder) / path.name.removesuffix(".gz")
        subset.write_bytes(_lines(path, form, words, limit))
        return _load(subset, "word2vec-text", None)


def _load(path: Path, form: Format, limit: int | None) -> Any:
    gensim = _gensim()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # gensim opens a file without a header twice
        try:
            if form == "fasttext-binary":
                return _first(gensim.fasttext.load_facebook_vectors(str(path)), limit)
            return gensim.KeyedVectors.load_word2vec_format(
                str(path), binary=form == "word2vec-binary", no_header=form == "glove-text", limit=limit
            )
        except (ValueError, EOFError, OSError, struct.error, NotImplementedError) as error:
            reason = str(error)  # raised below: the error itself would keep the file open
    raise DataError(
        f"{path.name} looks like {form} but cannot be read whole ({reason}); "
        "request only the words you need, or download the file again"
    )


def _lines(path: Path, form: Format, words: Sequence[str], limit: int | None) -> bytes:
    """The lines of these words, with a header; GloVe entries that contain spaces are skipped."""
    wanted = {word.encode("utf-8") for word in words}
    with _open(path) as stream:
        first = stream.readline()
        headed = form == "word2vec-text"
        size = int(first.split()[1]) if headed else len(first.split()) - 1
        lines = islice(stream if headed else chain([first], stream), limit)
        found = (line for line in lines if line.split(b" ", 1)[0] in wanted)
        kept = [line.rstrip() + b"\n" for line in found if len(line.split()) == size + 1]
    if not kept:
        raise _no_words(path, len(words))
    return b"%d %d\n" % (len(kept), size) + b"".join(kept)


def _no_words(path: Path, requested: int) -> DataError:
    return DataError(f"{path.name} has none of the {requested} requested words; check its language and letter case")


def _gensim() -> Any:
    """gensim.models, imported on first use."""
    try:
        return import_module("gensim.models")
    except ImportError:
        raise DataError(
            "reading word vectors needs gensim, which is not installed: pip install 'unmask[vectors]'"
        ) from None


def _first(keyed: Any, limit: int | None) -> Any:
    """The first words of a fastText binary file, which gensim always reads whole."""
    if limit is None:
        return keyed
    subset = _gensim().KeyedVectors(keyed.vector_size)
    words = list(islice(keyed.index_to_key, limit))
    subset.add_vectors(words, keyed.vectors[: len(words)])
    return subset


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _is_text(line: bytes, size: int | None) -> bool:
    """Whether the line is a word followed by numbers, `size` of them if given."""
    try:
        numbers = [float(part) for part in line.decode("utf-8").split()[1:]]
    except ValueError:  # neither text nor numbers
        return False
    return bool(numbers) and size in (None, len(numbers))
