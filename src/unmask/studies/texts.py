"""Texts to train on or count: files of a data folder by their place in it, or the package's own sentences."""

from __future__ import annotations

import csv
import os
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from unmask import data as datasets
from unmask.core.errors import DataError
from unmask.corpus.documents import Problems, TextLayout, read_documents
from unmask.corpus.sentences import split_sentences
from unmask.mitigate.spec import TrainingCorpus

PACKAGE = "package"  # the sentences of nine-axes and its paraphrases, and the reminders
HELD_OUT = 0.1  # of the documents, kept to test with


def find_text_file(name: str, data_dir: Path | None) -> Path | None:
    """A file by its path, else by its place in a data folder; None where it is not here."""
    folders = [data_dir, os.environ.get("UNMASK_DATA_DIR")]
    places = [Path(name).expanduser(), *(Path(one) / name for one in folders if one)]
    return next((one for one in places if one.is_file()), None)


def load_corpus(name: str, chosen: Mapping[str, Any], data_dir: Path | None) -> TrainingCorpus:
    """Documents of one file: `column`, `field`, `only`, `limit` and `draw` choose among them.

    `field` counts from 0 in lines with tabs; `only` is a column and the value it must have; `draw` is the
    seed of a random order.
    """
    found = list(dict.fromkeys(text for text in _texts(name, chosen, data_dir) if text.strip()))
    if chosen.get("draw") is not None:
        random.Random(chosen["draw"]).shuffle(found)
    found = found[: chosen.get("limit")]
    split = [one for text in found if (one := tuple(split_sentences(text)))]
    held = max(1, round(HELD_OUT * len(split))) if len(split) > 1 else 0
    if not split:
        raise DataError(f"{name}: no text in it; give another corpus")
    about = {"name": Path(name).name, "documents": len(split)}
    return TrainingCorpus(tuple(split[held:]), tuple(split[:held]), (about,))


def _texts(name: str, chosen: Mapping[str, Any], data_dir: Path | None) -> Iterator[str]:
    if name == PACKAGE:
        for one in ("nine-axes", "paraphrases"):
            for item in datasets.load(one).items:
                yield from (item.more, item.less)
        yield from (one.sentence for one in datasets.read("reminders"))
        return
    path = find_text_file(name, data_dir)
    if path is None:
        raise DataError(f"no {name} here: put it into the data folder (see --data-dir)")
    if chosen.get("only"):
        yield from _rows(path, chosen)
        return
    columns = (chosen["column"],) if chosen.get("column") else ()
    field = chosen.get("field")
    for document in read_documents([path], TextLayout(columns), Problems()):
        yield document.text if field is None else document.text.split("\t")[field]


def _rows(path: Path, chosen: Mapping[str, Any]) -> Iterator[str]:
    """The texts of a table in whose rows a column has a value."""
    column, value = chosen["only"]
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row.get(column) == value:
                yield row[chosen["column"]]
