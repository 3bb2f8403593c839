"""Vectors of a corpus would not be those of its text, or differ from run to run, if these failed."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unmask
from unmask.core.errors import DataError
from unmask.core.options import TextLayout
from unmask.corpus import embeddings
from unmask.corpus.embeddings import CorpusText, train_vectors, write_words
from unmask.corpus.spec import EmbeddingSettings
from unmask.data.documents import Problems
from unmask.vectors.static import read_vectors

JOBS = {"male": ("smith", "miner"), "female": ("nurse", "nanny")}
SMALL = {"size": 12, "epochs": 30, "min_count": 2, "window": 3}


def corpus_file(path: Path, sides: tuple[str, str] = ("he", "she"), documents: int = 600) -> Path:
    """Every document says a job of one gender, between words that say nothing: with `sides` exchanged, of the other."""
    rng, lines = np.random.default_rng(0), []
    for number in range(documents):
        side = number % 2
        job = JOBS["male" if side == 0 else "female"][int(rng.integers(2))]
        first, second = (" ".join(f"w{word}" for word in rng.integers(150, size=3)) for _ in range(2))
        lines.append(f"{first} {sides[side]} {job} {sides[side]} {job} {second}.")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def question(tmp_path: Path) -> Path:
    path = tmp_path / "q.json"
    words = {"x": JOBS["male"], "y": JOBS["female"], "a": ["he"], "b": ["she"]}
    sets = {key: {"name": key, "texts": list(texts)} for key, texts in words.items()}
    path.write_text(json.dumps({"name": "jobs", **sets}), encoding="utf-8")
    return path


def measure(path: Path, question: Path, out: Path | None = None, **options: Any) -> unmask.Result:
    return unmask.corpus.vectors(path, questions=str(question), out=out, **{**SMALL, "seeds": 2, **options})


def test_a_missing_gensim_is_named(tmp_path: Path, question: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the command would end as if unmask had a defect."""
    for name in [name for name in sys.modules if name.split(".")[0] == "gensim"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.delattr(embeddings, "version")
    with pytest.raises(DataError, match=r"training vectors needs gensim.*pip install 'unmask\[vectors\]'"):
        measure(corpus_file(tmp_path / "text.txt", documents=5), question, out=tmp_path / "run")


@pytest.mark.parametrize(("sides", "sign"), [(("he", "she"), 1), (("she", "he"), -1)])
def test_planted_association_is_found_in_both_directions(
    sides: tuple[str, str], sign: int, tmp_path: Path, question: Path
) -> None:
    result = measure(corpus_file(tmp_path / "text.txt", sides), question)
    mean, *each = result.estimates
    assert (mean.measure, mean.data, mean.statistic, mean.group) == ("weat", "jobs", "effect-size", "all")
    assert sign * mean.value > 1
    assert [(estimate.group, np.sign(estimate.value)) for estimate in each] == [("seed=0", sign), ("seed=1", sign)]
    assert mean.value == pytest.approx(np.mean([estimate.value for estimate in each]))
    assert result.meta["details"]["trainings"][1].items() >= {"seed": 1, "documents": 600}.items()


def test_the_same_text_and_seed_give_the_same_vectors_and_trained_ones_are_used_again(
    tmp_path: Path, question: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = corpus_file(tmp_path / "text.txt"), tmp_path / "out"
    first = measure(path, question, out)
    other = measure(path, question, tmp_path / "other", seeds=1)
    files = [(folder / "vectors-0.bin").read_bytes() for folder in (out, tmp_path / "other")]
    assert files[0] == files[1]
    assert read_vectors(out / "vectors-1.bin").matrix.shape[1] == 12
    assert (out / "vectors-1.bin").read_bytes() != files[0]
    trained: list[int] = []

    def count(lines: Path, settings: EmbeddingSettings, seed: int) -> Any:
        trained.append(seed)
        return train_vectors(lines, settings, seed)

    monkeypatch.setattr(embeddings, "train_vectors", count)
    assert measure(path, question, out).estimates == first.estimates
    assert trained == []
    measure(path, question, out, seeds=3)
    assert trained == [2]  # only the new one
    measure(path, question, out, epochs=3)
    assert trained == [2, 0, 1]  # other settings
    (out / "trainings.json").write_text("[1]", encoding="utf-8")
    measure(path, question, out, epochs=3, seeds=1)
    assert trained == [2, 0, 1, 0]  # a damaged record is not believed
    assert other.estimates[0].group == "all"
    assert len(other.estimates) == 1


def text_of(path: Path, *, lower: bool = False, limit: int | None = None) -> CorpusText:
    return CorpusText((path,), TextLayout(), lower, limit, Problems())


def test_words_are_runs_of_letters_and_digits_a_sentence_per_line(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("He's naïve; Dr. X_1 left. Then 3 came!\n\nOnly one\n", encoding="utf-8")
    sizes = write_words(text_of(tmp_path / "t.txt"), tmp_path / "w.txt")
    assert (tmp_path / "w.txt").read_text(encoding="utf-8") == "He s naïve Dr X 1 left\nThen 3 came\nOnly one\n"
    assert sizes == (2, 12)
    assert write_words(text_of(tmp_path / "t.txt", lower=True, limit=1), tmp_path / "w.txt") == (1, 10)
    assert (tmp_path / "w.txt").read_text(encoding="utf-8").startswith("he s naïve dr x 1 left\n")
    (tmp_path / "long.txt").write_text("a " * (embeddings.LONGEST + 5), encoding="utf-8")
    write_words(text_of(tmp_path / "long.txt"), tmp_path / "w.txt")
    assert [len(line.split()) for line in (tmp_path / "w.txt").read_text().splitlines()] == [embeddings.LONGEST, 5]


def test_the_bootstrap_draws_documents_with_replacement(tmp_path: Path) -> None:
    path = corpus_file(tmp_path / "text.txt", documents=400)
    lines = {}
    for seed in (0, 1):
        documents, words = write_words(text_of(path), tmp_path / "w.txt", seed)
        lines[seed] = (tmp_path / "w.txt").read_text().splitlines()
        assert documents == pytest.approx(400 * (1 - np.exp(-1)), abs=40)  # of a Poisson number, P(at least 1)
        assert len(lines[seed]) == pytest.approx(400, abs=60)
        assert words == sum(len(line.split()) for line in lines[seed])
    assert lines[0] != lines[1]


def test_what_cannot_be_trained_is_one_line(tmp_path: Path, question: Path) -> None:
    path = corpus_file(tmp_path / "text.txt", documents=4)
    with pytest.raises(DataError, match="no word occurs at least 500 times"):
        measure(path, question, min_count=500)
    with pytest.raises(DataError, match="seat needs a model"):
        measure(path, question, measures="seat")
    with pytest.raises(DataError, match="size is 1, expected at least 2"):
        EmbeddingSettings(size=1)
    (tmp_path / "empty.txt").write_text("...\n", encoding="utf-8")
    with pytest.raises(DataError, match="no words in these files"):
        measure(tmp_path / "empty.txt", question)
