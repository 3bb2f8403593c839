"""Static word vectors in files: word2vec, GloVe and fastText, text and binary.

The format is detected from the first bytes, never from the file name; `.gz` is decompressed. What a file says of its
size is never trusted. fastText's own binary files are read by gensim.
"""

from __future__ import annotations

import gzip
import struct
import warnings
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import numpy as np
from numpy.typing import NDArray

from unmask.core.errors import DataError, quote
from unmask.core.files import file_name, writing
from unmask.core.types import Floats
from unmask.data.formats import is_file

Row = NDArray[np.float32]
Format = Literal["word2vec-text", "word2vec-binary", "glove-text", "fasttext-binary"]
FASTTEXT = struct.pack("<i", 793712314)  # the first bytes of fastText's own binary files
LINE = 1 << 16  # bytes of a line that is read to detect the format
MAX_LINE = 1 << 22  # bytes of a line of a text file
MAX_SIZE = 1 << 16  # dimensions
MAX_RATIO = 1032  # by which gzip can compress
_CHUNK = 1 << 20  # bytes of a binary file read at a time
_FASTTEXT_HEADER = struct.Struct("<14id3i")  # magic, version, 12 settings, a rate, entries, words, labels
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

    def first(self, count: int | None) -> WordVectors:
        """The first words only; all of them without a number."""
        if count is None or count >= len(self.words):
            return self
        return WordVectors(self.words[:count], self.matrix[:count], self.source)

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
    form = format_of(path)
    try:
        if form == "fasttext-binary":
            rows = _fasttext_rows(path, limit)
        else:
            with _open(path) as stream:
                read = _binary_rows if form == "word2vec-binary" else _text_rows
                rows = read(stream, None if wanted is None else set(wanted), limit)
    except (OSError, EOFError, ValueError, LookupError, zlib.error) as error:
        raise DataError(
            f"{path.name} looks like {form} but cannot be read whole ({error}); "
            "request only the words you need, or download the file again"
        ) from None
    wanted = tuple(rows) if wanted is None else wanted
    kept = tuple(word for word in wanted if word in rows)
    if not kept:
        raise DataError(
            f"{path.name} has none of the {len(wanted)} requested words; check its language and letter case"
        )
    matrix = np.array([rows[word] for word in kept], dtype=np.float64)
    return WordVectors(kept, matrix, file_name(path), tuple(word for word in wanted if word not in rows))


def format_of(path: Path) -> Format:
    """Detect the format from the first two lines."""
    if not is_file(path):
        raise DataError(f"{path} cannot be read (no such file); expected a file of word vectors")
    try:
        with _open(path) as stream:
            first = stream.readline(LINE)
            second = stream.readline(LINE)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}); expected a file of word vectors") from None
    if first.startswith(FASTTEXT):
        return "fasttext-binary"
    if (header := _header(first)) is not None:
        return "word2vec-text" if _is_text(second, header[1]) else "word2vec-binary"
    if _is_text(first, None):
        return "glove-text"
    raise DataError(
        f"{path.name} is not a file of word vectors: its first line is {quote(first[:40])}; "
        "expected word2vec, GloVe or fastText, text or binary"
    )


def written_name(form: Format) -> str:
    """The name of the file that vectors of this format are written to."""
    return "vectors.bin" if form == "word2vec-binary" else "vectors.txt"


def write_vectors(vectors: WordVectors, path: Path, form: Format) -> None:
    """Write the vectors; those of fastText's own binary files become text, with every digit of single precision."""
    rows = vectors.matrix.astype("<f4")
    header = f"{len(rows)} {rows.shape[1]}\n"
    if form == "word2vec-binary":
        with writing(path), path.open("wb") as stream:
            stream.write(header.encode())
            for word, row in zip(vectors.words, rows, strict=True):
                stream.write(word.encode() + b" " + row.tobytes() + b"\n")
        return
    numbers = " ".join(["%.9g"] * rows.shape[1])
    with writing(path), path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write("" if form == "glove-text" else header)
        for word, row in zip(vectors.words, rows, strict=True):
            stream.write(f"{word} {numbers % tuple(row.tolist())}\n")


def _header(line: bytes) -> tuple[int, int] | None:
    """The numbers of words and of dimensions in the first line of a word2vec file; None if it is no such line."""
    parts = line.split()
    if len(parts) != 2 or not all(part.isdigit() and len(part) < 16 for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def _text_rows(stream: BinaryIO, wanted: set[str] | None, limit: int | None) -> dict[str, Row]:
    """The vectors of a text file; of some words only, entries that contain spaces (GloVe) are skipped."""
    first = stream.readline(MAX_LINE)
    header = _header(first)
    size = len(first.split()) - 1 if header is None else header[1]
    names = None if wanted is None else {word.encode("utf-8") for word in wanted}
    rows: dict[str, Row] = {}
    following = iter(lambda: stream.readline(MAX_LINE + 1), b"")
    lines = following if header else chain([first], following)
    number = 0
    for number, line in enumerate(islice(lines, header[0] if header and names is None else None), start=1):
        if limit is not None and number > limit:
            break
        if len(line) > MAX_LINE:
            raise ValueError(f"more than {MAX_LINE:,} bytes in the line of vector {number}")
        word, *cells = line.split(b" ", 1)
        if names is not None and word not in names:
            continue
        values = cells[0].split() if cells else []
        if len(values) == size:
            with np.errstate(over="ignore"):  # refused with all that is not finite
                rows.setdefault(word.decode("utf-8"), np.array(values, dtype=np.float32))
        elif names is None:
            raise ValueError(f"{len(values)} values in the line of vector {number}, expected {size}")
    if header and names is None and number < min(header[0], limit or header[0]):
        raise EOFError(f"{number:,} words, expected {header[0]:,} by its first line")
    return rows


def _binary_rows(stream: BinaryIO, wanted: set[str] | None, limit: int | None) -> dict[str, Row]:
    """The vectors of a binary file: a word, a space and its values, again and again."""
    count, size = _header(stream.readline(LINE)) or (0, 0)
    if not 0 < size <= MAX_SIZE:
        raise ValueError(f"{size:,} dimensions, expected 1 to {MAX_SIZE:,}")
    rows: dict[str, Row] = {}
    buffer, at = b"", 0
    for _ in range(count if limit is None else min(count, limit)):
        while (space := buffer.find(b" ", at)) < 0 or len(buffer) <= space + 4 * size:
            if space < 0 and len(buffer) - at > LINE:
                raise ValueError(f"a word of more than {LINE:,} bytes")
            if not (chunk := stream.read(_CHUNK)):
                raise EOFError("it ends within a vector, or before the number of words in its first line")
            buffer, at = buffer[at:] + chunk, 0
        word = buffer[at:space].lstrip(b"\n").decode("utf-8")
        if wanted is None or word in wanted:
            rows.setdefault(word, np.frombuffer(buffer, "<f4", size, space + 1).copy())
        at = space + 1 + 4 * size
    return rows


def _fasttext_rows(path: Path, limit: int | None) -> dict[str, Row]:
    """The vectors of fastText's own binary file, read by gensim; its sizes are checked against the file first."""
    with _open(path) as stream:
        numbers = _FASTTEXT_HEADER.unpack(stream.read(_FASTTEXT_HEADER.size).ljust(_FASTTEXT_HEADER.size, b"\0"))
    dimensions, bucket, shortest, longest, entries, words = (numbers[index] for index in (2, 10, 11, 12, 15, 16))
    ratio = MAX_RATIO if path.suffix == ".gz" else 1
    if not (0 < dimensions <= MAX_SIZE and bucket >= 0 and 0 < words <= entries and 0 <= shortest <= longest <= 100):
        raise ValueError("impossible sizes in its header")
    if 4 * dimensions * (words + bucket) > ratio * path.stat().st_size:
        raise ValueError(f"{words:,} words of {dimensions:,} dimensions by its header, but the file is too small")
    gensim = gensim_models("reading fastText's binary files")
    with warnings.catch_warnings(), np.errstate(all="ignore"):  # values that are not finite are refused later
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            keyed = gensim.fasttext.load_facebook_vectors(str(path))
        except (
            struct.error,
            NotImplementedError,
            AssertionError,
            TypeError,
            AttributeError,
            MemoryError,
            OverflowError,
        ) as error:
            reason = str(error) or type(error).__name__  # raised below: the error itself would keep the file open
        else:
            return {word: keyed.vectors[number] for number, word in enumerate(keyed.index_to_key[:limit])}
    raise ValueError(reason)


def gensim_models(purpose: str) -> Any:
    """gensim.models, imported on first use."""
    try:
        return import_module("gensim.models")
    except ImportError:
        raise DataError(f"{purpose} needs gensim, which is not installed: pip install 'unmask[vectors]'") from None


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _is_text(line: bytes, size: int | None) -> bool:
    """Whether the line is a word followed by numbers, `size` of them if given."""
    try:
        numbers = [float(part) for part in line.decode("utf-8").split()[1:]]
    except ValueError:  # neither text nor numbers
        return False
    return bool(numbers) and size in (None, len(numbers))
