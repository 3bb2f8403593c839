"""Train word vectors on a corpus, several times, with gensim's word2vec; trained ones are kept and used again.

files ──► words, a sentence per line (temporary file) ──► word2vec, one training per seed ──► vectors-SEED.bin

One thread and a recorded seed: the same text and settings give the same vectors with the same version of gensim.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import regex

from unmask.core.boundary import read_json
from unmask.core.errors import DataError, ResultError, UnmaskError
from unmask.core.files import partial_file, plain, write_json, writing
from unmask.core.options import TextLayout
from unmask.core.progress import Step
from unmask.core.seeds import generator
from unmask.corpus.spec import EmbeddingSettings
from unmask.data.documents import Document, Problems, read_documents
from unmask.data.language import WORD, split_sentences
from unmask.data.texts import file_facts
from unmask.vectors.static import WordVectors, gensim_models, read_vectors, write_vectors

RECORD = "trainings.json"  # in the result folder: what each file of vectors was trained on
LONGEST = 10_000  # words of a sentence: gensim reads no more at a time
_WORD = regex.compile(WORD)


@dataclass(frozen=True, slots=True)
class CorpusText:
    """The text that vectors are trained on."""

    paths: tuple[Path, ...]
    layout: TextLayout
    lower: bool
    limit: int | None  # documents
    problems: Problems

    def documents(self) -> Iterator[Document]:
        """The documents; problems are those of the latest reading."""
        self.problems.count, self.problems.first = 0, []
        return islice(read_documents(self.paths, self.layout, self.problems), self.limit)

    def words(self, sentence: str) -> list[str]:
        """The words of a sentence."""
        return list(_WORD.findall(sentence.lower() if self.lower else sentence))


@dataclass(frozen=True, slots=True)
class TrainedVectors:
    """Trained vectors, the seed, and how much text they were trained on."""

    seed: int
    vectors: WordVectors
    documents: int
    words: int


def vector_files(settings: EmbeddingSettings, seed: int) -> tuple[str, ...]:
    """The names of the files of vectors of all trainings, and of their record."""
    return (*(vectors_name(seed + number) for number in range(settings.seeds)), RECORD)


def vectors_name(seed: int) -> str:
    """The name of the file of the vectors of one training."""
    return f"vectors-{seed}.bin"


def train_all(
    text: CorpusText, settings: EmbeddingSettings, seed: int, folder: Path | None, step: Step
) -> list[TrainedVectors]:
    """Train once for every seed; vectors in `folder` that were trained alike are read instead."""
    gensim_models("training vectors")  # refuses at once if it is not installed
    facts = [file_facts(path) for path in text.paths] if folder is not None else []
    trainings = []
    with tempfile.TemporaryDirectory() as work:
        lines = Path(work) / "words.txt"
        sizes: tuple[int, int] | None = None
        for number in range(settings.seeds):
            request = _request(text, settings, facts, seed + number)
            training = None if folder is None else find_training(folder, request, seed + number)
            if training is None:
                if sizes is None or settings.bootstrap:
                    sizes = write_words(text, lines, seed + number if settings.bootstrap else None)
                vectors = train_vectors(lines, settings, seed + number)
                training = TrainedVectors(seed + number, vectors, *sizes)
                if folder is not None:
                    _keep(folder, request, training)
            trainings.append(training)
            step((number + 1) / settings.seeds)
    return trainings


def write_words(text: CorpusText, lines: Path, seed: int | None = None) -> tuple[int, int]:
    """Write the words of every sentence to a line; the numbers of documents and of words.

    With a seed every document is repeated as often as it is drawn: a Poisson number with mean 1, which is the
    bootstrap for many documents, and needs no second reading.
    """
    rng = None if seed is None else generator(seed, "bootstrap")
    documents = words = 0
    with writing(lines), lines.open("w", encoding="utf-8", newline="\n") as stream:
        for document in text.documents():
            times = 1 if rng is None else int(rng.poisson())
            documents += times > 0
            sentences = [text.words(sentence) for sentence in split_sentences(document.text)] if times else []
            for _ in range(times):
                for sentence in sentences:
                    words += len(sentence)
                    for begin in range(0, len(sentence), LONGEST):
                        stream.write(" ".join(sentence[begin : begin + LONGEST]) + "\n")
    if not words:
        raise DataError("no words in these files: do they contain text?")
    return documents, words


def train_vectors(lines: Path, settings: EmbeddingSettings, seed: int) -> WordVectors:
    """Word2vec on a file with the words of a sentence per line."""
    word2vec = gensim_models("training vectors").Word2Vec(
        vector_size=settings.size,
        window=settings.window,
        negative=settings.negative,
        min_count=settings.min_count,
        epochs=settings.epochs,
        sg=int(settings.algorithm == "skip-gram"),
        seed=seed,
        workers=1,
    )
    word2vec.build_vocab(corpus_file=str(lines))
    if not word2vec.wv.index_to_key:
        raise DataError(f"no word occurs at least {settings.min_count} times: give more text, or a lower --min-count")
    word2vec.train(
        corpus_file=str(lines),
        total_examples=word2vec.corpus_count,
        total_words=word2vec.corpus_total_words,
        epochs=settings.epochs,
    )
    matrix = np.asarray(word2vec.wv.vectors, dtype=np.float64)
    return WordVectors(tuple(word2vec.wv.index_to_key), matrix, f"seed {seed}")


def _request(text: CorpusText, settings: EmbeddingSettings, facts: Sequence[Any], seed: int) -> dict[str, Any]:
    """Everything that determines vectors."""
    options = {name: value for name, value in asdict(settings).items() if name != "seeds"}
    layout = {**asdict(text.layout), "lower": text.lower, "limit": text.limit}
    return dict(
        plain({"files": facts, "options": options, "layout": layout, "seed": seed, "gensim": version("gensim")})
    )


def find_training(folder: Path, request: dict[str, Any], seed: int) -> TrainedVectors | None:
    """The vectors of an equal training that are in the folder; None if there are none."""
    with suppress(UnmaskError):
        record = _records(folder).get(vectors_name(seed), {})
        if record.get("request") == request:
            vectors = read_vectors(folder / vectors_name(seed))
            return TrainedVectors(
                seed, WordVectors(vectors.words, vectors.matrix, f"seed {seed}"), *map(int, record["sizes"])
            )
    return None


def _keep(folder: Path, request: dict[str, Any], training: TrainedVectors) -> None:
    """Write the vectors, then the record of what they were trained on."""
    name = vectors_name(training.seed)
    with partial_file(folder / name) as partial:
        write_vectors(training.vectors, partial, "word2vec-binary")
    entry = {"request": request, "sizes": [training.documents, training.words]}
    write_json(folder / RECORD, {**_records(folder), name: entry})


def _records(folder: Path) -> dict[str, Any]:
    """What the files of vectors in a folder were trained on; nothing if that cannot be read."""
    with suppress(UnmaskError):
        content = read_json(folder / RECORD, ResultError)
        if isinstance(content, dict):
            return {name: entry for name, entry in content.items() if isinstance(entry, dict)}
    return {}
