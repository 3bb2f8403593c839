"""Files of word vectors and of questions."""

from __future__ import annotations

import gzip
import json
import struct
import tempfile
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from tests import zoo
from tests.fuzz.harness import BUDGET, Boundary, Files, fuzz

from unmask.corpus.embeddings import find_training
from unmask.vectors.questions import read_questions
from unmask.vectors.static import read_vectors

WORDS = ("nurse", "Engineer", "naïve", "don't", "3")
ROWS = np.random.default_rng(5).normal(size=(5, 7)).astype(np.float32)
GROUP = {"name": "flowers", "texts": ["rose", "tulip"], "words": ["rose", "tulip"]}
QUESTION = {"name": "q", **{key: {**GROUP, "name": key} for key in "xyab"}}


def vector_files() -> list[Files]:
    glove = "".join(
        f"{word} {' '.join(f'{x:.4f}' for x in row)}\n" for word, row in zip(WORDS, ROWS, strict=True)
    ).encode()
    binary = b"5 7\n" + b"".join(
        word.encode() + b" " + struct.pack("<7f", *row) + b"\n" for word, row in zip(WORDS, ROWS, strict=True)
    )
    return [{"g.txt": glove}, {"w.txt": b"5 7\n" + glove}, {"w.bin": binary}, {"g.txt.gz": gzip.compress(glove)}]


@cache
def fasttext_files() -> list[Files]:
    from gensim.models import fasttext

    model = fasttext.FastText(vector_size=4, min_count=1, bucket=20, epochs=1, workers=1, seed=1)
    model.build_vocab([["nurse", "cares"], ["engineer", "builds"]] * 3)
    with tempfile.TemporaryDirectory() as folder:
        fasttext.save_facebook_model(model, f"{folder}/cc.bin")
        return [{"cc.bin": Path(folder, "cc.bin").read_bytes()}]


def read_all(folder: Path) -> None:
    (path,) = folder.iterdir()
    read_vectors(path, ["nurse", "x"])
    read_vectors(path, limit=3)
    str(read_vectors(path).words).encode()


def question_files() -> list[Files]:
    rows = "".join(f"q,{key},{key},{text},\n" for key in "xyab" for text in ("rose", "tulip"))
    seat = (zoo.MINIATURE / "bias_bench" / "seat" / "weat6.jsonl").read_bytes()
    return [
        {"q.json": json.dumps([QUESTION]).encode()},
        {"q.csv": f"question,set,name,text,word\n{rows}".encode()},
        {"weat6.jsonl": seat},
    ]


def read_question_file(folder: Path) -> None:
    (path,) = folder.iterdir()
    for question in read_questions(path):
        str([question.texts(), question.units(), question.lower()]).encode()


REQUEST = {"seed": 0, "files": []}


def trained_files() -> list[Files]:
    record = {"vectors-0.bin": {"request": REQUEST, "sizes": [3, 40]}}
    return [{"trainings.json": json.dumps(record).encode(), "vectors-0.bin": vector_files()[2]["w.bin"]}]


BOUNDARIES = [
    Boundary("vectors", vector_files, read_all, share=32),
    Boundary("fastText vectors", partial(fasttext_files), read_all, share=4),
    Boundary("trained vectors", trained_files, lambda folder: find_training(folder, REQUEST, 0), share=16),
    Boundary("questions", question_files, read_question_file, share=32),
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
