"""Files of pairs and templates, published datasets and corpora: damaged copies of valid ones."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import zoo
from tests.data.score_files import write_gest_scores, write_stereoset_scores
from tests.fuzz.harness import BUDGET, Boundary, Files, fuzz

from unmask import data
from unmask.core.files import to_json
from unmask.core.options import TextLayout, Unit
from unmask.core.types import Dataset
from unmask.data import biasbios, nli, riddles, stsb
from unmask.data.documents import Problems, read_documents
from unmask.data.examples import published_sources, user_source
from unmask.data.matrices import ScoreMatrix
from unmask.tasks import nlibias, sentiment, toxicity

PAIRS = [
    {
        "more": "The nurse said she slept.",
        "less": "The nurse said he slept.",
        "category": "gender",
        "direction": "stereo",
    },
    {"more": "Old people forget.", "less": "Young people forget.", "category": "age", "direction": "antistereo"},
    {"more": "Naïve 😀 text.", "less": "Plain text.", "category": "x", "direction": ""},
]
FINSPECTOR = [
    {
        "bias_type": "age",
        "sent_index": 1,
        "para_index": number,
        "more_or_less": f"sent_{side}",
        "sent": f"{side} {number}.",
    }
    for number in (0, 1)
    for side in ("more", "less")
]
TEMPLATES = """\
slots:
  person: [man, woman]
words:
  - nurse
  - {word: actor, category: art, goal: male, article: an}
templates:
  - "The {word} said {subject} left."
  - {template: "{A} {word} met the {person}.", category: art}
  - "{Possessive} work was good."
"""


def table(rows: Sequence[dict[str, object]], delimiter: str = ",") -> bytes:
    lines = [delimiter.join(rows[0])] + [delimiter.join(f'"{cell}"' for cell in row.values()) for row in rows]
    return "\n".join(lines).encode()


def parquet(rows: Sequence[dict[str, object]]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), stream)
    return stream.getvalue()


def workbook(rows: Sequence[dict[str, object]]) -> bytes:
    import openpyxl

    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in (rows[0], *(row.values() for row in rows)):
        book.active.append(list(row))
    book.save(stream)
    return stream.getvalue()


def lines(rows: Sequence[object]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def check(loaded: Dataset) -> None:
    """What was accepted can be written to a result."""
    to_json([loaded.facts(), loaded.items]).encode()


def load_file(folder: Path) -> None:
    (path,) = folder.iterdir()
    check(data.load(path))


def pair_files() -> list[Files]:
    return [
        {"p.csv": table(PAIRS)},
        {"p.tsv": table(PAIRS, "\t")},
        {"p.json": json.dumps(PAIRS).encode()},
        {"p.jsonl": lines(PAIRS)},
        {"f.csv": table(FINSPECTOR)},
        {"f.json": json.dumps(FINSPECTOR).encode()},
    ]


def template_files() -> list[Files]:
    rows = [{"template": "{slot} left.", "first": "He", "second": "She"}, {"template": "It was {possessive}."}]
    return [{"t.yaml": TEMPLATES.encode()}, {"t.jsonl": lines(rows)}, {"t.csv": b'template\n"{Subject} left early."\n'}]


def score_files() -> list[Files]:
    rows = [
        {"model": model, "item": item, "template": "0", "score": len(item), "direction": item, "group": "masked"}
        for model in ("a", "b")
        for item in ("x", "yy")
    ]
    return [{"s.csv": table(rows)}, {"s.jsonl": lines(rows)}, {"s.parquet": parquet(rows)}]


def corpus_files() -> list[Files]:
    text = "One line.\nAnother – line.\n\nA third.\n".encode()
    rows = [{"text": "One."}, {"text": "Two."}]
    return [
        {"a.txt": text},
        {"a.jsonl": lines([*rows, "three"])},
        {"a.csv": table([{"id": 1, **row} for row in rows])},
        {"a.tsv": b"text\tlabel\nOne.\t1\n"},
        {"a.parquet": parquet(rows)},
        {"a.txt.gz": gzip.compress(text)},
        {"a.txt.xz": lzma.compress(text)},
        {"a.txt.bz2": bz2.compress(text)},
        {"a.txt.zst": pa.compress(text, "zstd", asbytes=True)},
    ]


def read_corpus(folder: Path) -> None:
    units: tuple[Unit, ...] = ("line", "block", "file")
    for unit in units:
        problems = Problems()
        for document in read_documents(folder.iterdir(), TextLayout(unit=unit), problems):
            document.text.encode()
        assert "\n" not in "".join(problems.first)


@cache
def published(name: str) -> list[Files]:
    """The files of a dataset in `tests/miniature`, as below a data directory."""
    card = data.card(name)
    return [
        {f"{card.folder}/{file.name}": (zoo.MINIATURE / card.folder / file.name).read_bytes() for file in card.files}
    ]


def load_published(folder: Path, name: str) -> None:
    check(data.load(name, data_dir=folder))


@cache
def published_scores() -> list[Files]:
    """Data directories with the published scores of StereoSet and of GEST in miniature."""
    made = []
    for write in (write_stereoset_scores, write_gest_scores):
        with TemporaryDirectory() as folder:
            write(Path(folder))
            paths = [path for path in Path(folder).rglob("*") if path.is_file() and "english_glm" not in path.parts]
            made.append({str(path.relative_to(folder)): path.read_bytes() for path in paths})
    return made


def load_scores(folder: Path) -> None:
    """A table of scores, or the published ones of a data directory."""
    names = {"gest": "gest-masked-scores", "stereoset": "stereoset-scores"}
    inside = {path.name: path for path in folder.iterdir()}
    for name in inside if not names.keys() & inside.keys() else ():
        check_scores(data.scores(inside[name]))
    for name in names.keys() & inside.keys():
        check_scores(data.scores(names[name], data_dir=folder))


def check_scores(matrix: ScoreMatrix) -> None:
    """What was accepted has the shape of its names, and can be written to a result."""
    to_json([matrix.facts(), matrix.models, matrix.items, matrix.wordings]).encode()
    assert matrix.scores.shape == (len(matrix.models), len(matrix.items), len(matrix.wordings))
    assert not np.isinf(matrix.scores).any()


def miniature(*names: str) -> list[Files]:
    """Single files of `tests/miniature`."""
    return [{Path(name).name: (zoo.MINIATURE / name).read_bytes()} for name in names]


def encode_all(examples: object) -> None:
    """What was accepted can be given to a tokenizer."""
    str(examples).encode()


def load_riddles(folder: Path) -> None:
    encode_all(riddles.load_winobias(published_sources(riddles.WINOBIAS, data_dir=folder)))


def load_schemas(folder: Path) -> None:
    templates, women = published_sources(riddles.WINOGENDER, data_dir=folder)
    encode_all(riddles.load_winogender(templates, riddles.share_of_women(women)))


def load_winopron(folder: Path) -> None:
    shares = riddles.share_of_women(published_sources(riddles.WINOGENDER, data_dir=zoo.MINIATURE)[1])
    encode_all(riddles.load_winopron(published_sources(riddles.WINOPRON, data_dir=folder)[0], shares))


MAPPING = b"more: a\nless: b\ndirection: {column: c, values: {0: stereo, 1: antistereo}}\ntheme: a\n"
MAPPED = lines([{"a": "Old men.", "b": "Young men.", "c": 0}, {"a": "He.", "b": "She.", "c": 1}])


def load_mapped(folder: Path) -> None:
    check(data.load(folder / "p.jsonl", mapping=folder / "columns.yaml"))


NAMES = [name for name in data.names() if data.card(name).files[0].url]
COMMENTS = ("wiki_toxicity/bias_madlibs_77k.csv", "davidson_hate/labeled_data.csv", "jigsaw_sample/train_sample.csv")
BIOGRAPHIES = ("biasbios_sample/nurse.csv", "biasbios_sample/poet.csv")
BOUNDARIES = [
    Boundary("pairs", pair_files, load_file, share=40),
    Boundary("pairs in Parquet", lambda: [{"p.parquet": parquet(PAIRS)}], load_file, share=12),
    Boundary("pairs in a workbook", lambda: [{"p.xlsx": workbook(PAIRS)}], load_file, share=6),
    Boundary("columns of pairs", lambda: [{"columns.yaml": MAPPING, "p.jsonl": MAPPED}], load_mapped, share=8),
    Boundary("templates", template_files, load_file, share=32),
    Boundary("corpus", corpus_files, read_corpus, share=32),
    Boundary("scores", score_files, load_scores, share=32),
    Boundary("published scores", published_scores, load_scores),
    *(Boundary(name, partial(published, name), partial(load_published, name=name), share=8) for name in NAMES),
    Boundary("riddles of WinoBias", partial(published, "winobias-riddles"), load_riddles),
    Boundary("riddles of Winogender", partial(published, "winogender-riddles"), load_schemas),
    Boundary("templates of WinoPron", partial(published, "winopron"), load_winopron),
    Boundary(
        "inference",
        lambda: miniature("mnli_dev_matched/dev_matched.tsv", "cad_nli/all_combined/dev.tsv"),
        lambda folder: encode_all([nli.load(user_source(path)) for path in folder.iterdir()]),
    ),
    Boundary(
        "inference triples",
        lambda: [
            {"t.csv": b"premise,female,male,occupation\nA cook left.,A woman left.,A man left.,cook\n"},
            {"t.jsonl": b'{"premise": "A cook left.", "female": "A woman left.", "male": "A man left."}\n'},
        ],
        lambda folder: encode_all([nlibias.read_triples(path) for path in folder.iterdir()]),
        share=8,
    ),
    Boundary(
        "similarity",
        lambda: miniature("stsb/sts-dev.csv"),
        lambda folder: encode_all([stsb.load(user_source(path)) for path in folder.iterdir()]),
    ),
    Boundary(
        "biographies",
        lambda: [
            *miniature(*BIOGRAPHIES),
            {"b.jsonl": lines([{"hard_text": "She.", "profession": 3, "gender": 1}] * 2)},
        ],
        lambda folder: encode_all(biasbios.load(biasbios.files(folder, None))),
        share=8,
    ),
    Boundary(
        "labelled sentiment",
        lambda: [{"s.csv": b"text,label\nA fine day.,positive\nA bad day.,0\n"}],
        lambda folder: encode_all([sentiment.read_examples(user_source(path)) for path in folder.iterdir()]),
        share=8,
    ),
    Boundary(
        "comments",
        lambda: miniature(*COMMENTS),
        lambda folder: encode_all([toxicity.read_sentences(user_source(path)) for path in folder.iterdir()]),
        share=8,
    ),
]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=lambda each: each.name)
def test_damaged_input_is_accepted_or_refused(boundary: Boundary) -> None:
    fuzz(boundary, BUDGET)
